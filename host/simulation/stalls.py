"""Pseudo-random stalls: the same seed stalls the same clocks, in every simulator."""

from __future__ import annotations

from collections.abc import Sequence

Phases = Sequence[Sequence[int]]
"""Stalls that change: (clocks, percentage), one after the other; the last pair stays."""

_MASK = (1 << 32) - 1


class Stalls:
    """Decides, clock by clock, whether one side of a stream rests.

    The generator is xorshift32 (shifts 13, 17, 5), started from ``2 * seed + 1`` times
    0x9E3779B9, modulo 2**32, and stepped before each use. A clock is a stall if the upper 16 bits
    times 100, divided by 65536, are below the rate.

    Parameters
    ----------
    rate
        Percentage of stalled clocks, 0 to 100; or phases, each with a percentage of its own.
    seed
        Selects the sequence.
    """

    def __init__(self, rate: int | Phases, seed: int) -> None:
        self._phases = iter([] if isinstance(rate, int) else rate)
        self._left = 0
        self.rate = rate if isinstance(rate, int) else 0
        self._changing = not isinstance(rate, int)
        self._state = (2 * seed + 1) * 0x9E3779B9 & _MASK

    def word(self) -> int:
        """Return 32 pseudo-random bits."""
        state = self._state
        state ^= state << 13 & _MASK
        state ^= state >> 17
        state ^= state << 5 & _MASK
        self._state = state
        return state

    def __call__(self) -> bool:
        """Return whether the next clock is a stall."""
        if self._changing:
            self._change()
        return self.rate > 0 and (self.word() >> 16) * 100 >> 16 < self.rate

    def _change(self) -> None:
        """Go to the next phase when the present one is over."""
        while self._left == 0:
            phase = next(self._phases, None)
            if phase is None:
                self._changing = False
                return
            self._left, self.rate = phase
        self._left -= 1
