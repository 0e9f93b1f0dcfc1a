"""Comparisons of wide numbers, cut so that they fit a fast clock; the answer comes a clock later.

Where the parameters have no register for it, it comes at once.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value

from extremum.hdl.timing.alignment import delay
from extremum.hdl.timing.parameters import TimingParameters

LATENCY = 1
"""Clocks from two numbers to the answer of :func:`late_equal` or :func:`late_exceeds`, if it has a
register."""

NEVER = Const(0, 1)


def late_equal(
    m: Module,
    a: Value,
    b: Value,
    parameters: TimingParameters,
    *,
    enable: Value | None = None,
    name: str | None = None,
) -> Value:
    """Return whether ``a == b`` held in the clock before, or holds if the control takes no clocks.

    Both are unsigned, or both are signed and of the same width. With ``enable``, the answer is that
    of the last enabled clock before this one; an answer at once ignores it. Parts of
    ``parameters.equality_bits`` are compared side by side.
    """
    if not parameters.control_clocks:
        return a == b
    parts = -(-max(len(a), len(b)) // parameters.equality_bits)
    equal = Signal(parts, name=name, reset_less=True)
    with m.If(Const(1, 1) if enable is None else enable):
        for part in range(parts):
            # A part takes every ``parts``-th bit, so that the sizes of all parts are equal.
            m.d.sync += equal[part].eq(a[part::parts] == b[part::parts])
    return equal.all()


def exceeds(a: Value, b: Value, or_equals: Value = NEVER) -> Value:
    """Return whether ``a > b``, or ``a >= b`` if ``or_equals``; both are unsigned.

    The answer is the sign of a subtraction, which tools put on a carry chain. For a plain
    comparison they might choose a slower form.
    """
    if isinstance(or_equals, Const):
        return ~(a - b)[-1] if or_equals.value else (b - a)[-1]
    return (Cat(NEVER, b) - Cat(or_equals, a))[-1]


def late_exceeds(
    m: Module,
    a: Value,
    b: Value,
    parameters: TimingParameters,
    or_equals: Value = NEVER,
    *,
    clocks: int = LATENCY,
) -> Value:
    """Return whether ``a > b``, or ``a >= b`` if ``or_equals``, held ``clocks`` clocks ago.

    Both are of the same width and kind, signed or unsigned. Numbers of more than
    ``parameters.order_bits`` are compared in two halves, side by side.
    """
    if a.shape().signed:
        # With its sign bit inverted, a signed number can be compared as an unsigned one.
        a, b = (Cat(value[:-1], ~value[-1]) for value in (a, b))
    if len(a) <= parameters.order_bits:
        return delay(m, exceeds(a, b, or_equals), clocks)
    half = len(a) // 2
    low, high, level = (
        delay(m, flag, clocks)
        for flag in (
            exceeds(a[:half], b[:half], or_equals),
            exceeds(a[half:], b[half:]),
            a[half:] == b[half:],
        )
    )
    return high | (level & low)
