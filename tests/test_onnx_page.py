"""The page of ``extremum onnx --report``: true to the run, whole, and fit for narrow windows."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import onnx
import pytest
from command_line import GOLDEN, run, spoil
from onnx import helper
from onnx_models import model_of

from extremum.model import max_pooling
from extremum.onnx import load
from extremum.onnx.page import feature_map

X = np.random.default_rng(3).integers(0, 9, (1, 2, 6, 7)).astype(np.float32)
TOPOLOGIES = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
VOID = {"meta", "br", "link"}


class Reader(HTMLParser):
    """Checks that each element is closed; keeps the text, and that of each class."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.addresses = [], "", []
        self.by_class, self.kinds = {}, Counter()

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.addresses += [found[name] for name in ("href", "src") if name in found]
        classes = (found.get("class") or "").split()
        if classes[:1] == ["box"]:
            self.kinds[classes[1]] += 1
        for name in classes:
            self.by_class.setdefault(name, []).append("")
        if tag not in VOID:
            self.open.append((tag, classes))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop()[0] == tag

    def handle_data(self, data):
        self.text += data
        for _, classes in self.open:
            for name in classes:
                self.by_class[name][-1] += data


@pytest.fixture
def model(tmp_path):
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("MaxPool", ["a"], ["b"], "<pool>", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("ArgMax", ["b"], ["c"], "best", axis=1),
        helper.make_node("ReduceMax", ["b"], ["d"], "größte"),
    ]
    path = tmp_path / "small.onnx"
    onnx.save(model_of(nodes, {"x": ("float32", X.shape)}, ["c", "d"]), path)
    np.save(tmp_path / "x.npy", X)
    return path


def page_of(model, *more):
    """Run the command; return its status and the page that it wrote."""
    page = model.parent / "page.html"
    line = ["onnx", str(model), "--report", str(page), *more]
    if "--plan" not in more:
        line += [*GOLDEN, f"--input={model.parent}/x.npy"]
    status, _, err = run("", *line)
    assert not err
    return status, page


def read(page):
    reader = Reader()
    reader.feed(page.read_text(encoding="utf-8"))
    assert not reader.open
    reader.text = " ".join(reader.text.split())
    return reader


def numbers(text):
    """Return the numbers of a label: 1, 3-5 are four."""
    listed = re.findall(r"(\d+)(?:-(\d+))?", text)
    return [n for first, last in listed for n in range(int(first), int(last or first) + 1)]


def test_the_page(model):
    status, page = page_of(model)
    reader = read(page)
    assert status == 0
    assert (
        "golden model computed 3 of the 4 nodes of the network, in place of a core" in reader.text
    )
    assert "Every bit of these layers" in reader.text
    assert "<pool>" in reader.text
    assert "golden model" in reader.text
    assert "Clocks are predicted; times are at 100 MHz." in reader.text
    # It loads nothing: the one address is that of the picture within it.
    assert len(reader.addresses) == 1
    assert reader.addresses[0].startswith("data:image/png;base64,")


@pytest.mark.parametrize("topology", [None, "light_inception_v1", "light_densenet121"])
def test_every_layer_is_in_the_graph_the_table_the_bars_and_the_plot(model, topology, tmp_path):
    if topology is not None:
        shutil.copy(TOPOLOGIES / f"{topology}.onnx", tmp_path / "topology.onnx")
        model = tmp_path / "topology.onnx"
    _, page = page_of(model, "--plan")
    assert page.stat().st_size < 300_000
    reader = read(page)
    names = [c.name for c in load(model).candidates]
    count = len(names)
    every = list(range(1, count + 1))
    assert [int(text) for text in sorted(reader.by_class["mark-text"], key=int)] == every
    # The badges are those of the table, and behind them those of the bars.
    assert [int(text) for text in reader.by_class["badge"]] == every * 2
    assert len(reader.by_class["bar"]) == count
    assert len(reader.by_class["measure"]) == count
    labels = re.findall(r'<text class="halo"[^>]*>([^<]*)</text>', page.read_text("utf-8"))
    # A label is a number and a name, or else several numbers.
    listed = [re.sub(r"^(\d+) .*", r"\1", label) for label in labels]
    assert sorted(number for label in listed for number in numbers(label)) == every
    assert all(name in reader.text for name in names)


