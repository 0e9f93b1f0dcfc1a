"""Times the golden model beside NumPy, ONNX Runtime, PyTorch and onnx.reference.

Where a figure is a ratio of two times, the golden model is faster below 1. The times are the best
of many that were taken alternately in one run, each behind an untimed call of the same, so that all
find the caches as they left them themselves. Libraries that are not installed have an empty column.
Usage: ``python bench/model.py``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import resource
import subprocess
import sys
import time
import tomllib
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from model_cases import LARGE, SMALL_CALLS, SMALL_POOLINGS, SOURCES
from model_sections import model_section
from results_files import write_results

import extremum.model
from extremum.tb.command import end, refuse_unwritable
from extremum.tb.source_digest import digests_of

WORKLOADS = Path(__file__).with_name("workloads.toml")
RESULTS = Path(__file__).with_name("results") / "model.json"
GEOMETRY = ("window", "strides", "start_padding", "end_padding", "dilations")
REFERENCE_ELEMENTS = 1 << 16
CACHE_LINE = 64
"""Bytes of a line of the cache.

Tensors begin where one does, as those of PyTorch and ONNX Runtime do. From an odd place on, a call
takes up to a tenth longer, so the ratios would depend on where memory was free.
"""


def optional(name: str) -> Any:
    """Import a module, or return None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def times(calls: dict[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """Return the best time of each call, in milliseconds; the calls take turns."""
    best = dict.fromkeys(calls, float("inf"))
    fastest = float("inf")
    for call in calls.values():
        call()
        start = time.perf_counter()
        call()
        fastest = min(fastest, time.perf_counter() - start)
    # A sample is long enough for the resolution of the clock, and so short that most samples are
    # not interrupted.
    repeats = max(1, int(3e-4 / fastest))
    end, rounds, order = time.perf_counter() + seconds, 0, list(calls.items())
    while rounds < 5 or time.perf_counter() < end:
        rounds += 1
        order.append(order.pop(0))
        for name, call in order:
            call()  # Else it would find in the cache what the call before has left there.
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            best[name] = min(best[name], (time.perf_counter() - start) / repeats)
    return {name: 1000 * value for name, value in best.items()}


def tensor(name: str, sizes: list[int], seed: int) -> np.ndarray:
    """Return seeded random values with many ties, half of them negative where there is a sign.

    They begin where a line of the cache does.
    """
    low = 0 if name.startswith("u") else -50
    values = np.random.default_rng(seed).integers(low, low + 100, sizes).astype(name)
    memory = np.empty(values.nbytes + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    found = memory[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    found[...] = values
    return found


def onnx_model(op: str, x: np.ndarray, outputs: list[type], **attributes: Any) -> Any:
    """Return a model of one node."""
    onnx = importlib.import_module("onnx")
    kind = onnx.helper.np_dtype_to_tensor_dtype
    results = [
        onnx.helper.make_tensor_value_info(f"y{i}", kind(np.dtype(t)), None)
        for i, t in enumerate(outputs)
    ]
    node = onnx.helper.make_node(op, ["x"], [r.name for r in results], **attributes)
    source = onnx.helper.make_tensor_value_info("x", kind(x.dtype), x.shape)
    graph = onnx.helper.make_graph([node], "bench", [source], results)
    opset = [onnx.helper.make_opsetid("", 22)]
    return onnx.helper.make_model(graph, opset_imports=opset, ir_version=10)


def runtime(model: Any, x: np.ndarray) -> Callable[[], Any] | None:
    """Return ONNX Runtime's run of a model on one thread, None if it lacks the type."""
    ort = optional("onnxruntime")
    if ort is None:
        return None
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        if "NOT_IMPLEMENTED" not in str(error) and "INVALID_GRAPH" not in str(error):
            raise
        return None
    return lambda: session.run(None, {"x": x})


def reference(model: Any, x: np.ndarray) -> Callable[[], Any]:
    """Return the run of a model in onnx.reference, which is plain Python."""
    evaluator = importlib.import_module("onnx.reference").ReferenceEvaluator(model)
    return lambda: evaluator.run(None, {"x": x})


def reductions(workloads: list[dict[str, Any]], seconds: float) -> list[dict[str, Any]]:
    """Time argmin and argmax in both directions beside NumPy, ONNX Runtime and PyTorch."""
    rows = []
    onnx, torch = optional("onnx"), optional("torch")
    for seed, workload in enumerate(workloads):
        function, axes = workload["function"], workload["axes"]
        x = tensor(workload["type"], workload["sizes"], seed)
        axis = axes[0] if len(axes) == 1 else None
        plain = len(axes) in (1, x.ndim)

        ours = partial(getattr(extremum.model, function), x, axes, index_type="int64")
        calls: dict[str, Callable[[], Any]] = {
            "increasing": ours,
            "decreasing": partial(ours, axis_direction="decreasing"),
        }
        if plain:
            find = getattr(np, function)
            calls["numpy"] = lambda find=find, x=x, axis=axis: find(x, axis=axis)
        if onnx and axis is not None:
            name = {"argmax": "ArgMax", "argmin": "ArgMin"}[function]
            for column, last in (("runtime", 0), ("runtime_last", 1)):
                model = onnx_model(name, x, [np.int64], axis=axis, select_last_index=last)
                if run := runtime(model, x):
                    calls[column] = run
        if torch and plain:
            y, find = torch.from_numpy(x), getattr(torch, function)
            calls["torch"] = lambda find=find, y=y, axis=axis: find(y, dim=axis)
        taken = times(calls, seconds)
        for theirs, golden in (("runtime", "increasing"), ("runtime_last", "decreasing")):
            if theirs in calls and not np.array_equal(calls[theirs]()[0], calls[golden]()):
                raise AssertionError(f"{workload['name']}: ONNX Runtime finds something else")
        found = row(workload["name"], x, taken, "increasing")
        del found["ratios"]["decreasing"]
        if plain:
            found["ratios"]["decreasing"] = taken["decreasing"] / taken["numpy"]
        if found["ratios"].pop("runtime_last", None):
            found["ratios"]["decreasing_runtime"] = taken["decreasing"] / taken["runtime_last"]
        rows.append(found)
    return rows


def small_calls(seconds: float) -> list[dict[str, Any]]:
    """Time calls on tensors of ten to a hundred elements, where the checks could take longest."""
    x = tensor("float32", [10], 0)
    planes = tensor("float32", [1, 4, 5, 5], 1)
    argmax = extremum.model.Reduction.of("argmax", x.shape, x.dtype)
    pool = partial(extremum.model.max_pooling, planes, 2)
    timed: tuple[tuple[Callable[[], Any], ...], ...] = (
        (partial(extremum.model.argmax, x), partial(np.argmax, x)),
        (partial(argmax.evaluate, x), partial(np.argmax, x)),
        (partial(extremum.model.reduce_max, x), partial(np.max, x)),
        (pool,),
        (partial(pool, return_indices=True),),
    )
    cases: dict[str, tuple[Callable[[], Any], ...]] = dict(zip(SMALL_CALLS, timed, strict=True))
    if optional("onnx"):
        for case, outputs in zip(
            SMALL_POOLINGS, ([np.float32], [np.float32, np.int64]), strict=True
        ):
            if run := runtime(onnx_model("MaxPool", planes, outputs, kernel_shape=[2, 2]), planes):
                cases[case] = (*cases[case], run)
    rows = []
    for case, calls in cases.items():
        taken = times(dict(zip(("ours", "library"), calls, strict=False)), seconds)
        microseconds = {key: round(1000 * value, 2) for key, value in taken.items()}
        rows.append({"case": case, "microseconds": microseconds})
    return rows


def poolings(workloads: list[dict[str, Any]], seconds: float) -> list[dict[str, Any]]:
    """Time poolings in float32 and in their own type, with indices and without."""
    rows = []
    onnx, torch = optional("onnx"), optional("torch")
    for seed, workload in enumerate(workloads):
        for name in dict.fromkeys(["float32", workload["type"]]):
            x = tensor(name, workload["sizes"], seed)
            geometry = {key: workload[key] for key in GEOMETRY}
            attributes = {
                "kernel_shape": workload["window"],
                "strides": workload["strides"],
                "dilations": workload["dilations"],
                "pads": workload["start_padding"] + workload["end_padding"],
            }
            ours = partial(extremum.model.max_pooling, x, **geometry)
            calls: dict[str, Callable[[], Any]] = {
                "indices": partial(ours, return_indices=True, index_type="int64"),
                "values": ours,
            }
            if onnx:
                for column, outputs in (
                    ("runtime", [x.dtype.type, np.int64]),
                    ("runtime_values", [x.dtype.type]),
                ):
                    if run := runtime(onnx_model("MaxPool", x, outputs, **attributes), x):
                        calls[column] = run
            start, end = workload["start_padding"], workload["end_padding"]
            # PyTorch accepts only symmetric padding of at most half the window.
            narrow = all(2 * n <= w for n, w in zip(start, workload["window"], strict=True))
            if torch and start == end and narrow and name == "float32":
                y = torch.from_numpy(x)
                pool = getattr(torch.nn.functional, f"max_pool{x.ndim - 2}d")
                calls["torch"] = lambda pool=pool, y=y, w=workload: pool(
                    y,
                    w["window"],
                    w["strides"],
                    w["start_padding"],
                    w["dilations"],
                    return_indices=True,
                )
            taken = times(calls, seconds)
            if "runtime" in calls:
                pairs = zip(calls["runtime"](), calls["indices"](), strict=True)
                if not all(np.array_equal(theirs, ours) for theirs, ours in pairs):
                    raise AssertionError(f"{workload['name']}: ONNX Runtime finds something else")
            if "runtime_values" in calls and not np.array_equal(
                calls["runtime_values"]()[0], ours()
            ):
                raise AssertionError(f"{workload['name']}: ONNX Runtime finds other values")
            found = row(workload["name"], x, taken, "indices")
            del found["ratios"]["values"]
            if found["ratios"].pop("runtime_values", None):
                found["ratios"]["values"] = taken["values"] / taken["runtime_values"]
            if onnx:
                found["reference_ratio"] = against_reference(x, geometry, attributes)
            rows.append(found)
    return rows


def against_reference(x: np.ndarray, geometry: dict[str, Any], attributes: dict[str, Any]) -> float:
    """Return onnx.reference's time over ours, with indices, on a few planes of the workload.

    Its indices are wrong for some of them, so only its time is used.
    """
    plane = int(np.prod(x.shape[2:]))
    crop = np.ascontiguousarray(x[:, : max(1, REFERENCE_ELEMENTS // plane)])
    # It takes only floats.
    crop = crop.astype(np.float32)
    ours = partial(extremum.model.max_pooling, crop, **geometry, return_indices=True)
    run = reference(onnx_model("MaxPool", crop, [np.float32, np.int64], **attributes), crop)
    start = time.perf_counter()
    run()
    slow = 1000 * (time.perf_counter() - start)
    return slow / times({"ours": ours}, 0.02)["ours"]


def row(name: str, x: np.ndarray, taken: dict[str, float], ours: str) -> dict[str, Any]:
    """Return a row of results: the times, and the ratios of our time to each of the others."""
    return {
        "workload": name,
        "type": str(x.dtype),
        "sizes": list(x.shape),
        "milliseconds": {key: round(value, 4) for key, value in taken.items()},
        "ratios": {key: taken[ours] / value for key, value in taken.items() if key != ours},
    }


def large(which: str) -> dict[str, float]:
    """Return the peak memory of a large problem beyond input and outputs, and its time."""
    if which == "argmax":
        x = np.random.default_rng(0).integers(-128, 128, 100_000_000, np.int8).astype(np.float32)
        call: Callable[[], Any] = partial(extremum.model.argmax, x)
    else:
        x = np.random.default_rng(0).integers(-128, 128, (1, 64, 1024, 1024), np.int8)
        x = x.astype(np.float32)
        geometry = {"strides": 2, "start_padding": 1, "end_padding": 1}
        call = partial(extremum.model.max_pooling, x, 3, **geometry, return_indices=True)
    start = time.perf_counter()
    call()
    seconds = time.perf_counter() - start
    tracemalloc.start()
    result = call()
    peak = tracemalloc.get_traced_memory()[1]
    outputs = sum(part.nbytes for part in (result if isinstance(result, tuple) else (result,)))
    mebi = 1 << 20
    return {
        "input_mib": x.nbytes / mebi,
        "outputs_mib": outputs / mebi,
        "beyond_mib": (peak - outputs) / mebi,
        "resident_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "seconds": seconds,
    }


def _seconds(text: str) -> float:
    """Read a time from the command line: a finite number above 0."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 < found < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, not {text}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=_seconds, default=1.0, help="time for each row")
    parser.add_argument("--large", choices=list(LARGE.values()), help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.large:
        print(json.dumps(large(arguments.large)))
        return 0
    refuse_unwritable(parser, arguments.output)
    workloads = tomllib.loads(WORKLOADS.read_text())["workload"]
    if torch := optional("torch"):
        torch.set_num_threads(1)
    args = reductions([w for w in workloads if w["kind"] == "arg"], arguments.seconds)
    pools = poolings([w for w in workloads if w["kind"] == "pool"], arguments.seconds)
    calls = small_calls(arguments.seconds)
    memory = {}
    for title, which in LARGE.items():
        command = [sys.executable, __file__, "--large", which]
        ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        memory[title] = json.loads(ran.stdout)
    versions = {
        name: module.__version__
        for name in ("numpy", "onnxruntime", "onnx", "torch")
        if (module := optional(name))
    }
    report = {
        "sources": digests_of(SOURCES),
        "versions": versions,
        "reductions": args,
        "poolings": pools,
        "small_calls": calls,
        "memory": memory,
    }
    print("\n\n".join(model_section(report)))
    write_results(arguments.output, report)
    return 0


if __name__ == "__main__":
    end(main)
