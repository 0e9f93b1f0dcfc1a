"""The report of an operator that ran on an accelerator: jobs, beats, clocks, notes."""

from __future__ import annotations

from dataclasses import dataclass


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
        """``max(beats_in, beats_out) / cycles``: 1 if a beat moved in every clock."""
        return max(self.beats_in, self.beats_out) / self.cycles if self.cycles else None
