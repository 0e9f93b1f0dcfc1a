"""Published networks with their poolings and argmax on the simulated core, in one table.

Usage: ``python examples/networks/run.py [--backend model] [--lanes 4]``. It needs the Python
packages of the extra `networks`.

Nine networks have the topologies of published ones, and weights that a few nodes make; they come
with the package `onnx`. Two are trained: one reads the text in a picture, as it is and quantised,
one tells the type of a file. For each the table says how many nodes the core takes, their clocks,
and how long ONNX Runtime takes for the whole network on one thread beside what the layers take on
the core at 100 MHz.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))

import trained

from extremum.host import Accelerator
from extremum.onnx import Outputs, core_for, load, run

TOPOLOGIES = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
MEGAHERTZ = 100
"""Clock of the core for the times in the table."""

TEXT = "extremum: argmax of 18710 scores"
"""What the recogniser has to read."""


CALIBRATION = "The quick brown fox, 0123456789"
"""From its picture the scales of the quantised recogniser are chosen."""


@dataclass(frozen=True)
class Example:
    """A network and its input."""

    name: str
    model: ModelProto | Path
    inputs: dict[str, np.ndarray]


def examples() -> list[Example]:
    """Return all networks; the inputs of the topologies are random."""
    found = []
    topologies = sorted(TOPOLOGIES.glob("light_*.onnx"))
    if not topologies:
        sys.exit(f"networks: the package onnx has no light_*.onnx in {TOPOLOGIES}")
    for path in topologies:
        network = load(path)
        generator = np.random.default_rng(1)
        inputs = {}
        for name in network.input_names:
            sizes, data_type = network.input_type(name)
            assert sizes is not None
            inputs[name] = generator.standard_normal(sizes).astype(data_type)
        found.append(Example(path.stem.removeprefix("light_"), path, inputs))
    reading, recogniser = trained.pixels(trained.picture(TEXT)), trained.recogniser()
    found.append(Example("text recogniser", recogniser, {"x": reading}))
    quantised = trained.quantised(recogniser, CALIBRATION)
    found.append(Example("the same, quantised", quantised, {"x": reading}))
    content = trained.ends_of(Path(__file__).read_bytes())
    found.append(Example("file classifier", trained.classifier(), {"bytes": content}))
    return found


def seconds_alone(example: Example) -> float:
    """Return how long ONNX Runtime takes for the whole network on one thread, at best of three."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    model = example.model
    source = model.SerializeToString() if isinstance(model, ModelProto) else str(model)
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    took = []
    for _ in range(3):
        started = time.perf_counter()
        session.run(None, example.inputs)
        took.append(time.perf_counter() - started)
    return min(took)


def row_of(example: Example, outputs: Outputs) -> tuple[list[str], bool]:
    """Return a row of the table, and whether all is as it should be.

    That is: the core takes a node at least, in as many clocks as were predicted where clocks are
    counted, and the outputs are those of ONNX Runtime.
    """
    reports = [node.report for node in outputs.nodes if node.report is not None]
    clocks = sum(r.cycles if r.cycles is not None else r.predicted_cycles for r in reports)
    is_counted = any(r.cycles is not None for r in reports)
    exact = all(r.cycles in (None, r.predicted_cycles) for r in reports)
    on_core = clocks / MEGAHERTZ / 1e6
    alone = seconds_alone(example)
    nodes = load(example.model).graph.node
    agrees = bool(outputs.agreement) and outputs.rounding is None
    row = [
        example.name,
        f"{len(reports)} of {len(nodes)}",
        str(clocks),
        ("yes" if exact else "NO") if is_counted else "-",
        f"{1e3 * on_core:.2f}",
        f"{1e3 * alone:.1f}",
        f"{on_core / (on_core + alone):.1%}",
        "yes" if agrees else "NO",
    ]
    return row, bool(reports) and exact and agrees


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all networks and print the table; return the exit status."""
    parser = argparse.ArgumentParser(description="Run published networks with the simulated core.")
    parser.add_argument("--backend", default="native", choices=("native", "model"))
    parser.add_argument("--lanes", type=int, default=16)
    chosen = parser.parse_args(arguments)
    if not 1 <= chosen.lanes <= 64:
        parser.error(f"--lanes: must be from 1 to 64, not {chosen.lanes}")
    table = Table(box=None, pad_edge=False)
    for column in ("network", "nodes taken"):
        table.add_column(column)
    for column in ("clocks", "as predicted", "core, ms", "ONNX Runtime, ms", "share", "same bits"):
        table.add_column(column, justify="right")
    every = examples()
    layers = [
        candidate
        for example in every
        for candidate in load(
            example.model, {n: x.shape for n, x in example.inputs.items()}
        ).candidates
    ]
    failed: set[str] = set()
    read = told = "not asked"
    with Accelerator(core_for(layers, lanes=chosen.lanes), backend=chosen.backend) as accelerator:
        for example in every:
            print(f"{example.name}: running", file=sys.stderr, flush=True)
            outputs = run(example.model, example.inputs, accelerator=accelerator)
            row, is_right = row_of(example, outputs)
            table.add_row(*row)
            if isinstance(example.model, ModelProto):  # a recogniser
                read = trained.text_of(example.model, outputs["classes"][0])
                is_right &= read == TEXT
            elif example.name == "file classifier":
                told = trained.type_of(outputs[0])
                is_right &= told == "python"
            if not is_right:
                failed.add(example.name)
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    print(f"share: of a network's time, if the core did its layers at {MEGAHERTZ} MHz")
    print(f"text in the picture: {read}")
    print(f"type of this program: {told}")
    print(f"{len(every) - len(failed)} passed, {len(failed)} failed")
    if failed:
        print(f"not as it should be: {', '.join(sorted(failed))}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