def test_what_the_page_says_of_a_plan_a_run_and_a_comparison(model, monkeypatch):
    status, page = page_of(model, "--plan")
    assert status == 0
    assert "This is a plan: the network was not run. 3 of its 4 nodes would run" in read(page).text
    status, page = page_of(model, "--no-compare")
    text = read(page).text
    assert (status, "This is a plan" in text) == (0, False)
    assert "Not all of their results" in text
    spoil(monkeypatch, lambda y: y + 1)
    status, page = page_of(model)
    reader = read(page)
    assert (status, "Every bit" in reader.text) == (1, False)
    assert "<pool>: 18 of 18 b differ; first at (0, 0, 0, 0): expected" in reader.text
    assert len(reader.by_class["differs"]) == 3


def test_the_colours_of_the_boxes_follow_the_run(model):
    reader = read(page_of(model, "--plan")[1])
    assert reader.kinds == {"core": 3, "rest": 1, "input": 1, "output": 2}
    x = X.copy()
    x[0, 0, 0, 0] = np.nan
    np.save(model.parent / "x.npy", x)
    reader = read(page_of(model)[1])
    # The pooling is left to ONNX Runtime, which loses the NaN: the others are taken.
    assert "computed 2 of the 4 nodes" in reader.text
    assert reader.kinds == {"core": 2, "left": 1, "rest": 1, "input": 1, "output": 2}
    assert "1 MaxPool <pool> in ONNX Runtime" in " ".join(reader.by_class["left"][1].split())
    assert "ONNX Runtime: the input has NaN" in reader.text


def test_the_table_has_times_totals_and_notes(model):
    reader = read(page_of(model, "--max-window", "1,1,1", "--clock", "1", "--plan")[1])
    cells = ["".join(text.split()) for text in reader.by_class["total"]]
    planned = run("", "onnx", str(model), "--max-window", "1,1,1", "--clock", "1", "--plan")[1]
    assert cells == ["".join(line.split()) for line in planned if line.startswith("all")]
    (note,) = (line for line in planned if line.startswith("note: "))
    assert f"1 {note.removeprefix('note: ')}." in reader.text
    assert "times are at 1 MHz" in reader.text


def test_a_run_in_which_onnx_runtime_does_all(tmp_path):
    node = helper.make_node("ArgMax", ["x"], ["y"], "best", axis=1)
    onnx.save(model_of([node], {"x": ("float64", (2, 3))}, ["y"]), tmp_path / "double.onnx")
    np.save(tmp_path / "x.npy", np.ones((2, 3)))
    reader = read(page_of(tmp_path / "double.onnx")[1])
    assert "ONNX Runtime ran the whole network: no node of it was taken" in reader.text
    assert reader.kinds == {"left": 1, "input": 1, "output": 1}
    assert not {"bar", "plot", "map"} & set(reader.by_class)


def test_a_node_of_unknown_sizes_is_not_decided_in_a_plan(tmp_path):
    node = helper.make_node("ArgMax", ["x"], ["y"], "best", axis=1)
    onnx.save(model_of([node], {"x": ("float32", ("n", 3))}, ["y"]), tmp_path / "open.onnx")
    reader = read(page_of(tmp_path / "open.onnx", "--plan")[1])
    assert reader.kinds == {"open": 1, "input": 1, "output": 1}
    assert "For 1 node it is not decided before a run." in reader.text


