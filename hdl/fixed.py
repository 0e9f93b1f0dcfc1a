"""Which job registers may be fixed when a core is generated, and to which values.

A fixed register leaves the job port, and hardware is generated for its value alone. So a value that
no job of the core asks for would give a core that no job can use, or one that computes something
else than its operators say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from extremum.model.checks import integer

from .register_table import (
    DIMENSIONS,
    absent_registers,
    all_bits,
    is_indifferent,
    register_names,
    value_range,
)

if TYPE_CHECKING:
    from .config import CoreConfig

REASONS = {
    "data_type": "the core has one type",
    "minimum": "operators leaves no choice of minimum or maximum",
    "length": "operators has neither argmin nor argmax",
    "decreasing": "operators has neither argmin nor argmax",
    "fold": "folding needs argmin or argmax, and lanes a power of two above 1",
    "ignore_nan": "no type of the core has NaN",
    "tail": "the core has one lane",
}
"""The reason why a core can be without a register, by the register's name."""

Rule = tuple[tuple[str, ...], Callable[..., bool], str]

JOB_RULES: tuple[Rule, ...] = (
    (("slots", "length"), lambda slots, length: slots % length == 0,
     "slots must be a multiple of length"),
    (("slots", "length", "groups"),
     lambda slots, length, groups: length == 1 or slots == length * groups,
     "slots must be length times groups in a reduction"),
    (("slots", "length", "volumes"),
     lambda slots, length, volumes: length == 1 or slots == volumes,
     "volumes must equal slots in a reduction"),
)  # fmt: skip
"""Rules for the registers of a job: their names, the rule as a function, and the rule in words."""

LINE_RULES: tuple[Rule, ...] = (
    (("window", "spacing"), lambda window, spacing: window > 1 or spacing == 1,
     "spacing must be 1 for a window of one tap"),
    (("window", "shift"), lambda window, shift: shift < window,
     "shift must be smaller than window"),
    (("window", "dilation", "head"),
     lambda window, dilation, head: head <= (window - 1) * dilation,
     "head must be at most (window - 1) * dilation, less by the start padding"),
    (("window", "dilation", "spacing"),
     lambda window, dilation, spacing: window == 1 or spacing % dilation == 0,
     "spacing must be a multiple of dilation"),
    (("size", "period"), lambda size, period: size <= period,
     "period must be at least size"),
    (("regular", "final"), lambda regular, final: regular <= final,
     "final must be at least regular"),
)  # fmt: skip
"""Rules for the registers of each dimension."""

UNPADDED_RULES: tuple[Rule, ...] = (
    (("window", "dilation", "head"),
     lambda window, dilation, head: head == (window - 1) * dilation,
     "head must be (window - 1) * dilation in a core without padding"),
    (("size", "period"), lambda size, period: size == period,
     "period must equal size in a core without padding"),
)  # fmt: skip
"""More rules for the registers of each dimension, if windows never reach into padding."""


def check_fixed(config: CoreConfig) -> None:
    """Refuse fixed registers that no job of the core asks for.

    Raises
    ------
    TypeError
        ``config.fixed`` does not hold pairs of a name and an integer.
    ValueError
        A register does not exist or is given twice, the core does not have it, or a value is out
        of range or at odds with another one.
    """
    _check_form(config)
    absent = absent_registers(config)
    for name, value in config.fixed:
        if name not in absent:
            low, high = _limits(config, name)
            if not low <= value <= high:
                raise ValueError(f"fixed: {name} must be from {low} to {high}, not {value}")
        elif is_indifferent(name) and name != "ignore_nan":
            raise ValueError(
                f"fixed: this core has no use for {name}, and takes jobs of any value: leave it out"
            )
        elif value != absent[name]:
            raise ValueError(
                f"fixed: {name} must be {absent[name]}, not {value}, since {_reason(config, name)}"
                ": change that, or leave the register out"
            )
    known = {name: value for name, value in absent.items() if not is_indifferent(name)}
    known |= dict(config.fixed)
    _check_rules("", JOB_RULES, known)
    for axis in config.axes:
        _check_rules(f"{DIMENSIONS[axis]}.", LINE_RULES, known)
        if not config.padding:
            _check_rules(f"{DIMENSIONS[axis]}.", UNPADDED_RULES, known)
    _check_pooling(config, known)
    _check_positions(config, known)


