"""`extremum demo`: a photograph through the simulated gateware, checked, and drawn.

It needs scikit-image and matplotlib, which the extra `demo` brings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import skimage.data
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from rich.table import Table

from extremum.host.accelerator import Accelerator
from extremum.host.cli.printing import difference_dict, difference_text, print_rich
from extremum.host.comparison import Check, compute
from extremum.host.plan import Plan, plan
from extremum.host.progress import Progress, TellProgress
from extremum.host.replaced_files import write_whole
from extremum.model import DataType, Pooling, Reduction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Demo", "Step"]

WINDOW = 4
"""Rows and columns of a window: large enough to be seen in the picture."""
LIMITS: dict[str, Any] = {
    "max_window": (1, WINDOW, WINDOW),
    "max_dilation": (1, 1, 1),
    "max_line": 128,
}
"""A core no larger than the demo needs compiles in half the time of the default one."""
ZOOM = (slice(108, 188), slice(212, 292))
"""Rows and columns drawn large: the eye at the camera."""
BRIGHT, DARK, FRAME, GRID = "#ff8c1a", "#22a7f0", "#ffffff", "#8a8a8a"


@dataclass(frozen=True)
class Step:
    """One operator of the demo.

    Parameters
    ----------
    name
        What the step finds, in words.
    problem
        The operator.
    check
        What the accelerator gave, compared with the golden model.
    """

    name: str
    problem: Reduction | Pooling
    check: Check

    @property
    def agreement(self) -> bool:
        """Whether every bit of the result is that of the golden model."""
        return self.check.compared and self.check.difference is None

    def as_dict(self) -> dict[str, Any]:
        """Return the step as plain data."""
        report, difference = self.check.report, self.check.difference
        return {
            "operator": self.name,
            "sizes": self.problem.sizes,
            "elements": int(np.prod(self.problem.sizes)),
            "cycles": report.cycles,
            "predicted_cycles": report.predicted_cycles,
            "utilization": report.utilization,
            "agreement": self.agreement,
            "mismatch": difference_dict(difference) if difference else None,
        }


@dataclass(frozen=True)
class Demo:
    """A photograph and what was found in it.

    Parameters
    ----------
    photograph
        An array uint8 of (height, width).
    backend, lanes
        The backend and the lanes of the accelerator.
    steps
        The pooling; then the brightest and the darkest pixel of each row, and of all.
    """

    photograph: np.ndarray
    backend: str
    lanes: int
    steps: tuple[Step, ...]

    @classmethod
    def run(
        cls,
        photograph: np.ndarray | None = None,
        *,
        backend: str = "native",
        bus: str = "none",
        lanes: int = 4,
        progress: TellProgress | None = None,
    ) -> Demo:
        """Run every step on one accelerator.

        Parameters
        ----------
        photograph
            An array uint8 of (height, width); scikit-image's `camera` if None.
        backend, bus, lanes
            The backend, the bus and the lanes of the accelerator.
        progress
            Called now and then with how far all steps together have come.
        """
        photograph = skimage.data.camera() if photograph is None else photograph
        problems = _problems(photograph.shape)
        plans: list[Plan] = []
        steps: list[Step] = []

        def add(now: Progress) -> None:
            done = [step.check.report for step in steps]
            if progress is not None and now.phase != "planning":
                progress(
                    replace(
                        now,
                        clocks=now.clocks + sum(report.cycles or 0 for report in done),
                        predicted_clocks=sum(each.cycles for each in plans),
                        beats=now.beats + sum(report.beats_in for report in done),
                        predicted_beats=sum(each.beats_in for each in plans),
                    )
                )

        with Accelerator(
            (DataType.UINT8,), lanes=lanes, backend=backend, bus=bus, progress=add, **LIMITS
        ) as accelerator:
            plans += [plan(problem, accelerator.config) for problem in problems.values()]
            for name, problem in problems.items():
                x = photograph.reshape(problem.sizes)
                steps.append(Step(name, problem, compute(problem, x, accelerator)))
        return cls(photograph, backend, lanes, tuple(steps))

    @property
    def agreement(self) -> bool:
        """Whether every bit of every step is that of the golden model."""
        return all(step.agreement for step in self.steps)

    def as_dict(self) -> dict[str, Any]:
        """Return the demo as plain data."""
        return {
            "command": "demo",
            "backend": self.backend,
            "lanes": None if self.backend == "model" else self.lanes,
            "sizes": self.photograph.shape,
            "agreement": self.agreement,
            "steps": [step.as_dict() for step in self.steps],
        }

    def print_table(self) -> None:
        """Print a row for each step."""
        height, width = self.photograph.shape
        print_rich(
            f"camera, {width} x {height} pixels of uint8, on backend {self.backend}"
            f"{'' if self.backend == 'model' else f', lanes: {self.lanes}'}\n",
            markup=False,
        )
        table = Table(box=None, pad_edge=False)
        table.add_column("operator")
        for column in ("elements", "cycles", "utilization"):
            table.add_column(column, justify="right")
        table.add_column("agreement")
        for step in self.steps:
            row = step.as_dict()
            table.add_row(
                step.name,
                f"{row['elements']}",
                "-" if row["cycles"] is None else f"{row['cycles']}",
                "-" if row["utilization"] is None else f"{row['utilization']:.1%}",
                "[green]bit for bit[/]" if step.agreement else "[red]MISMATCH[/]",
            )
        print_rich(table)
        for step in self.steps:
            if step.check.difference:
                print_rich(f"{step.name}: {difference_text(step.check.difference)}", markup=False)

    def draw(self, path: str) -> None:
        """Write the picture: the photograph, its pooling, and the positions selected."""
        pooling, *reductions = (step.check.outputs for step in self.steps)
        rows_bright, rows_dark, bright, dark = (r["positions"].reshape(-1) for r in reductions)
        width = self.photograph.shape[1]
        figure = Figure(figsize=(15, 5.9), layout="constrained", facecolor="white")
        left, middle, right = figure.subplots(1, 3)
        self._draw_photograph(left, rows_bright, rows_dark)
        for index, colour in ((bright[0], BRIGHT), (dark[0], DARK)):
            y, x = divmod(int(index), width)
            left.plot(x, y, "*", color=colour, markersize=20, markeredgecolor="black")
        _draw_pooled(middle, pooling["values"][0, 0])
        self._draw_zoom(right, pooling["indices"].reshape(-1))
        figure.legend(handles=_legend(), loc="outside lower center", ncols=5, frameon=False)
        where = "the golden model" if self.backend == "model" else f"gateware on {self.backend}"
        figure.suptitle(f"extremum: a photograph through {where}, every bit checked", fontsize=15)
        picture = BytesIO()
        figure.savefig(picture, dpi=120, format=Path(path).suffix[1:].lower())
        write_whole(path, picture.getvalue())

    def _draw_photograph(self, axes: Axes, brightest: np.ndarray, darkest: np.ndarray) -> None:
        """Draw the photograph, and in each row its first brightest and first darkest pixel."""
        axes.imshow(self.photograph, cmap="gray", vmin=0, vmax=255)
        rows = np.arange(len(brightest))
        for columns, colour in ((brightest, BRIGHT), (darkest, DARK)):
            axes.scatter(columns, rows, s=7, color=colour, linewidths=0)
        rows_shown, columns_shown = ZOOM
        corner = (columns_shown.start, rows_shown.start)
        sides = (columns_shown.stop - columns_shown.start, rows_shown.stop - rows_shown.start)
        axes.add_patch(Rectangle(corner, *sides, fill=False, color=FRAME, linewidth=1.2))
        axes.set_title("input: argmax and argmin, per row and of all")
        axes.set_axis_off()

    def _draw_zoom(self, axes: Axes, indices: np.ndarray) -> None:
        """Draw a part of the photograph, its windows, and the pixel selected in each."""
        rows, columns = ZOOM
        axes.imshow(self.photograph, cmap="gray", vmin=0, vmax=255)
        y, x = np.divmod(indices.astype(np.int64), self.photograph.shape[1])
        axes.scatter(x, y, s=24, marker="s", color=BRIGHT, edgecolors="black", linewidths=0.5)
        for edge in range(rows.start, rows.stop, WINDOW):
            axes.axhline(edge - 0.5, color=GRID, linewidth=0.6)
        for edge in range(columns.start, columns.stop, WINDOW):
            axes.axvline(edge - 0.5, color=GRID, linewidth=0.6)
        axes.set_xlim(columns.start - 0.5, columns.stop - 0.5)
        axes.set_ylim(rows.stop - 0.5, rows.start - 0.5)
        axes.set_title("the framed part: the pixel that each window selects")
        axes.set_axis_off()


def _problems(shape: tuple[int, ...]) -> dict[str, Reduction | Pooling]:
    """Return the operators of the demo, by what they find."""
    height, width = shape
    return {
        f"max-pool {WINDOW} x {WINDOW}, stride {WINDOW}, indices": Pooling.of(
            (1, 1, height, width), "uint8", WINDOW, strides=WINDOW, return_indices=True
        ),
        "argmax, brightest pixel of each row": Reduction.of("argmax", shape, "uint8", 1),
        "argmin, darkest pixel of each row": Reduction.of("argmin", shape, "uint8", 1),
        "argmax, brightest pixel of all": Reduction.of("argmax", shape, "uint8"),
        "argmin, darkest pixel of all": Reduction.of("argmin", shape, "uint8"),
    }


def _legend() -> list[Line2D]:
    marks = (
        ("o", BRIGHT, 5, "brightest of its row"),
        ("o", DARK, 5, "darkest of its row"),
        ("*", BRIGHT, 14, "brightest of all"),
        ("*", DARK, 14, "darkest of all"),
        ("s", BRIGHT, 6, "selected by its window"),
    )
    return [
        Line2D([], [], linestyle="", marker=marker, color=colour, markersize=size, label=label)
        for marker, colour, size, label in marks
    ]


def _draw_pooled(axes: Axes, values: np.ndarray) -> None:
    height, width = values.shape
    axes.imshow(values, cmap="gray", vmin=0, vmax=255)
    axes.set_title(f"max-pooled {WINDOW} x {WINDOW}, stride {WINDOW}: {width} x {height} pixels")
    axes.set_axis_off()
