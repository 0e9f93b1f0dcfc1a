"""Credits count what is under way, so that no more is let in than there is space for."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value, signed
from amaranth.utils import bits_for

from extremum.hdl.timing.parameters import TimingParameters


class Credits:
    """Counts the credits that are in use, and tells whether another may be taken.

    Whoever lets something into a pipeline that cannot wait takes a credit for it, and returns the
    credit when it has left. So what is let in always finds space at the end.

    Latency: :data:`LATENCY` clocks from a change to the flags. What is let in meanwhile takes
    credits too, so there must be space for more than ``limit``.

    Parameters
    ----------
    m
        Module to add the logic to.
    parameters
        The timing parameters.
    change
        Credits taken less credits returned in this clock. Signed if it can be negative.
    limit
        Another credit may be taken while fewer than this many are in use.
    most
        The most credits that are ever in use at once: ``limit``, and those that are taken before
        the flags tell that it is reached.
    none_in_reset
        During a reset ``available`` is not set, which takes a flip-flop.

    Attributes
    ----------
    available
        Fewer than ``limit`` credits are in use. It comes from a register.
    none_used
        No credit is in use.
    """

    LATENCY = 2
    """Clocks from a change to the flags."""

    def __init__(
        self,
        m: Module,
        parameters: TimingParameters,
        change: Value,
        limit: int,
        *,
        most: int,
        none_in_reset: bool = False,
    ):
        # The register holds the credits in use less the limit, so that its sign is the flag.
        late = Signal(change.shape())
        bits = max(parameters.credit_bits, bits_for(max(limit, most - limit)) + 1)
        above = Signal(signed(bits), init=-limit)
        following = above + late
        m.d.sync += [late.eq(change), above.eq(following)]
        self.available: Value = above[-1]
        if none_in_reset:
            self.available = Signal(name="available")
            m.d.sync += self.available.eq(following[bits - 1])
        self.none_used: Value = above == -limit
