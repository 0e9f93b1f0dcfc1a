"""Pseudo-random stalls: the same seed stalls the same clocks, in every simulator."""

from __future__ import annotations

_MASK = (1 << 32) - 1


class Stalls:
    """Decides, clock by clock, whether one side of a stream rests.

    The generator is xorshift32 (shifts 13, 17, 5), started from ``2 * seed + 1`` times
    0x9E3779B9, modulo 2**32, and stepped before each use. A clock is a stall if the upper 16 bits
    times 100, divided by 65536, are below the rate.

    Parameters
    ----------
    rate
        Percentage of stalled clocks, 0 to 99.
    seed
        Selects the sequence.
    """

    def __init__(self, rate: int, seed: int) -> None:
        self.rate = rate
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
        return self.rate > 0 and (self.word() >> 16) * 100 >> 16 < self.rate
