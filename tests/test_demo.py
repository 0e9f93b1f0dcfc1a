"""`extremum demo` on the golden model: the steps, the table, the picture, the exit statuses."""

import json
from dataclasses import replace

import numpy as np
import pytest
import skimage.data

from extremum import model
from extremum.host.accelerator import Accelerator
from extremum.host.cli import commands as cli
from extremum.host.cli.demo import WINDOW, Demo
from extremum.host.tools import TOOLS


@pytest.fixture(scope="module")
def photograph():
    return np.random.default_rng(3).integers(0, 9, (24, 32), np.uint8)


@pytest.fixture
def wrong(monkeypatch):
    """An accelerator whose argmin is wrong in its last element."""
    run = Accelerator.run

    def broken(self, problem, x):
        result = run(self, problem, x)
        if getattr(problem, "function", None) is model.ReduceFunction.ARGMIN:
            result[-1] ^= 1  # pyright: ignore[reportIndexIssue]
        return result

    monkeypatch.setattr(Accelerator, "run", broken)


def test_steps_are_what_they_say(photograph):
    demo = Demo.run(photograph, backend="model")
    assert demo.agreement
    pooling, *reductions = (step.check.outputs for step in demo.steps)
    tiles = photograph.reshape(24 // WINDOW, WINDOW, 32 // WINDOW, WINDOW)
    assert np.array_equal(pooling["values"][0, 0], tiles.max(axis=(1, 3)))
    assert np.array_equal(photograph.reshape(-1)[pooling["indices"]], pooling["values"])
    for found, (function, axis) in zip(
        reductions,
        ((np.argmax, 1), (np.argmin, 1), (np.argmax, None), (np.argmin, None)),
        strict=True,
    ):
        assert np.array_equal(
            found["positions"].reshape(-1), np.atleast_1d(function(photograph, axis))
        )


def test_picture_is_drawn(photograph, tmp_path):
    demo = Demo.run(photograph, backend="model")
    demo.draw(str(tmp_path / "demo.png"))
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_command_on_the_photograph(tmp_path, capsys):
    picture = tmp_path / "camera.png"
    assert cli.main(["demo", "--backend", "model", "--output", str(picture)]) == 0
    out, err = capsys.readouterr()
    assert not err
    assert picture.stat().st_size > 100_000
    assert out.count("bit for bit") == 5
    assert out.count(f"{skimage.data.camera().size}") == 5
    assert f"picture: {picture}" in out


def test_json(tmp_path, capsys):
    picture = str(tmp_path / "camera.svg")
    assert cli.main(["demo", "--backend", "model", "--output", picture, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["agreement"] is True
    assert told["picture"] == picture
    assert told["sizes"] == [512, 512]
    assert len(told["steps"]) == 5
    # What is predicted is of one lane, as the golden model has none.
    assert all(step["predicted_cycles"] >= step["elements"] for step in told["steps"])
    assert set(told["steps"][0]) == {
        "operator", "sizes", "elements", "cycles", "predicted_cycles", "utilization", "agreement",
        "mismatch",
    }  # fmt: skip


def test_mismatch_draws_nothing(tmp_path, capsys, wrong):
    picture = tmp_path / "camera.png"
    line = ["demo", "--backend", "model", "--output", str(picture)]
    assert cli.main(line) == 1
    out = capsys.readouterr().out
    assert out.count("MISMATCH") == 2
    assert "1 of 512 positions differ; first at (511, 0): expected " in out
    assert out.splitlines()[-1] == f"reproduce: extremum {' '.join(line)}"
    assert not picture.exists()
    assert cli.main([*line, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["agreement"], told["picture"]) == (False, None)
    assert [bool(step["mismatch"]) for step in told["steps"]] == [False, False, True, False, True]


@pytest.mark.parametrize(
    ("output", "message"),
    [("demo.gif", "must end in"), ("no/such/demo.png", "cannot be written"), (".", "cannot be")],
)
def test_bad_output_is_refused_first(monkeypatch, tmp_path, capsys, output, message):
    monkeypatch.setattr(Demo, "run", lambda **_: pytest.fail("the demo ran"))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["demo", "--output", output]) == 2
    assert message in capsys.readouterr().err


def test_missing_extra_is_named(monkeypatch, tmp_path, capsys):
    """The demo needs packages that no other command needs, in an extra of their own."""
    monkeypatch.chdir(tmp_path)
    absent = replace(TOOLS["scikit-image"], search=lambda: None)
    monkeypatch.setitem(TOOLS, "scikit-image", absent)
    assert cli.main(["demo", "--backend", "model"]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert "scikit-image is missing" in line
    assert "pip install '.[demo]' in a checkout of extremum" in line
