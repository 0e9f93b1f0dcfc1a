"""A pooling of any small geometry, with the registers that the host computes for it.

The registers of one dimension are those of the host, in a table of all its geometries. What
follows from several dimensions is computed here, by formulas that serve numbers as well as signals:
a test compares them with the host's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value, signed

from extremum.host.plan.registers import dimension_registers
from extremum.model import SpatialDimension
from extremum.tb.formal.property import Property

OF_DIMENSION = ("window", "stride", "size", "head", "period", "regular", "final", "shift")
"""The registers that follow from one dimension alone."""


@dataclass(frozen=True)
class Range:
    """The geometries of one dimension that are looked at: each value up to a bound.

    Parameters
    ----------
    size, window, stride, dilation, padding
        The largest of each; that of the padding is for either end.
    """

    size: int
    window: int
    stride: int
    dilation: int
    padding: int

    def dimensions(self) -> list[SpatialDimension]:
        """Return all geometries in which a window fits."""
        return list(possible(itertools.product(
            *(range(1, most + 1) for most in (self.size, self.window, self.stride, self.dilation)),
            range(self.padding + 1), range(self.padding + 1),
        )))  # fmt: skip


def possible(tried: Iterable[tuple[int, ...]]) -> Iterable[SpatialDimension]:
    """Yield the dimensions in which a window fits; of a single tap only those without dilation."""
    for size, window, stride, dilation, start, end in tried:
        fits = (window - 1) * dilation < size + start + end
        if fits and (window > 1 or dilation == 1):
            yield SpatialDimension(size, window, stride, dilation, start, end)


@dataclass(frozen=True)
class Line:
    """One dimension of a pooling: its geometry and its registers, as numbers or as signals.

    ``window`` and ``dilation`` are those of the operator, ``registers`` the core's, which may leave
    taps out.
    """

    size: Any
    window: Any
    stride: Any
    dilation: Any
    start: Any
    outputs: Any
    registers: dict[str, Any]

    @classmethod
    def of(cls, dimension: SpatialDimension) -> Line:
        """Return the line of a dimension, with the host's registers."""
        (host,) = dimension_registers([dimension], [0])
        registers = {name: getattr(host, name) for name in (*OF_DIMENSION, "dilation")}
        return cls(
            dimension.size, dimension.window, dimension.stride, dimension.dilation,
            dimension.start_padding, dimension.outputs, registers,
        )  # fmt: skip

    @classmethod
    def any(cls, p: Property, name: str, dimensions: list[SpatialDimension]) -> Line:
        """Return the line of any one of some dimensions, in signals that never change."""
        lines = [cls.of(dimension) for dimension in dimensions]
        which = p.constant(f"{name}_geometry", range(len(lines)))
        p.assume(which < len(lines))
        geometry = {
            part: _looked_up(p, f"{name}_{part}", which, [getattr(line, part) for line in lines])
            for part in ("size", "window", "stride", "dilation", "start", "outputs")
        }
        registers = {
            part: _looked_up(
                p, f"{name}_register_{part}", which, [line.registers[part] for line in lines]
            )
            for part in lines[0].registers
        }
        return cls(**geometry, registers=registers)

    def coordinate(self, output: Any, tap: Any) -> Any:
        """Return the coordinate of a tap of a window: an element's, or one in the padding."""
        return output * self.stride + tap * self.dilation - self.start

    def has(self, coordinate: Any) -> Any:
        """Return whether there is an element at a coordinate."""
        return (coordinate >= 0) & (coordinate < self.size)


def _looked_up(p: Property, name: str, which: Value, column: list[int]) -> Value:
    """Return the entry of a column of a table."""
    low, high = min(column), max(column)
    bits = max(high.bit_length(), (-low).bit_length(), 1)
    value = Signal(signed(bits + 1) if low < 0 else bits, name=name)
    with p.m.Switch(which):
        for number, entry in enumerate(column):
            with p.m.Case(number):
                p.m.d.comb += value.eq(entry)
    p.shown.append(name)
    return value


def pooling_registers(height: Line, width: Line, groups: Any) -> dict[str, Any]:
    """Return the registers of a pooling of planes, each in a group of its own.

    Positions count the whole tensor in row-major order.
    """
    plane, within = height.size * width.size, (width.outputs - 1) * width.stride
    whole = within + (height.outputs - 1) * height.stride * width.size
    registers = {
        "volumes": groups,
        "groups": groups,
        "slots": _slots(height.registers, width.registers, groups),
        "origin": height.registers["head"] * width.size + width.registers["head"],
        "group_step": plane - whole,
        "width.spacing": _one_tap(width, width.registers["dilation"]),
        "width.position_step": width.stride,
        "width.tap_step": -width.registers["dilation"],
        "height.spacing": _one_tap(height, height.registers["dilation"] * width.outputs),
        "height.position_step": height.stride * width.size - within,
        "height.tap_step": -height.registers["dilation"] * width.size,
    }
    for name, line in (("height", height), ("width", width)):
        registers |= {f"{name}.{part}": value for part, value in line.registers.items()}
    return registers


def _one_tap(line: Line, otherwise: Any) -> Any:
    """Return 1 for a window of one tap, which stores nothing."""
    return choose(line.registers["window"] == 1, 1, otherwise)


def _slots(height: dict[str, Any], width: dict[str, Any], groups: Any) -> Any:
    """Return the slots up to that of the last element or of the last window."""

    def number(row: Any, column: Any) -> Any:
        lines = [(height, row), (width, column)]
        place: Any = groups - 1
        for line, coordinate in lines:
            lead = choose(line["head"] < 0, -line["head"], 0)
            place = place * line["period"] + lead + coordinate
        return place

    last_element = number(height["size"] - 1, width["size"] - 1)
    last_window = number(height["final"], width["final"])
    return choose(last_element > last_window, last_element, last_window) + 1


def choose(condition: Any, one: Any, other: Any) -> Any:
    """Return one of two numbers, or one of two signals."""
    if isinstance(condition, Value):
        return Mux(condition, one, other)
    return one if condition else other


def kept(m: Module, name: str, value: Any, shape: Any) -> Signal:
    """Return a value in a signal of so many bits."""
    signal = Signal(shape, name=name)
    m.d.comb += signal.eq(value)
    return signal
