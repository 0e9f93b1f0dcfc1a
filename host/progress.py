"""What an accelerator tells of an operator that is under way."""

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
        ``"simulating"``. The figures belong to the last.
    clocks, predicted_clocks
        Clocks simulated so far, and clocks of the whole operator as its plan predicts them
        without stalls.
    beats, predicted_beats
        Input beats taken so far, and input beats of the whole operator.
    job, jobs
        Number of the job under way, counted from 0, and how many jobs there are.
    stage
        What is done while ``phase`` is ``"compiling"``, in words: ``"generating the Verilog
        (Amaranth)"``, for example. Otherwise empty.
    """

    phase: str
    clocks: int = 0
    predicted_clocks: int = 0
    beats: int = 0
    predicted_beats: int = 0
    job: int = 0
    jobs: int = 0
    stage: str = ""


TellProgress = Callable[[Progress], None]
"""Is called when a phase or a stage begins, and about ten times a second during a simulation."""
