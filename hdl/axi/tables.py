"""Small tables as gates, for indices of which only some ever come."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from amaranth.hdl import Cat, Const, Mux, Value


def look_up(index: Value, rows: Mapping[int, int], width: int) -> Value:
    """Return what a table of numbers of ``width`` bits has at an index.

    What comes for an index without a row does not matter, so that each bit of the result depends
    on few bits of the index.
    """
    return Cat(
        _choose(index, {at: row >> bit & 1 for at, row in rows.items()}) for bit in range(width)
    )


def is_one_of(number: Value, members: Collection[int], among: Iterable[int]) -> Value:
    """Return whether a number is one of some, if it is known to be one of ``among``."""
    return look_up(number, {own: int(own in members) for own in among}, 1)


def _choose(index: Value, rows: Mapping[int, int]) -> Value:
    """Return the bit that rows have at an index, by multiplexers over its bits from the highest.

    Where both halves of the rows agree, as far as they have rows, the bit needs no multiplexer.
    """
    bits = set(rows.values())
    if len(bits) < 2:
        return Const(*bits or {0}, 1)
    highest = len(index) - 1
    lower = {at: bit for at, bit in rows.items() if not at >> highest}
    upper = {at % (1 << highest): bit for at, bit in rows.items() if at >> highest}
    if all(lower[at] == upper[at] for at in lower.keys() & upper):
        return _choose(index[:highest], lower | upper)
    return Mux(index[highest], _choose(index[:highest], upper), _choose(index[:highest], lower))
