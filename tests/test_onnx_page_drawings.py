"""The pictures of the page: the graph of a network, and the plot of beats per clock."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_models import model_of

from extremum.host.cli.onnx_printing import Row
from extremum.onnx import Network, load
from extremum.onnx.page.graph import picture_of
from extremum.onnx.page.grouping import FEW
from extremum.onnx.page.layout import draw
from extremum.onnx.page.plot import CHARACTER, HEIGHT, LINE, NARROWEST, PlottedLayer, plot_of

TOPOLOGIES = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def rows_of(network):
    """Return rows for a network all of whose candidates are taken."""
    return [
        Row(c.name, c.node.op_type, c.sizes, c.data_type, "core", jobs=1)
        for c in network.candidates
    ]


def picture(network):
    return picture_of(network, rows_of(network))


def names_after(found, at):
    """Return titles and first lines of the boxes that a box leads to."""
    boxes = [found.boxes[edge.target] for edge in found.edges if edge.source == at]
    return [" ".join([box.title, *box.lines[:1]]) for box in boxes]


def test_a_small_network_has_a_box_for_each_node():
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("MaxPool", ["a"], ["b", "i"], "pool", kernel_shape=[2, 2]),
        helper.make_node("Constant", [], ["axes"], value_ints=[1]),
        helper.make_node("ReduceMax", ["b", "axes"], ["c"], "top"),
        helper.make_node("Neg", ["b"], ["d"]),
    ]
    found = picture(Network(model_of(nodes, {"x": ("float32", (1, 2, 8, 8))}, ["c", "d", "i"])))
    assert found.is_whole
    assert [box.title for box in found.boxes] == [
        "Relu", "MaxPool", "Constant", "ReduceMax", "Neg", "x", "c", "d", "i",
    ]  # fmt: skip
    assert [box.number for box in found.boxes] == [None, 1, None, 2, *[None] * 5]
    assert sorted(names_after(found, 1)) == ["Neg", "ReduceMax top", "i"]
    assert found.boxes[1].tensors == ("1x2x7x7", "1x2x7x7")
    assert names_after(found, 2) == ["ReduceMax top"]
    assert names_after(found, 5) == ["Relu"]


def test_the_branches_of_inception_stand_side_by_side():
    network = load(TOPOLOGIES / "light_inception_v1.onnx")
    found = picture(network)
    drawing = draw(found)
    (second,) = (at for at, box in enumerate(found.boxes) if box.number == 2)
    branches = [edge.target for edge in found.edges if edge.source == second]
    titles = [found.boxes[at].title for at in branches]
    assert sorted(titles) == ["3 nodes", "6 nodes", "8 nodes", "MaxPool"]
    assert len({drawing.boxes[at].top for at in branches}) == 1
    # They meet in one box, and every node of the network is in some box.
    meet = {edge.target for edge in found.edges if edge.source in branches}
    assert len(meet) == 1
    assert count_of(found) == len(network.graph.node)


def count_of(found):
    """Return how many nodes the boxes stand for."""
    inner = [box for box in found.boxes if box.kind not in ("input", "output")]
    named = [box.title.removesuffix(" nodes") for box in inner]
    return sum(int(name) if name.isdigit() else 1 for name in named)


def random_network(seed, count):
    """Return a network of nodes that read any tensors before them, some of them constants."""
    generator = np.random.default_rng(seed)
    names, nodes = ["x", "z"], []
    for at in range(count):
        first, second = generator.choice(names[-8:], 2)
        kind = generator.integers(8)
        if kind == 0:
            node = helper.make_node("ReduceMax", [first], [f"t{at}"], f"n{at}", keepdims=1)
        elif kind == 1:
            node = helper.make_node("Constant", [], [f"t{at}"], f"n{at}", value_float=1.0)
        else:
            node = helper.make_node("Add", [first, second], [f"t{at}"], f"n{at}")
        nodes.append(node)
        names.append(node.output[0])
    read = {name for node in nodes for name in node.input}
    outputs = [name for name in names[2:] if name not in read]
    pair = ("float32", (2, 3))
    return Network(model_of(nodes, {"x": pair, "z": pair}, outputs))


@pytest.mark.parametrize("count", [1, 12, FEW, FEW + 1, 150, 400])
@pytest.mark.parametrize("seed", range(4))
def test_any_network_is_drawn_from_above_without_overlap(seed, count):
    network = random_network(seed, count)
    found = picture(network)
    assert found.is_whole or count > FEW
    assert count_of(found) == count
    assert len([box for box in found.boxes if box.kind == "core"]) == len(network.candidates)
    drawing = draw(found)
    for edge in found.edges:
        source, target = drawing.boxes[edge.source], drawing.boxes[edge.target]
        assert source.top + source.height < target.top
    for at, box in enumerate(drawing.boxes):
        assert 0 <= box.left < box.left + box.width <= drawing.width
        assert 0 <= box.top < box.top + box.height <= drawing.height
        for other in drawing.boxes[at + 1 :]:
            apart = abs(box.x - other.x) >= (box.width + other.width) / 2
            above = box.top + box.height <= other.top or other.top + other.height <= box.top
            assert apart or above


def test_tensors_without_sizes_and_long_names_are_drawn():
    value = onnx.ValueInfoProto(name="y")
    nodes = [helper.make_node("ArgMax", ["x"], ["y"], "long/" * 20, axis=0)]
    found = picture(Network(model_of(nodes, {"x": ("float32", ("batch", None))}, [value])))
    (node, end, _) = found.boxes
    assert end.tensors == ("batchx?",)
    assert len(node.lines[0]) < 30
    assert "long/" * 20 in node.told


LAYERS = [
    [PlottedLayer(1, "only", 1000, 1041)],
    [PlottedLayer(1, "one beat", 1, 1), PlottedLayer(2, "two", 1, 43)],
    [PlottedLayer(n, f"layer {n}", 21632 + n // 4, 21689 + n // 3) for n in range(1, 30)],
    [PlottedLayer(n, f"layer {n}", 10 ** (n % 7), 10 ** (n % 7) + n * n) for n in range(1, 25)],
    [PlottedLayer(n, "pool", 10**9 + n, 10**9 + n) for n in range(1, 4)],
    [PlottedLayer(1, "least", 1, 1), PlottedLayer(2, "most", 10**10, 10**10 + 7)],
]


@pytest.mark.parametrize("layers", LAYERS)
def test_the_labels_of_the_plot_keep_apart_at_every_width(layers):
    plot = plot_of(layers)
    for width in (NARROWEST, 400, 1000):
        boxes = []
        for point in plot.points:
            assert 0 <= point.x <= 100
            assert 0 <= point.y <= HEIGHT
            x, y = point.x * width / 100 + point.dx, point.y + point.dy
            long = CHARACTER * len(point.label)
            left = x if point.anchor == "start" else x - long
            boxes.append((left, left + long, y - LINE / 2, y + LINE / 2))
        for at, (left, right, top, bottom) in enumerate(boxes):
            for a, b, c, d in boxes[at + 1 :]:
                apart = right <= a + 0.1 or b <= left + 0.1
                assert apart or bottom <= c + 0.1 or d <= top + 0.1


def test_the_plot_tells_the_share_of_the_clocks():
    plot = plot_of([PlottedLayer(1, "small", 2, 43), PlottedLayer(2, "large", 197136, 197177)])
    assert [tick.label for tick in plot.columns] == ["1", "10", "100", "1k", "10k", "100k", "1M"]
    shares = {tick.label: tick.at for tick in plot.rows}
    assert list(shares) == ["99.99 %", "99.9 %", "99 %", "90 %", "0 %"]
    small, large = plot.points
    assert shares["90 %"] < small.y < shares["0 %"]
    assert shares["99.99 %"] < large.y < shares["99.9 %"]
    assert (small.label, large.label) == ("1 small", "2 large")
    assert [guide.label for guide in plot.guides] == ["+10", "+100"]
