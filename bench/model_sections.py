"""Section of ``bench/RESULTS.md`` about the golden model beside libraries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from markdown_tables import table


def model_section(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the section about the golden model, from what `model.py` measured."""
    versions = found["versions"]
    yield "## The golden model"
    yield (
        "Time of the golden model over that of each library, which is the best of many calls that "
        "took turns in one run, each behind an untimed call of the same, on one thread: below 1, "
        "the golden model is faster. Tensors begin where a line of the cache does, as those of "
        "PyTorch and ONNX Runtime do; from an odd place on, poolings take up to a tenth longer. "
        f"{', '.join(f'{name} {version}' for name, version in versions.items())}. A dash: the "
        "library has no such function, or not for the type."
    )
    yield "### argmin and argmax"
    yield (
        "DECREASING names the last of equal elements. It is compared with NumPy's function, which "
        "names the first since it has none for the last, and with that of ONNX Runtime "
        "(`select_last_index`)."
    )
    yield table(
        (
            "workload", "type", "ms", "/ NumPy", "/ ONNX Runtime", "DECREASING, ms", "/ NumPy",
            "/ ONNX Runtime",
        ),
        (
            (
                *_begin(row, "increasing"), _ratio(row, "numpy"), _ratio(row, "runtime"),
                f"{row['milliseconds']['decreasing']:.3f}", _ratio(row, "decreasing"),
                _ratio(row, "decreasing_runtime"),
            )
            for row in found["reductions"]
        ),
        2,
    )  # fmt: skip
    yield "### Max pooling"
    yield (
        "Each workload in single floats and in its own type. ONNX Runtime has special loops for "
        "single and half floats without indices, whose results differ from the contract's where "
        "there are NaN. `onnx.reference`, in plain Python, takes "
        f"{_times(found['poolings'])} times as long as the golden model, with indices, on crops in "
        "single floats; its indices are wrong in some of them, so this tells only what such a loop "
        "costs."
    )
    yield table(
        ("workload", "type", "values, ms", "/ ONNX Runtime", "with indices, ms", "/ ONNX Runtime"),
        (
            (
                *_begin(row, "values"), _ratio(row, "values"),
                f"{row['milliseconds']['indices']:.3f}", _ratio(row, "runtime"),
            )
            for row in found["poolings"]
        ),
        2,
    )  # fmt: skip
    yield "### Small calls"
    yield "What the checks cost. The library is NumPy, or ONNX Runtime for poolings."
    yield table(
        ("call", "microseconds", "library", "ratio"),
        (_small(row["case"], row["microseconds"]) for row in found["small_calls"]),
        1,
    )
    yield "### Large tensors"
    yield "The most memory that a call takes at a time beside its input and outputs, in float32."
    yield table(
        ("call", "input, MiB", "outputs, MiB", "beside them, MiB", "seconds"),
        (
            (case, *(f"{row[f'{part}_mib']:.1f}" for part in ("input", "outputs", "beyond")),
             f"{row['seconds']:.2f}")
            for case, row in found["memory"].items()
        ),
        1,
    )  # fmt: skip


def _times(poolings: Iterable[Mapping[str, Any]]) -> str:
    """Return the least and the greatest time of onnx.reference over ours."""
    ratios = [row["reference_ratio"] for row in poolings if "reference_ratio" in row]
    return f"{min(ratios):.0f} to {max(ratios):.0f}" if ratios else "(not measured)"


def _begin(row: Mapping[str, Any], call: str) -> tuple[str, str, str]:
    return row["workload"], row["type"], f"{row['milliseconds'][call]:.3f}"


def _ratio(row: Mapping[str, Any], library: str) -> str:
    ratio = row["ratios"].get(library)
    return "-" if ratio is None else f"{ratio:.2f}"


def _small(case: str, taken: Mapping[str, float]) -> tuple[str, ...]:
    ours, library = taken["ours"], taken.get("library")
    beside = (f"{library:.1f}", f"{ours / library:.1f}") if library else ("-", "-")
    return case, f"{ours:.1f}", *beside
