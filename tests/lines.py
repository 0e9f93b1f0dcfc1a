"""A simple model of a pooled dimension: windows as sets of elements, slots counted one by one."""

import itertools
import random
from dataclasses import dataclass, replace

from extremum.hdl.job import DimensionRegisters
from extremum.host.plan.registers import dimension_registers
from extremum.model import SpatialDimension


def small_dimensions(most=4, windows=4, strides=4, dilations=3, paddings=4):
    """Yield every dimension whose windows fit and whose parameters are below the given limits."""
    for size, window, stride, dilation, start, end in itertools.product(
        range(1, most),
        range(1, windows),
        range(1, strides),
        range(1, dilations),
        range(paddings),
        range(paddings),
    ):
        if 1 + (window - 1) * dilation <= start + size + end:
            yield SpatialDimension(size, window, stride, dilation, start, end)


def random_dimensions(count, most_window, seed, padding=True):
    """Yield random dimensions of up to 20 elements, with padding or without any."""
    rng = random.Random(seed)
    while count:
        size, window = rng.randint(1, 20), rng.randint(1, most_window)
        dilation = rng.randint(1, 4)
        start, end = (rng.choice((0, 1, 3, 9)) if padding else 0 for _ in range(2))
        if 1 + (window - 1) * dilation <= start + size + end:
            yield SpatialDimension(size, window, rng.randint(1, 6), dilation, start, end)
            count -= 1


@dataclass(frozen=True)
class Line:
    """A dimension, and the registers that the host computes for it.

    The line of windows begins in the slot of the first window. In a core without padding it is the
    line of the elements instead: then ``within`` is set.
    """

    dimension: SpatialDimension
    registers: DimensionRegisters
    within: bool = False

    @classmethod
    def of(cls, dimension, within=False, fixed_window=None):
        (registers,) = dimension_registers([dimension], [1], [fixed_window])
        return cls(dimension, registers, within)

    def longer(self, slots):
        """Return the same line with more slots than it needs."""
        period = self.registers.period + slots
        return replace(self, registers=replace(self.registers, period=period))

    def elements(self, number):
        """Return the elements that a window meets, by the definition of a window."""
        d = self.dimension
        first = number * d.stride - d.start_padding
        taps = range(first, first + d.window * d.dilation, d.dilation)
        return {tap for tap in taps if 0 <= tap < d.size}

    @property
    def places(self):
        """The coordinate of the slot in which each window is given."""
        r, outputs = self.registers, self.dimension.outputs
        return [*(r.head + number * r.stride for number in range(outputs - 1)), r.final]

    @property
    def begin(self):
        """The slot in which the line of windows begins."""
        return 0 if self.within else max(self.registers.head, 0)

    def element_in(self, slot):
        """Return the element that a slot takes, or None; and whether its line of elements ends."""
        place = slot % self.registers.period
        element = place - self.registers.lead
        inside = 0 <= element < self.dimension.size
        return element if inside else None, place == self.registers.period - 1

    def window_in(self, slot):
        """Return the number of the window given in a slot, or None; and whether its line ends."""
        since = slot - self.begin
        if since < 0:
            return None, False
        place = since % self.registers.period
        coordinate = self.coordinate(slot)
        number = self.places.index(coordinate) if coordinate in self.places else None
        return number, place == self.registers.period - 1

    def coordinate(self, slot):
        """Return the coordinate of a slot in the line of windows."""
        since = slot - self.begin
        begin = 0 if self.within else self.registers.head
        return begin + (since if since < 0 else since % self.registers.period)
