"""Carries a case out on a simulation, and compares everything that comes of it.

Results are compared bit for bit with the golden model: each must come once, in order, with zeros in
unused lanes. Every job's status must tell whether it was refused and why. Without stalls the clocks
must be those that the plan predicts.
"""

from __future__ import annotations

import math
from dataclasses import replace
from types import TracebackType

from extremum.hdl.config import CoreConfig
from extremum.host.errors import DeviceError, SimulationError
from extremum.host.simulation.cocotb_block import CocotbBlock
from extremum.host.simulation.cocotb_simulator import CocotbSimulator
from extremum.host.simulation.native import NativeSimulator
from extremum.host.simulation.native_block import NativeBlock
from extremum.tb.coverage import Tally, Uncounted
from extremum.tb.regression.case import Batch, Case
from extremum.tb.regression.on_block import run_on_block
from extremum.tb.regression.on_core import run_on_core
from extremum.tb.regression.operators import jobs_of
from extremum.tb.regression.pool import is_random, target_named
from extremum.tb.regression.target import Target
from extremum.tb.regression.work import Difference, Figures
from extremum.tb.scoreboard import ScoreboardError

__all__ = ["Rig", "run_case"]

OPEN_SIMULATIONS = 6
"""Simulations of cocotb that a rig keeps running: each is a process."""


class Rig:
    """Starts simulations as they are asked for, and keeps them until the context ends.

    Parameters
    ----------
    backend
        ``"native"``, ``"verilator"`` or ``"icarus"``.
    """

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self._running: dict[str, NativeSimulator | CocotbSimulator | NativeBlock | CocotbBlock] = {}

    def __enter__(self) -> Rig:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all simulations."""
        for name in list(self._running):
            self.drop(name)

    def core(self, target: Target) -> NativeSimulator | CocotbSimulator:
        """Return the simulation of a core."""
        config = target.config
        if target.name not in self._running:
            self._make_room()
            native = self.backend == "native"
            made = NativeSimulator(config) if native else CocotbSimulator(config, self.backend)
            self._running[target.name] = made
        simulation = self._running[target.name]
        assert isinstance(simulation, (NativeSimulator, CocotbSimulator))
        return simulation

    def block(self, target: Target) -> NativeBlock | CocotbBlock:
        """Return the simulation of a block."""
        config = target.config
        if target.name not in self._running:
            self._make_room()
            native = self.backend == "native"
            made = NativeBlock(config) if native else CocotbBlock(config, self.backend)
            self._running[target.name] = made
        simulation = self._running[target.name]
        assert isinstance(simulation, (NativeBlock, CocotbBlock))
        return simulation

    def drop(self, name: str) -> None:
        """End a simulation, whose state cannot be trusted any more."""
        if (simulation := self._running.pop(name, None)) is not None:
            simulation.close()

    def _make_room(self) -> None:
        if self.backend != "native" and len(self._running) >= OPEN_SIMULATIONS:
            self.drop(next(iter(self._running)))


def run_case(case: Case, rig: Rig, tally: Tally) -> Figures:
    """Carry a case out; count its bins, and return its figures.

    Bins are of the cores in the pool: what a core drawn at random does is compared, not counted.

    Raises
    ------
    Difference
        The core did something else than it must. The message tells what, and in which batch.
    """
    target = target_named(case.target)
    if is_random(target):
        tally = Uncounted()
    figures = Figures(cases=1)
    # So that a case does the same alone as behind others.
    (rig.core(target) if target.bus == "none" else rig.block(target)).reset()
    batches = [(f"batch {number}", batch, tally) for number, batch in enumerate(case.batches)]
    closing = [("the job behind the last batch", batch, Uncounted())
               for batch in closing_batch(case, target.config)]  # fmt: skip
    for name, batch, bins in batches + closing:
        try:
            if target.bus == "none":
                figures.add(run_on_core(rig.core(target), target, batch, bins))
            else:
                figures.add(run_on_block(rig.block(target), target, batch, bins))
        except (Difference, ScoreboardError, SimulationError, DeviceError) as error:
            rig.drop(target.name)
            raise Difference(f"{name}: {error}") from error
        except BaseException:
            rig.drop(target.name)
            raise
    return figures


def closing_batch(case: Case, config: CoreConfig) -> list[Batch]:
    """Return a batch behind the others: one job of the case's smallest operator that has any.

    A run ends with the last result that is expected. So a result too many behind a batch would not
    be seen but for the batch that follows.
    """
    items = [item for batch in case.batches for item in batch.items]
    items.sort(key=lambda item: math.prod(item.arguments["sizes"]))
    least = next((item for item in items if jobs_of(item, config)), None)
    return [Batch([replace(least, jobs=1, refused=None, fault=None)])] if least else []
