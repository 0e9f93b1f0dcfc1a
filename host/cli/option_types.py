"""What the values of options may be, and how the command line reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import click

__all__ = [
    "FILE",
    "INTEGERS",
    "NAMES",
    "PERCENT",
    "Clock",
    "PerAxis",
    "options_of",
]


class Integers(click.ParamType):
    """Whole numbers separated by commas. A single number is passed on as an int."""

    name = "integers"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | tuple[int, ...]:
        """Parse the text of an option."""
        if not isinstance(value, str):
            return value
        if not re.fullmatch(r"\s*[+-]?\d+\s*(,\s*[+-]?\d+\s*)*", value, re.ASCII):
            self.fail(f"{value!r} is not whole numbers separated by commas", param, ctx)
        try:
            numbers = tuple(int(number) for number in value.split(","))
        except ValueError as error:  # Python reads no number of thousands of digits
            self.fail(str(error), param, ctx)
        return numbers[0] if len(numbers) == 1 else numbers


AXES = 3
"""Dimensions that a window can have: depth, height and width."""


class PerAxis(Integers):
    """Limits of depth, height and width. Those that are left out, outermost first, are 1."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Parse the text of an option."""
        numbers = super().convert(value, param, ctx)
        given = (numbers,) if isinstance(numbers, int) else numbers
        if len(given) > AXES:
            self.fail(f"it has one, two or three numbers, not {len(given)}", param, ctx)
        return (1,) * (AXES - len(given)) + given


SLOWEST, FASTEST = 1e-6, 1e6
"""The range of clocks, in MHz."""


class Clock(click.ParamType):
    """A clock in MHz, or the name of a core whose clock was measured.

    Parameters
    ----------
    measured
        The measured clocks, by name.
    """

    name = "clock"

    def __init__(self, measured: Mapping[str, float]) -> None:
        self.measured = measured

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Parse the text of an option."""
        if value in self.measured:
            return float(self.measured[value])
        try:
            clock = float(value)
        except ValueError:
            clock = 0.0
        if not SLOWEST <= clock <= FASTEST:
            number = f"a number of MHz from {SLOWEST:g} to {FASTEST:g}"
            expected = f"neither {number} nor a preset" if self.measured else f"not {number}"
            self.fail(f"{value!r} is {expected}", param, ctx)
        return clock


class File(click.Path):
    """The name of a file or a folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse an empty text, which as a path is the folder at hand."""
        if value == "":
            self.fail("'' names no file", param, ctx)
        return super().convert(value, param, ctx)


class Names(click.ParamType):
    """Names separated by commas, passed on as a tuple."""

    name = "names"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Parse the text of an option."""
        if not isinstance(value, str):
            return value
        names = tuple(part.strip() for part in value.split(","))
        if not all(names):
            self.fail(f"{value!r} is not names separated by commas", param, ctx)
        return names


FILE = File(path_type=str)
INTEGERS = Integers()
NAMES = Names()
PERCENT = click.IntRange(0, 99)


def options_of(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return one decorator that adds many options. `--help` lists them in this order."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate
