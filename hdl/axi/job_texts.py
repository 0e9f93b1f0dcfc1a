"""What each job register means, in a phrase: for the descriptions of the register map.

:class:`extremum.hdl.job.JobRegisters` says more, and :mod:`extremum.host.plan.registers` how the
values follow from an operator.
"""

from __future__ import annotations

TEXTS = {
    "data_type": "The type of the elements, by the number that the core has for it.",
    "minimum": "1: the least element wins, instead of the greatest.",
    "decreasing": "1: of equal elements of a reduction the last one wins, instead of the first.",
    "ignore_nan": "1: NaN loses to every number, instead of winning.",
    "fold": "1: the lanes carry consecutive elements of one row, and results leave packed.",
    "slots": "Slots of the job, up to its last window or its last element, whichever is later.",
    "volumes": "Groups of planes or volumes, one in each lane: as many as `groups` in a pooling, "
    "as beats in a reduction.",
    "length": "Consecutive windows that are reduced to one result; 1 in a pooling.",
    "groups": "Groups of slices, one in each lane: planes of a pooling, rows of a reduction.",
    "tail": "Lanes that carry something in the last group; in a fold, in the last beat of a row.",
    "origin": "Position of the last tap of the first window in lane 0.",
    "group_step": "Added to the position from one group to the next.",
    "lane_step": "Added to the position from one lane to the next.",
}
"""The registers that belong to no dimension."""

DIMENSION_TEXTS = {
    "window": "taps of the window.",
    "stride": "elements from one window to the next.",
    "dilation": "elements from one tap to the next.",
    "size": "elements of the input.",
    "head": "coordinate of the first window's last tap.",
    "period": "slots from one line to the next.",
    "regular": "coordinate of the slot of the last window on the grid of strides.",
    "final": "coordinate of the slot in which the line's last window is given.",
    "shift": "taps by which the window in `final` is given early.",
    "spacing": "stored words from one tap to the next.",
    "position_step": "added to the position from one window to the next.",
    "tap_step": "added to the position from one tap to the one before.",
}
"""The registers of each dimension."""


def job_text(name: str) -> str:
    """Return what a job register means, in a sentence.

    Examples
    --------
    >>> job_text("height.stride")
    'Height: elements from one window to the next.'
    """
    dimension, _, part = name.rpartition(".")
    return f"{dimension.capitalize()}: {DIMENSION_TEXTS[part]}" if dimension else TEXTS[part]
