"""Components with which the gateware reaches a fast clock, apart from what it computes.

A block that uses these components reads as if they were plain operations: a
:class:`SegmentedAccumulator` is a sum, :func:`late_equal` a comparison, and :class:`Credits` count
what is under way. Each component tells its latency, and :class:`Timed` values are delayed until
they meet. All numbers that trade area or latency for the clock are in :class:`TimingParameters`.
"""

from extremum.hdl.timing.accumulator import SegmentedAccumulator
from extremum.hdl.timing.alignment import (
    AlignmentError,
    Timed,
    delay,
    domain,
    registered,
    wired,
)
from extremum.hdl.timing.comparison import NEVER, exceeds, late_equal, late_exceeds
from extremum.hdl.timing.copies import copied, copy_count, fanout_copy, own_copy
from extremum.hdl.timing.credits import Credits
from extremum.hdl.timing.parameters import TimingParameters, timing_parameters

__all__ = [
    "NEVER",
    "AlignmentError",
    "Credits",
    "SegmentedAccumulator",
    "Timed",
    "TimingParameters",
    "copied",
    "copy_count",
    "delay",
    "domain",
    "exceeds",
    "fanout_copy",
    "late_equal",
    "late_exceeds",
    "own_copy",
    "registered",
    "timing_parameters",
    "wired",
]
