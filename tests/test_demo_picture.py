"""What the picture of the demo shows, and what the demo tells of how far it has come."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from extremum.host.cli import commands, demo
from extremum.host.cli.demo import BRIGHT, DARK, WINDOW, ZOOM, Demo
from extremum.host.comparison import Check
from extremum.host.progress import Progress
from extremum.host.report import Report

ROWS, COLUMNS = ZOOM
REPORT = Report(1, 200, 20, 400, 400, 0)


@pytest.fixture(scope="module")
def shown():
    photograph = np.random.default_rng(5).permutation(512 * 512).reshape(512, 512)
    return Demo.run((photograph >> 10).astype(np.uint8), backend="model")


def points(collection: Any):
    """Return what a collection of points shows: x, y, and the colour of all."""
    return collection.get_offsets().tolist(), to_hex(collection.get_facecolors()[0])


def test_the_photograph_has_the_extremes_of_each_row_and_a_frame(shown):
    brightest, darkest = (shown.photograph.argmax(1), shown.photograph.argmin(1))
    axes: Any = Figure().subplots()
    shown._draw_photograph(axes, brightest, darkest)
    assert [points(each) for each in axes.collections] == [
        ([[x, y] for y, x in enumerate(brightest)], to_hex(BRIGHT)),
        ([[x, y] for y, x in enumerate(darkest)], to_hex(DARK)),
    ]
    (frame,) = (patch for patch in axes.patches if isinstance(patch, Rectangle))
    assert frame.get_xy() == (COLUMNS.start, ROWS.start)
    assert frame.get_width() == COLUMNS.stop - COLUMNS.start
    assert frame.get_height() == ROWS.stop - ROWS.start
    assert not frame.get_fill()
    assert np.array_equal(axes.images[0].get_array(), shown.photograph)
    assert (axes.images[0].norm.vmin, axes.images[0].norm.vmax) == (0, 255)


def test_the_framed_part_has_its_windows_and_the_pixels_selected(shown):
    axes: Any = Figure().subplots()
    indices = shown.steps[0].check.outputs["indices"].reshape(-1)
    shown._draw_zoom(axes, indices)
    (selected,) = axes.collections
    assert selected.get_offsets().tolist() == [[i % 512, i // 512] for i in indices.tolist()]
    # The edges of the pixels, as pixels are drawn around their positions.
    assert axes.get_xlim() == (COLUMNS.start - 0.5, COLUMNS.stop - 0.5)
    assert axes.get_ylim() == (ROWS.stop - 0.5, ROWS.start - 0.5)
    vertical, horizontal = [], []
    for line in axes.lines:
        (x, x_end), (y, y_end) = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        if x == x_end:
            vertical.append(x)
        else:
            assert y == y_end
            horizontal.append(y)
    for found, edges in ((vertical, COLUMNS), (horizontal, ROWS)):
        assert found[0] == edges.start - 0.5
        assert {after - before for before, after in pairwise(found)} == {WINDOW}
        assert found[-1] + WINDOW == edges.stop - 0.5


def test_stars_mark_the_extremes_of_all(shown, monkeypatch, tmp_path):
    made: list[Any] = []
    save = Figure.savefig

    def kept(self, *arguments, **others):
        made.append(self)
        return save(self, *arguments, **others)

    monkeypatch.setattr(Figure, "savefig", kept)
    shown.draw(str(tmp_path / "a.png"))
    left, middle, _ = made[0].axes
    stars = [
        (np.asarray(line.get_xdata())[0], np.asarray(line.get_ydata())[0], line.get_color())
        for line in left.lines
        if line.get_marker() == "*"
    ]
    (bright_y, bright_x), (dark_y, dark_x) = (
        divmod(int(best), 512) for best in (shown.photograph.argmax(), shown.photograph.argmin())
    )
    assert stars == [(bright_x, bright_y, BRIGHT), (dark_x, dark_y, DARK)]
    pooled = shown.steps[0].check.outputs["values"][0, 0]
    assert np.array_equal(middle.images[0].get_array(), pooled)
    assert f"{pooled.shape[1]} x {pooled.shape[0]} pixels" in middle.get_title()


def test_the_table_has_clocks_only_of_gateware(shown, capsys):
    shown.print_table()
    out = capsys.readouterr().out
    assert "lanes" not in out
    rows = [line.split() for line in out.splitlines() if "bit for bit" in line]
    assert [row[-5:-3] for row in rows] == [["-", "-"]] * 5
    clocked = tuple(
        replace(step, check=replace(step.check, report=replace(REPORT, beats_in=300)))
        for step in shown.steps
    )
    Demo(shown.photograph, "icarus", 4, clocked).print_table()
    out = capsys.readouterr().out
    assert "lanes: 4" in out
    rows = [line.split() for line in out.splitlines() if "bit for bit" in line]
    assert [row[-5:-3] for row in rows] == [["400", "75.0%"]] * 5


@pytest.mark.parametrize(
    ("line", "lanes"),
    [
        ("--backend model", 1),
        ("", 4),
        ("--backend icarus --lanes 2", 2),
        ("--backend verilator --lanes 3", 3),
    ],
)
def test_the_lanes_of_the_demo(shown, monkeypatch, tmp_path, line, lanes):
    given: dict[str, Any] = {}
    monkeypatch.setattr(Demo, "run", lambda **options: given.update(options) or shown)
    monkeypatch.setattr(commands, "require", lambda *_: None)
    assert commands.main(["demo", "--output", str(tmp_path / "a.png"), *line.split()]) == 0
    assert given["lanes"] == lanes


def test_progress_is_of_all_steps_together(monkeypatch):
    """Steps that have ended count as well, and the planning of each is not shown."""
    told: list[Progress] = []
    real = demo.Accelerator

    def accelerator(*types, progress, backend, **others):
        made = real(*types, backend="model", **others)
        monkeypatch.setattr(made, "tell", progress, raising=False)
        return made

    def compute(problem, x, device):
        device.tell(Progress("planning"))
        device.tell(Progress("simulating", clocks=7, predicted_clocks=70, beats=5))
        return Check({}, REPORT, compared=True)

    monkeypatch.setattr(demo, "Accelerator", accelerator)
    monkeypatch.setattr(demo, "compute", compute)
    photograph = np.zeros((24, 32), np.uint8)
    shown = Demo.run(photograph, backend="icarus", progress=told.append)
    assert (shown.lanes, len(shown.steps)) == (4, 5)
    assert [each.phase for each in told] == ["simulating"] * 5
    assert [each.clocks for each in told] == [7, 407, 807, 1207, 1607]
    assert [each.beats for each in told] == [5, 205, 405, 605, 805]
    assert len({each.predicted_clocks for each in told}) == 1
    # A single plane is pooled on one lane; the rows share all four.
    assert told[0].predicted_beats == photograph.size + 4 * photograph.size // 4
    untold = Demo.run(photograph, backend="icarus")
    assert (len(told), len(untold.steps)) == (5, 5)
