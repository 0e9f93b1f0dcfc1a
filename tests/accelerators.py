"""Accelerators on the cores of the benches, and their comparison with the golden model."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from typing import Any

import numpy as np
from equal_bits import assert_equal_bits
from simulation import chosen

from extremum import model
from extremum.host.accelerator import Accelerator
from extremum.host.report import BlockReport
from extremum.tb.cores import CORES
from extremum.tb.regression.on_block import spared_clocks

REDUCTIONS = ("argmin", "argmax", "reduce_min", "reduce_max")


class Hardware(ExitStack):
    """Makes accelerators by core, backend and stalls, and keeps them until the context ends."""

    def __init__(self) -> None:
        super().__init__()
        self._running: dict[tuple[Any, ...], Accelerator] = {}

    def __call__(self, core: str, backend: str, **stalls: int) -> Accelerator:
        key = (core, backend, *sorted(stalls.items()))
        if key not in self._running:
            self._running[key] = self.enter_context(make(core, backend, **stalls))
        return self._running[key]


def make(core: str, backend: str, **options: Any) -> Accelerator:
    """Return an accelerator on one of the cores of the benches, by its name.

    The backend may be followed by a bus: ``"native axi"``.
    """
    return Accelerator(CORES[core], **chosen(backend), **options)


def check(accelerator: Accelerator, function: str, x: np.ndarray, *args: Any, **kwargs: Any) -> Any:
    """Call a function of the accelerator, compare it with the golden model, return its result.

    The bits and the warnings must be the same. The report must count the empty windows and, if
    there are no stalls, exactly the clocks that were predicted; an AXI block may take a few less
    for a single job, and less for several.
    """
    with warnings.catch_warnings(record=True) as expected_warnings:
        warnings.simplefilter("always")
        expected = getattr(model, function)(x, *args, **kwargs)
    with warnings.catch_warnings(record=True) as actual_warnings:
        warnings.simplefilter("always")
        actual = getattr(accelerator, function)(x, *args, **kwargs)
    if isinstance(expected, tuple):
        assert isinstance(actual, tuple)
        for a, e in zip(actual, expected, strict=True):
            assert_equal_bits(a, e)
    else:
        assert_equal_bits(actual, expected)
    told = [(w.category, str(w.message)) for w in expected_warnings]
    assert [(w.category, str(w.message)) for w in actual_warnings] == told
    report, settings = accelerator.report, accelerator._settings
    assert report is not None
    counts = [int(message.split()[0]) for _, message in told]
    assert report.empty_windows == sum(counts)
    if report.cycles is not None and not (settings.input_stalls or settings.output_stalls):
        spared = report.predicted_cycles - report.cycles
        if not isinstance(report, BlockReport):
            assert spared == 0
        else:
            alone = spared_clocks(accelerator.config)
            assert 0 <= spared <= (alone if report.jobs == 1 else report.predicted_cycles)
            assert report.cycles >= max(report.beats_in, report.beats_out)
    return actual
