"""The report of an operator that ran on an accelerator: jobs, beats, clocks, notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Report:
    """What the last operator took.

    Parameters
    ----------
    jobs
        Jobs that ran.
    beats_in, beats_out
        Beats that these jobs took in and gave out.
    cycles
        Clocks, as counted in the simulation, from a job's first beat taken to its last beat
        given (or taken, should that come later), summed over jobs. None without a simulation.
    predicted_cycles
        Clocks that the plan predicts for a run without stalls.
    empty_windows
        Pooling windows that hold no element.
    notes
        What exceeded the core, and what was done about it.
    """

    jobs: int
    beats_in: int
    beats_out: int
    cycles: int | None
    predicted_cycles: int
    empty_windows: int
    notes: tuple[str, ...] = ()

    @property
    def utilization(self) -> float | None:
        """``max(beats_in, beats_out) / cycles``: 1 if a beat moved in every clock.

        It is more than 1 where the first windows of a job lie in padding alone: their results leave
        before the job's first beat is taken, with which its clocks begin.
        """
        return max(self.beats_in, self.beats_out) / self.cycles if self.cycles else None


@dataclass(frozen=True)
class BlockReport(Report):
    """What the last operator took on an AXI block.

    What a block with registers has counted itself is in `counters`, and ``jobs``,
    ``beats_in``, ``beats_out`` and ``cycles`` are from there. Its ``cycles`` are the clocks in
    which it was busy: one for each register that was written, and all from the start of a job to
    the last result that left. Jobs overlap, so they are counted once. A block whose registers are
    all fixed has no counters: there the simulation counts, and ``cycles`` are the clocks from the
    first beat taken to the last beat that moved.

    ``predicted_cycles`` are those of the jobs one after another: what the plan predicts for the
    core, the slots in front of the elements, the way of elements behind the last window, and in a
    block with registers a clock for each that was written and
    :data:`extremum.host.driver.block.START_CLOCKS` for each job. A single job takes as many or a
    few less, several jobs take less. ``empty_windows`` are those of
    the operator; the counter has those that passed through the block with positions, and is 0 in a
    block without them.

    Parameters
    ----------
    counters
        What the block counted, by the counter's name; empty if it has no registers.
    """

    counters: Mapping[str, int] = field(default_factory=dict)