def test_the_page_is_utf8_in_every_locale(model):
    page = model.parent / "page.html"
    line = "import sys; from extremum.host.cli.main import main; sys.exit(main())"
    subprocess.run(
        [sys.executable, "-c", line, "onnx", str(model), "--plan", "--report", str(page)],
        env=os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        | {"PYTHONIOENCODING": "utf-8"},
        capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    assert "größte" in read(page).text


def test_the_map_shows_what_the_windows_select(model):
    (pool, best, _) = load(model).candidates
    assert pool.layer is not None
    assert best.layer is not None
    found = feature_map("pool", pool.layer, X)
    assert found is not None
    assert (found.width, found.height, found.sizes) == (7, 6, (6, 7))
    assert (found.batch, found.channel, found.low, found.high) == (0, 0, 0, 8)
    _, positions = max_pooling(X[:1, :1], 2, strides=2, return_indices=True)
    assert {y * 7 + x for x, y in found.chosen} == set(positions.reshape(-1).tolist())
    assert feature_map("best", best.layer, X) is None
    assert feature_map("pool", pool.layer, np.zeros_like(X)) is None


def test_the_map_of_a_large_plane_is_a_cut_around_its_maximum(tmp_path):
    node = helper.make_node("MaxPool", ["x"], ["y"], "pool", kernel_shape=[3, 3], strides=[2, 2])
    x = np.zeros((2, 2, 90, 70), np.float32)
    x[0, 0] = -np.inf
    x[1, 0] = np.random.default_rng(1).random((90, 70))
    x[1, 0, 80, 5], x[1, 0, 79, 4] = 2, -np.inf
    onnx.save(model_of([node], {"x": ("float32", x.shape)}, ["y"]), tmp_path / "large.onnx")
    (pool,) = load(tmp_path / "large.onnx").candidates
    assert pool.layer is not None
    found = feature_map("pool", pool.layer, x)
    assert found is not None
    assert (found.batch, found.channel, found.sizes) == (1, 0, (90, 70))
    assert (found.top, found.left, found.height, found.width) == (58, 0, 32, 32)
    assert (5, 80 - 58) in found.chosen
    assert (found.low > 0, found.high) == (True, 2)
    _, positions = max_pooling(x[1:, :1], 3, strides=2, return_indices=True)
    selected = {(int(p) % 70, int(p) // 70 - 58) for p in positions.reshape(-1)}
    inside = {(x, y) for x, y in selected if x < 32 and 0 <= y < 32}
    assert set(found.chosen) == inside
    assert found.cell * 32 == 320


PROBE = """<iframe id="page" src="{page}" style="width:{width}px; height:900px"></iframe>
<script>
document.getElementById("page").onload = function () {{
  const shown = this.contentDocument, root = shown.documentElement;
  const found = selector => [...shown.querySelectorAll(selector)];
  const place = element => element.getBoundingClientRect();
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - 2 && b.top < a.bottom - 2;
  const wrong = [];
  if (root.scrollWidth > root.clientWidth) wrong.push("overflow");
  for (const text of found("body *")) {{
    if (parseFloat(getComputedStyle(text).fontSize) < 11) wrong.push("small " + text.textContent);
  }}
  for (const box of found(".box")) {{
    const edge = place(box.querySelector("rect"));
    for (const text of box.querySelectorAll("text")) {{
      const inner = place(text);
      if (inner.left < edge.left || edge.right < inner.right) wrong.push("out " + text.textContent);
    }}
  }}
  const boxes = found(".box > rect:first-of-type").map(place);
  const labels = found(".plot text").map(place);
  for (const group of [boxes, labels]) {{
    group.forEach((a, i) => group.slice(i + 1).forEach(b => meet(a, b) && wrong.push("overlap")));
  }}
  document.title = "seen " + boxes.length + " " + labels.length + " wrong: " + wrong.join("; ");
}};
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize(("width", "scheme"), [(360, 0), (1200, 1)])
@pytest.mark.parametrize("topology", [None, "light_inception_v1"])
def test_the_page_in_a_browser(model, tmp_path, width, scheme, topology):
    """Nothing overflows or overlaps, no text is small or leaves its box, the console is empty."""
    if topology is not None:
        shutil.copy(TOPOLOGIES / f"{topology}.onnx", tmp_path / "topology.onnx")
        model = tmp_path / "topology.onnx"
    _, page = page_of(model, *(["--plan"] if topology else []))
    probe = tmp_path / "probe.html"
    probe.write_text(PROBE.format(page=page.as_uri(), width=width))
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
        f"--blink-settings=preferredColorScheme={scheme}",
        "--enable-logging=stderr", "--virtual-time-budget=5000", f"--user-data-dir={tmp_path}/user",
        "--dump-dom", probe.as_uri(),
    ]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert re.search(r"<title>seen [1-9]\d* [1-9]\d* wrong: </title>", ran.stdout), ran.stdout[
        -3000:
    ]
    assert "CONSOLE" not in ran.stderr
