"""The page of ``extremum onnx --report``: whole, of itself alone, and fit for narrow windows."""

import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import onnx
import pytest
from command_line import GOLDEN, run, spoil
from onnx import helper
from onnx_models import model_of

from extremum.model import max_pooling
from extremum.onnx import load
from extremum.onnx.page import boxes, feature_map

X = np.random.default_rng(3).integers(0, 9, (1, 2, 6, 7)).astype(np.float32)
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
VOID = {"meta", "image", "line", "circle", "br", "link"}


class Reader(HTMLParser):
    """Checks that each element is closed, and keeps the text."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.addresses = [], "", []

    def handle_starttag(self, tag, attrs):
        self.addresses += [value for name, value in attrs if name in ("href", "src")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.addresses += [value for name, value in attrs if name in ("href", "src")]

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def model(tmp_path):
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("MaxPool", ["a"], ["b"], "<pool>", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("ArgMax", ["b"], ["c"], "best", axis=1),
        helper.make_node("ReduceMax", ["b"], ["d"], "wide"),
    ]
    path = tmp_path / "small.onnx"
    onnx.save(model_of(nodes, {"x": ("float32", X.shape)}, ["c", "d"]), path)
    np.save(tmp_path / "x.npy", X)
    return path


def page_of(model, *more):
    """Run the command; return its status and the page that it wrote."""
    page = model.parent / "page.html"
    line = ["onnx", str(model), "--report", str(page), f"--input={model.parent}/x.npy", *more]
    status, _, err = run("", *line, *([] if "--plan" in more else GOLDEN))
    assert not err
    return status, page


def read(page):
    reader = Reader()
    reader.feed(page.read_text())
    assert not reader.open
    reader.text = " ".join(reader.text.split())
    return reader


def test_the_page(model):
    status, page = page_of(model)
    reader = read(page)
    assert status == 0
    assert "3 of 4 nodes of the network run on a core of 4 lanes" in reader.text
    assert "Every bit of these layers" in reader.text
    assert "<pool>" in reader.text
    assert len(re.findall(r'<li class="ours">', page.read_text())) == 3
    # It loads nothing: the one address is that of the picture within it.
    assert len(reader.addresses) == 1
    assert reader.addresses[0].startswith("data:image/png;base64,")


def test_pages_of_a_plan_and_of_a_mismatch(model, monkeypatch):
    status, page = page_of(model, "--plan")
    assert (status, "Nothing was compared" in read(page).text) == (0, True)
    spoil(monkeypatch, lambda y: y + 1)
    status, page = page_of(model)
    assert (status, "Every bit" in read(page).text) == (1, False)
    assert "<pool>: 18 of 18 b differ; first at (0, 0, 0, 0): expected" in read(page).text


def test_the_map_shows_what_the_windows_select(model):
    (pool, best, _) = load(model).candidates
    assert pool.layer is not None
    assert best.layer is not None
    found = feature_map("pool", pool.layer, X)
    assert found is not None
    assert (found.width, found.height) == (7, 6)
    _, positions = max_pooling(X[:1, :1], 2, strides=2, return_indices=True)
    assert {y * 7 + x for x, y in found.chosen} == set(positions.reshape(-1).tolist())
    assert feature_map("best", best.layer, X) is None


def test_the_boxes_are_the_parts_in_their_order(model):
    assert [(box.title, box.is_ours) for box in boxes(load(model))] == [
        ("1 node", False), ("MaxPool", True), ("ArgMax", True), ("ReduceMax", True),
    ]  # fmt: skip


PROBE = """<iframe id="page" src="{page}" style="width:{width}px; height:900px"></iframe>
<script>
document.getElementById("page").onload = function () {{
  const root = this.contentDocument.documentElement;
  document.title = "overflow " + (root.scrollWidth - root.clientWidth);
}};
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_overflows_in_a_browser(model, tmp_path, width):
    _, page = page_of(model)
    probe = tmp_path / "probe.html"
    probe.write_text(PROBE.format(page=page.as_uri(), width=width))
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
        "--enable-logging=stderr", "--virtual-time-budget=5000", f"--user-data-dir={tmp_path}/user",
        "--dump-dom", probe.as_uri(),
    ]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "<title>overflow 0</title>" in ran.stdout
    assert "CONSOLE" not in ran.stderr
