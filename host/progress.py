"""How far an operator has come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """What an accelerator is doing.

    Parameters
    ----------
    phase
        ``"planning"``, ``"compiling"`` (once for each core, which is then kept) or
        ``"simulating"``. The figures are of the last.
    clocks, predicted_clocks
        Clocks simulated so far, and of the whole operator as its plan predicts them without
        stalls.
    beats, predicted_beats
        Input beats taken so far, and of the whole operator.
    job, jobs
        The job under way, counted from 0, and how many there are.
    """

    phase: str
    clocks: int = 0
    predicted_clocks: int = 0
    beats: int = 0
    predicted_beats: int = 0
    job: int = 0
    jobs: int = 0


Tell = Callable[[Progress], None]
"""Is called now and then, and in particular when a phase begins."""
