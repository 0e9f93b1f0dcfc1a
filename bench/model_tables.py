"""Tables on the terminal of what `model.py` measured."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["print_tables"]

Records = list[dict[str, Any]]


def print_tables(args: Records, pools: Records, calls: Records, memory: dict[str, Any]) -> None:
    """Print the times of reductions, poolings and small calls, and the memory of large ones."""
    show(
        "argmin, argmax: milliseconds, and our time over theirs (DECREASING: over NumPy's first)",
        ["workload", "type", "ms", "numpy", "runtime", "torch", "decreasing"],
        [
            [r["workload"], r["type"], f"{r['milliseconds']['increasing']:.3f}"]
            + [number(r["ratios"], key) for key in ("numpy", "runtime", "torch", "decreasing")]
            for r in args
        ],
    )
    show(
        "max pooling with indices: milliseconds, and our time over theirs; values: ours over "
        "theirs; onnx.reference: theirs over ours, a crop",
        ["workload", "type", "ms", "runtime", "torch", "values", "reference"],
        [
            [r["workload"], r["type"], f"{r['milliseconds']['indices']:.3f}"]
            + [number(r["ratios"], key) for key in ("runtime", "torch", "values")]
            + [f"{r.get('reference_ratio', 0):.0f}"]
            for r in pools
        ],
    )
    show(
        "small calls: microseconds; the library is NumPy, or ONNX Runtime for poolings",
        ["case", "", "ours", "library", "ratio"],
        [small_cells(row["case"], row["microseconds"]) for row in calls],
    )
    show(
        "memory in MiB",
        ["problem", "", "input", "outputs", "beyond them", "resident", "seconds"],
        [[title, "float32", *(f"{v:.1f}" for v in row.values())] for title, row in memory.items()],
    )


def show(title: str, columns: list[str], rows: list[list[str]]) -> None:
    table = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index > 1 else "left")
    for cells in rows:
        table.add_row(*cells)
    Console(width=130).print(table)


def number(values: dict[str, float], key: str) -> str:
    return f"{values[key]:.2f}" if key in values else "-"


def small_cells(case: str, microseconds: dict[str, float]) -> list[str]:
    """Return the cells of a small call: its time, the library's, and the ratio of both."""
    ours, library = microseconds["ours"], microseconds.get("library")
    there = [f"{library:.2f}", f"{ours / library:.2f}"] if library else ["-", "-"]
    return [case, "", f"{ours:.2f}", *there]
