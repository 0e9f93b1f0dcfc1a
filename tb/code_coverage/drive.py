"""Runs cases of the random regression on cores that count what is executed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from amaranth.hdl import Shape
from amaranth.lib import data

from extremum.hdl.config import CoreConfig
from extremum.hdl.ports import input_layout, job_layout, output_layout, status_layout
from extremum.host.simulation.native import NativeSimulator
from extremum.host.simulation.native_block import NativeBlock
from extremum.tb.code_coverage.build import compile_counting
from extremum.tb.code_coverage.points import Point, points
from extremum.tb.code_coverage.sources import design_of, toggles_of_ports
from extremum.tb.coverage import Tally
from extremum.tb.regression.draw import drawn_case
from extremum.tb.regression.pool import CORES_MOST, TARGETS, target_named
from extremum.tb.regression.run import Rig, run_case
from extremum.tb.regression.target import Target
from extremum.tb.regression.work import Difference

SAMPLE = (
    "endless", "unpadded", "reduction", "volume", "pool3s2", "last16", "narrow", "folds",
    "every_type", "axi-pool3", "axi-reduction", "axi-image", "axi-endless",
    "small-volume", "small-folds", "small-endless", "balanced-every_type", "axi-small-pool3",
    "bytes16",
)  # fmt: skip
"""Cores and blocks that have, together, every part of ``hdl/``, in each setting."""

LONG_CASES = 2
"""Cases with long jobs, of those of each core. The others are drawn in the size for cocotb."""


class CountingRig(Rig):
    """Simulations of one core or block, compiled with counters.

    Parameters
    ----------
    target
        What runs.
    library
        The library of :func:`extremum.tb.code_coverage.build.compile_counting`.
    """

    def __init__(self, target: Target, library: Path) -> None:
        super().__init__("native")
        made = NativeBlock if target.bus == "axi" else NativeSimulator
        self._simulation = made(target.config, library=library)
        self._running[target.name] = self._simulation

    def counted(self) -> str:
        """Return what Verilator counted so far."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "coverage.dat"
            self._simulation.write_coverage(path)
            return path.read_text()


def drive(
    name: str, cases: int, end: float
) -> tuple[int, Counter[Point], Counter[tuple[str, bool]]]:
    """Run cases on a core or block of the regression's pool.

    Parameters
    ----------
    name
        Its name.
    cases
        Number of cases.
    end
        Time of the monotonic clock behind which no further case begins.

    Returns
    -------
    tuple
        The number of cases that were run, and what
        :func:`extremum.tb.code_coverage.points.points` returns.

    Raises
    ------
    Difference
        A case did not come out as it must. Its seed is in the message.
    """
    target = target_named(name)
    design = design_of(target.config, target.bus)
    library = compile_counting(target.config, target.bus, toggles_of_ports(design))
    number = TARGETS.index(target)
    done = 0
    rig = CountingRig(target, library)
    with rig:
        for each in range(cases):
            if time.monotonic() > end:
                break
            seed = number + CORES_MOST * each
            try:
                size = "native" if each < LONG_CASES else "verilator"
                run_case(drawn_case(seed, size), rig, Tally())
            except Difference as error:
                raise Difference(f"seed {seed}: {error}") from error
            done += 1
        counted = rig.counted()
    return done, *points(design, counted, bits_of(target))


def bits_of(target: Target) -> Mapping[str, Sequence[str]]:
    """Return names of the bits of each port of a bare core: a field, and the bit in it."""
    if target.bus == "axi":
        return {}
    config: CoreConfig = target.config
    layouts = {
        "job__payload": job_layout(config),
        "i__payload": input_layout(config),
        "o__payload": output_layout(config),
        "status": status_layout(),
    }
    return {port: [*_bits(port, layout)] for port, layout in layouts.items()}


def _bits(name: str, layout: object) -> Iterator[str]:
    """Yield the names of the bits of a layout, the lowest one first. Lanes have one name."""
    if isinstance(layout, data.StructLayout):
        for field, shape in layout.members.items():
            yield from _bits(f"{name}.{field}", shape)
    elif isinstance(layout, data.ArrayLayout):
        for _ in range(layout.length):
            yield from _bits(f"{name}.lane", layout.elem_shape)
    else:
        width = Shape.cast(layout).width  # type: ignore[arg-type]
        yield from (f"{name}.{bit}" for bit in range(width))
