"""The ports of a core: the layout of each payload, and why a job is refused."""

from __future__ import annotations

from enum import IntEnum

from amaranth.hdl import unsigned
from amaranth.lib import data

from extremum.hdl.config import CoreConfig
from extremum.hdl.registers import job_shapes


class JobError(IntEnum):
    """The reason why the core refused a job (``status.error``)."""

    NONE = 0
    COUNT = 1
    """A window, a dilation or the tail is zero."""
    WINDOW = 2
    """A window is larger than the core was built for."""
    SPACING = 3
    """Neighbouring taps are further apart than the storage of the core reaches."""
    DATA_TYPE = 4
    """The register ``data_type`` selects no type that the core was built for."""
    TAIL = 5
    """The tail is larger than the number of lanes."""


EMPTY_INDEX = 0xFFFFFFFF
"""Position of an empty window in software: 32 ones. On a narrower port it is fewer ones."""


def job_layout(config: CoreConfig) -> data.StructLayout:
    """Return the layout of the job port: the registers of :func:`job_shapes`, in their order.

    A dot in a register's name becomes an underscore: ``width_size``. If all registers are fixed,
    the core has no job port; inside the core, a single unused bit takes its place.
    """
    members = {name.replace(".", "_"): shape for name, shape in job_shapes(config).items()}
    return data.StructLayout(members or {"unused": unsigned(1)})


def input_layout(config: CoreConfig) -> data.ArrayLayout:
    """Return the layout of an input beat: an element in the low bits of each lane."""
    return data.ArrayLayout(unsigned(config.element_width), config.lanes)


def output_layout(config: CoreConfig, *, marks_lanes: bool = False) -> data.StructLayout:
    """Return the layout of an output beat.

    ``value`` is the winning element, bit for bit, in the low bits of its lane. ``index`` is its
    position, or all ones if the window was empty. ``last`` marks the last beat of a job. Lanes
    without a result are 0. A core that gives no values has no ``value``, and one that gives no
    positions has no ``index``. With ``marks_lanes``, ``filled`` has a bit for each lane that holds
    a result.
    """
    members: dict[str, data.ArrayLayout | int] = {}
    if config.has_values:
        members["value"] = data.ArrayLayout(config.element_width, config.lanes)
    if config.index_width:
        members["index"] = data.ArrayLayout(config.index_width, config.lanes)
    if marks_lanes:
        members["filled"] = data.ArrayLayout(1, config.lanes)
    return data.StructLayout(members | {"last": 1})


def intake_layout() -> data.StructLayout:
    """Return the layout of what a core tells of the beats that it takes in.

    ``active``: a job is under way whose last slot has not entered. ``ended``: in the clock before,
    the last slot of a job entered, so that beats from this clock on belong to the next job.
    """
    return data.StructLayout({"active": 1, "ended": 1})


def status_layout() -> data.StructLayout:
    """Return the layout of the core's status: see :class:`extremum.hdl.core.Core`."""
    return data.StructLayout({"busy": 1, "refused": 1, "error": 3, "empty": 1})
