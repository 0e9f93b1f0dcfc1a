"""What the fields of a case may hold, for cases that people write or change by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, NamedTuple

from extremum.tb.regression.faults import FAULTS
from extremum.tb.regression.tensors import FILLS

COUNTS = 1 << 31
"""Seeds and numbers of things in a case are below this."""

CLOCKS = 1 << 24
"""Clocks in a case are below this, so that each case ends within minutes."""


class _Kind(NamedTuple):
    """What a field holds, in words and as a test."""

    words: str
    fits: Callable[[Any], bool]


def checked_fields(given: object, kind: type) -> dict[str, Any]:
    """Return the fields of a case, a batch or an item, as JSON gives them, if each may be so.

    Parameters
    ----------
    given
        What stands in the JSON.
    kind
        Its dataclass: see :mod:`extremum.tb.regression.case`.

    Raises
    ------
    ValueError
        It is no object, or a field is missing, unknown, or holds what it must not.
    """
    name = kind.__name__.lower()
    if not isinstance(given, dict):
        raise ValueError(f"a {name} must be an object, not {given!r}")
    known = {each.name: each for each in fields(kind)}
    needed = {
        each.name
        for each in known.values()
        if each.default is MISSING and each.default_factory is MISSING
    }
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(f"a {name} has no field {unknown[0]!r}, only {', '.join(known)}")
    if missing := sorted(needed - set(given)):
        raise ValueError(f"the {name} lacks the field {missing[0]!r}")
    for field, value in given.items():
        words, fits = _KINDS.get(field, _COUNT)
        if not fits(value):
            raise ValueError(f"{field!r} must be {words}, not {value!r}")
    return given


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < COUNTS


def _is_clock(value: object) -> bool:
    return type(value) is int and 0 <= value < CLOCKS


def _is_percentage(value: object) -> bool:
    return type(value) is int and 0 <= value <= 100


def _are_rests(value: object) -> bool:
    """Tell whether a value is a percentage, or pairs of clocks and a percentage.

    The last one stays, and with 100 nothing would ever move.
    """
    pairs = value if isinstance(value, list) else [[0, value]]
    if not all(
        isinstance(pair, list) and len(pair) == 2 and _is_clock(pair[0]) and _is_percentage(pair[1])
        for pair in pairs
    ):
        return False
    return not pairs or pairs[-1][1] < 100


def _is_one_of(*names: str) -> _Kind:
    return _Kind(f"one of {', '.join(names)}", lambda value: value in names)


def _or_none(kind: _Kind) -> _Kind:
    return _Kind(f"null or {kind.words}", lambda value: value is None or kind.fits(value))


_COUNT = _Kind(f"a number from 0 to {COUNTS - 1}", _is_count)
_PERCENTAGE = _Kind("a percentage", _is_percentage)
_CLOCK = _Kind(f"a number of clocks from 0 to {CLOCKS - 1}", _is_clock)
_RESTS = _Kind("a percentage, or pairs of clocks and a percentage, below 100 at last", _are_rests)
_LIST = _Kind("a list that is not empty", lambda value: isinstance(value, list) and value != [])
_KINDS = {
    "target": _Kind("a name", lambda value: isinstance(value, str)),
    "batches": _LIST,
    "items": _LIST,
    "input_stalls": _RESTS,
    "output_stalls": _RESTS,
    "job_stalls": _RESTS,
    "reset_after": _or_none(_CLOCK),
    "reset_clocks": _CLOCK,
    "accesses": _PERCENTAGE,
    "operator": _is_one_of("reduction", "pooling"),
    "arguments": _Kind("an object", lambda value: isinstance(value, dict)),
    "fill": _is_one_of(*FILLS),
    "refused": _or_none(_COUNT),
    "jobs": _Kind(f"a number from 1 to {COUNTS - 1}", lambda value: _is_count(value) and value > 0),
    "fault": _or_none(_is_one_of(*FAULTS)),
}
"""What each field holds; one that is not named here is a count."""
