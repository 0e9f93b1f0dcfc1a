"""A running sum of any width at the speed of a short one."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value

from extremum.hdl.timing.alignment import Timed
from extremum.hdl.timing.parameters import TimingParameters


class SegmentedAccumulator:
    """A running sum whose carries wait in registers.

    In each clock the sum becomes ``start`` if ``load``, else ``sum + addend`` if ``enable``, modulo
    ``2**width``. It is cut into segments, each with a carry chain of its own. A segment does in
    clock ``t + CARRY_LATENCY`` what the one below it did in clock ``t``: its inputs wait as long as
    the carry takes.

    Latency: a change is in segment ``n`` after ``1 + n * CARRY_LATENCY`` clocks; in all of
    :attr:`sum` after ``1 + latency``. Throughput: a load or an addition in every clock.

    Parameters
    ----------
    m
        Module to add the logic to.
    parameters
        The timing parameters.
    width
        Bits of the sum.
    segment
        Bits of one carry chain.
    name
        Prefix of the signals.
    load, start
        The sum begins again from ``start``, which must stay for :attr:`latency` clocks after the
        load.
    enable, addend
        The addend, which is read as unsigned, is added. The sum that can be read in this clock is
        that before the addition.
    clock
        The clock of the stage in which the inputs are valid.
    init
        The sum after reset.
    reset_less
        Whether the sum needs no reset, since it is loaded before it is used.

    Attributes
    ----------
    segments : list of Timed
        The sum's bits in pieces, the lowest first; each is valid in a clock of its own.
    """

    CARRY_LATENCY = 2
    """Clocks of the carry from one segment to the next: one to find it, and one for the way."""

    def __init__(
        self,
        m: Module,
        parameters: TimingParameters,
        width: int,
        segment: int,
        name: str,
        *,
        load: Value,
        start: Value,
        enable: Value,
        addend: Value,
        clock: int = 0,
        init: int = 0,
        reset_less: bool = False,
    ):
        self._m, self._full_bits = m, parameters.full_bits
        self.latency = self.latency_of(width, segment)
        self.segments: list[Timed] = []
        loads, enables = (Timed(m, value, clock) for value in (load, enable))
        carry: Timed | None = None
        for number, low in enumerate(range(0, width, segment)):
            now = clock + number * self.CARRY_LATENCY
            bits = range(width)[low : low + segment]
            part = Signal(
                len(bits),
                name=f"{name}_{low}",
                init=init >> low & ((1 << len(bits)) - 1),
                reset_less=reset_less,
            )
            terms = [Timed(m, addend[low : low + segment], clock).at(now)]
            if carry is not None:
                terms.append(carry.at(now))
            terms = [term for term in terms if len(term)]
            total = Signal(len(bits) + 1, name=f"{name}_sum{low}")
            m.d.comb += total.eq(sum(terms, part))
            loads_now, adds_now = loads.at(now), enables.at(now)
            with m.If(loads_now):
                m.d.sync += part.eq(start[low : low + segment])
            with m.Elif(adds_now):
                m.d.sync += part.eq(total)
            self.segments.append(Timed(m, part, now))
            if low + segment < width:
                counts = len(terms) == 1 and len(terms[0]) == 1
                carry = self._full(Cat(part, terms), now) if counts else Timed(m, total[-1], now)

    def _full(self, bits: Value, clock: int) -> Timed:
        """Return whether all bits are set, which is the carry if at most 1 is ever added.

        Gates find it in the two clocks that a carry takes, so no path is longer than the carry
        chain of the segment.
        """
        parts = -(-len(bits) // self._full_bits)
        all_set = (Timed(self._m, bits[part::parts].all(), clock) for part in range(parts))
        return Timed(self._m, Cat(flag.at(clock + 1) for flag in all_set).all(), clock + 1)

    @classmethod
    def latency_of(cls, width: int, segment: int) -> int:
        """Return the clocks by which the last segment is behind the first."""
        return cls.CARRY_LATENCY * max(0, -(-width // segment) - 1)

    @property
    def sum(self) -> Timed:
        """The sum, in the clock in which its last segment is valid."""
        last = self.segments[-1]
        return Timed(self._m, Cat(*(part.at(last.clock) for part in self.segments)), last.clock)

    @property
    def unaligned(self) -> Value:
        """The sum's segments side by side, not delayed to the same clock.

        They are the whole sum once nothing has changed for :attr:`latency` clocks.
        """
        return Cat(*(part.value for part in self.segments))