def _check_form(config: CoreConfig) -> None:
    """Refuse anything but a tuple of pairs of a name and an integer, with each name once."""
    if not isinstance(config.fixed, tuple) or not all(
        isinstance(pair, tuple) and len(pair) == 2 for pair in config.fixed
    ):
        raise TypeError(f"fixed must be a tuple of (register, value), not {config.fixed!r}")
    names, seen = register_names(), dict[str, int]()
    for name, value in config.fixed:
        if name not in names:
            raise ValueError(
                f"fixed: there is no job register {name!r}: it must be one of {', '.join(names)}"
            )
        integer(f"fixed: {name}", value, None)
        if name in seen:
            raise ValueError(
                f"fixed: {name} must be given once, not as {seen[name]} and as {value}"
            )
        seen[name] = value


def _limits(config: CoreConfig, name: str) -> tuple[int, int]:
    """Return the least and the greatest value of a register that a job of the core may have."""
    limits = {"tail": (1, config.lanes), "data_type": (0, len(config.data_types) - 1)}
    for axis, dimension in enumerate(DIMENSIONS):
        limits |= {
            f"{dimension}.window": (1, config.max_window[axis]),
            # The limit is the storage: on shorter lines a dilation may exceed max_dilation.
            f"{dimension}.dilation": (1, config.max_spacing[axis]),
            f"{dimension}.shift": (0, config.max_window[axis] - 1),
            f"{dimension}.spacing": (1, config.max_spacing[axis]),
        }
    return limits.get(name) or value_range(name, all_bits(config)[name])


def _reason(config: CoreConfig, name: str) -> str:
    """Return why the core does not have a register."""
    dimension, _, part = name.rpartition(".")
    if not dimension:
        return REASONS[part]
    if config.max_window[DIMENSIONS.index(dimension)] == 1:
        return f"max_window is 1 in {dimension}"
    return "padding is False" if part == "shift" else f"max_dilation is 1 in {dimension}"


def _check_rules(prefix: str, rules: tuple[Rule, ...], known: dict[str, int]) -> None:
    for parts, holds, words in rules:
        names = [prefix + part for part in parts]
        if all(name in known for name in names) and not holds(*(known[name] for name in names)):
            values = ", ".join(f"{name} {known[name]}" for name in names)
            raise ValueError(f"fixed: {words}, not {values}")


def _check_pooling(config: CoreConfig, known: dict[str, int]) -> None:
    """Refuse registers that only a reduction uses together with a window of a pooling."""
    windows = [f"{name}.window" for name in DIMENSIONS if known.get(f"{name}.window", 1) > 1]
    for name, value in _of_reductions(known):
        if windows:
            raise ValueError(
                f"fixed: {name} must be {value} beside a {windows[0]} of {known[windows[0]]}, not "
                f"{known[name]}: a window of more than one tap is a max pooling"
            )
    volumes, groups = known.get("volumes"), known.get("groups")
    pools = windows or not config.has_reduction
    if pools and volumes is not None and groups is not None and volumes != groups:
        raise ValueError(
            f"fixed: volumes must equal groups in a max pooling, not {volumes} and {groups}"
        )


def _check_positions(config: CoreConfig, known: dict[str, int]) -> None:
    """Refuse rows so long that positions, which are all that leaves the core, do not fit."""
    length, limit = known.get("length"), (1 << config.index_width) - 1
    if length is None or config.has_values:
        return
    # Of a row that is folded, the last beat may carry a single element.
    last = (length - 1) * (config.lanes if known.get("fold") else 1)
    if last >= limit:
        raise ValueError(
            f"fixed: length {length} gives positions to {last} at least, which must be less than "
            f"{limit}, the mark of an empty window: index_width {config.index_width} is too small"
        )


def _of_reductions(known: dict[str, int]) -> Iterator[tuple[str, int]]:
    """Yield the known registers whose value no pooling uses, and the value that poolings use."""
    pooling = {"minimum": 0, "decreasing": 0, "fold": 0, "length": 1}
    for name, value in pooling.items():
        if known.get(name, value) != value:
            yield name, value
