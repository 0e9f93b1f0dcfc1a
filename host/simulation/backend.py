"""The contract of every simulation: jobs and their elements go in, results come out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from extremum.host.simulation.stalls import Phases


@dataclass(frozen=True)
class JobRun:
    """Jobs that go through the core back to back, with their elements as arrays.

    Parameters
    ----------
    jobs
        Payloads of the job port.
    beats
        Input beats of all jobs, in pieces: arrays (beats, lanes) of the jobs' types.
    beats_in
        How many input beats the pieces hold together.
    beats_out
        Output beats of each job; 0 for a job that the core refuses.
    dtype
        Type of the results, no wider than the core's elements.
    together
        Results are handed out in multiples of so many beats.
    watchdog
        Clocks without any transfer after which the run is given up.
    input_stalls, output_stalls, job_stalls
        Percentage of the clocks in which the source of beats, the sink of results, the source of
        jobs rests; or phases of different percentages.
    seed
        Selects the stalls, and what stands on the ports while valid is low.
    stop_after
        Clocks after which the run is left as it is, if it is not over before. Then the core must
        be reset. The status of a job that was taken in the last clock may be missing.
    """

    jobs: Sequence[int]
    beats: Iterable[np.ndarray]
    beats_in: int
    beats_out: Sequence[int]
    dtype: np.dtype
    watchdog: int
    together: int = 1
    input_stalls: int | Phases = 0
    output_stalls: int | Phases = 0
    job_stalls: int | Phases = 0
    seed: int = 0
    stop_after: int | None = None


@dataclass(frozen=True)
class Measured:
    """What a simulation tells of a run besides its results.

    Parameters
    ----------
    cycles
        Clocks from the first beat taken to the last beat moved.
    statuses
        The core's status after each job was taken off its port.
    taken
        Input beats taken.
    """

    cycles: int
    statuses: tuple[int, ...]
    taken: int


Take = Callable[[np.ndarray, np.ndarray], None]
"""Is called with results as they come: values (beats, lanes), and positions (uint32) of that shape.

The arrays are overwritten by the next results, so they must be copied if they are kept.
"""

WatchClocks = Callable[[int, int], None]
"""Is called now and then with the clocks simulated, and the input beats taken."""


class Simulator(Protocol):
    """A core that runs in a simulation. It keeps its state from one run to the next."""

    def run(self, run: JobRun, take: Take, watch: WatchClocks | None = None) -> Measured:
        """Carry out a run and give its results, in order.

        Raises
        ------
        SimulationError
            The simulation ended, the core hung, broke a stream rule, or marked the wrong result
            as its job's last. The simulation is closed.
        ValueError
            The pieces do not hold as many beats as ``beats_in`` says.
        """
        ...

    def reset(self, clocks: int = 1) -> None:
        """Reset the core for so many clocks, whatever it is doing."""
        ...

    def close(self) -> None:
        """End the simulation. Waveforms are complete after this."""
        ...


RESET_CLOCKS = 16
"""Clocks after which an AXI block has come out of its reset, and its core waits for beats."""


@dataclass(frozen=True)
class StreamClocks:
    """How far the streams of an AXI block in a simulation are.

    Parameters
    ----------
    now
        Clocks since the count began.
    first
        The clock of the first beat taken; None if there is none yet.
    last
        The clock of the last beat that moved.
    taken
        Input beats taken.
    """

    now: int
    first: int | None
    last: int
    taken: int

    @property
    def cycles(self) -> int:
        """Clocks from the first beat taken to the last beat moved."""
        return 0 if self.first is None else self.last - self.first + 1


@dataclass(frozen=True)
class StreamSettings:
    """How the far ends of the streams of an AXI block behave in a simulation.

    Parameters
    ----------
    watchdog
        Clocks without a beat or a written register after which the simulation gives up.
    input_stalls, output_stalls
        Percentage of the clocks in which the source of beats, each sink of results rests; or
        phases of different percentages.
    seed
        Selects the stalls, and what stands on the input while valid is low.
    watch
        Called now and then, with how far the streams are.
    """

    watchdog: int = 1 << 20
    input_stalls: int | Phases = 0
    output_stalls: int | Phases = 0
    seed: int = 0
    watch: Callable[[StreamClocks], None] | None = None


class BlockSimulation(Protocol):
    """An AXI block in a simulation, beside what every transport of the driver has."""

    def begin(self, settings: StreamSettings) -> None:
        """Set the streams, and count their clocks anew. Nothing may be under way."""
        ...

    def pass_clocks(self, clocks: int) -> None:
        """Let so many clocks pass."""
        ...

    def reset(self, clocks: int = 1) -> None:
        """Pull ``aresetn`` low for so many clocks, whatever is under way, and forget all packets.

        The driver of the block must be a new one afterwards.
        """
        ...

    @property
    def clocks(self) -> StreamClocks:
        """How far the streams are since :meth:`begin`."""
        ...

    def close(self) -> None:
        """End the simulation. Waveforms are complete after this."""
        ...
