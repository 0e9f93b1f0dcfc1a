"""The grid of strides: in which slots of a line of slots a window is due.

The first window is due ``head`` slots behind the first slot, and then one every ``stride`` slots.
With padding, every line of windows but the job's first begins with a window.
"""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.utils import bits_for

from extremum.hdl.advance import Advance
from extremum.hdl.coordinates import slots_from_zero
from extremum.hdl.counter import StepCount
from extremum.hdl.shadow import precomputed, shadow
from extremum.hdl.timing import Timed, TimingParameters, delay


def is_due(
    m: Module,
    parameters: TimingParameters,
    advance: Advance,
    last: Value,
    *,
    head: Value,
    stride_less_one: Value,
    begins_on_grid: bool,
) -> Timed:
    """Return whether a window is due in the slot: valid after ``control_clocks``.

    Parameters
    ----------
    m
        Module to add the logic to.
    parameters
        The timing parameters.
    advance
        The signals that begin a job and go on from slot to slot.
    last
        The slot is its line's last.
    head, stride_less_one
        Registers of the next job.
    begins_on_grid
        Whether a window is due in the first slot of every line but the job's first.
    """
    if parameters.counts_ahead:
        return _due_ahead(
            m, parameters, advance, last,
            new_head=head, new_stride_less_one=stride_less_one, begins_on_grid=begins_on_grid,
        )  # fmt: skip
    return _due_now(
        m, parameters, advance, last,
        head=head, stride_less_one=stride_less_one, begins_on_grid=begins_on_grid,
    )  # fmt: skip


def _due_ahead(
    m: Module,
    parameters: TimingParameters,
    advance: Advance,
    last: Value,
    *,
    new_head: Value,
    new_stride_less_one: Value,
    begins_on_grid: bool,
) -> Timed:
    """Count the slots since the line began, or since a window was due; tell the end a step ahead.

    There are ``head`` slots to the first window, then ``stride`` slots from one window to the next.
    """
    step, token, last, begins = (
        delay(m, flag, 1) for flag in (advance.step, advance.token, last, advance.token | last)
    )
    due, from_first = Signal(name="due"), Signal(name="from_first")
    width = _count_width(new_head, new_stride_less_one)
    slots = StepCount(
        m, parameters, width, "phase",
        begin=begins | due, enable=step, is_loaded=True,
    )  # fmt: skip
    with m.If(step):
        m.d.sync += from_first.eq(begins | (from_first & ~due))
    new_begins_due = precomputed(m, parameters, lambda head: (head == 0) | (head < 0), new_head)
    head, stride_less_one, begins_due, head_is_one, is_dense, stride_is_two = (
        shadow(m, parameters, value, token, name)
        for value, name in (
            (new_head, "head"),
            (new_stride_less_one, "stride"),
            (new_begins_due, "begins_due"),
            (precomputed(m, parameters, lambda head: head == 1, new_head), "head_is_one"),
            (
                precomputed(m, parameters, lambda less_one: less_one == 0, new_stride_less_one),
                "is_dense",
            ),
            (
                precomputed(m, parameters, lambda less_one: less_one == 1, new_stride_less_one),
                "stride_is_two",
            ),
        )
    )
    if begins_on_grid:
        begins_due = Const(1, 1)
    head = head.as_unsigned()[:width]
    goal = slots.at(
        Mux(from_first, head, stride_less_one), Mux(from_first, head_is_one, stride_is_two)
    )
    later = Mux(last, begins_due, Mux(due, is_dense, goal))
    with m.If(step):
        m.d.sync += due.eq(Mux(token, new_begins_due, later))
    return Timed(m, due, 1)


def _due_now(
    m: Module,
    parameters: TimingParameters,
    advance: Advance,
    last: Value,
    *,
    head: Value,
    stride_less_one: Value,
    begins_on_grid: bool,
) -> Timed:
    """Count the slots to the next window; tell in the clock of the slot whether it is reached."""
    left = Signal(_count_width(head, stride_less_one), name="slots_to_window")
    due = left == 0
    to_first = precomputed(m, parameters, slots_from_zero, head)
    to_next = Mux(last, 0 if begins_on_grid else to_first, stride_less_one)
    with m.If(advance.step):
        with m.If(advance.token):
            m.d.sync += left.eq(to_first)
        with m.Elif(last | due):
            m.d.sync += left.eq(to_next)
        with m.Else():
            m.d.sync += left.eq(left - 1)
    return Timed(m, due)


def _count_width(head: Value, stride: Value) -> int:
    """Return the bits of a count that runs up to the first window, and from window to window."""
    widths = [
        bits_for(max(0, value.value))
        if isinstance(value, Const)
        else len(value) - value.shape().signed
        for value in (head, stride)
    ]
    return max(widths)
