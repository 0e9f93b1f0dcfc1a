"""Small tables as gates, for indices of which some never come."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from amaranth.hdl import Cat, Const, Value


def look_up(index: Value, rows: Mapping[int, int], width: int) -> Value:
    """Return what a table has at an index.

    What comes for an index without a row does not matter, so each bit of the result depends on as
    few bits of the index as the rows allow.

    Parameters
    ----------
    index
        The index.
    rows
        For each index that may come, a number of ``width`` bits.
    width
        Bits of the result.
    """
    columns = ({at: row >> bit & 1 for at, row in rows.items()} for bit in range(width))
    tables = (_completed(column, len(index)) for column in columns)
    return Cat(Const(table, 1 << len(index)).bit_select(index, 1) for table in tables)


def is_one_of(number: Value, members: Collection[int], among: Iterable[int]) -> Value:
    """Return whether ``number`` is in ``members``.

    It must be in ``among``: for others the result is arbitrary, which saves gates.
    """
    return look_up(number, {own: int(own in members) for own in among}, 1)


def _completed(rows: Mapping[int, int], bits: int) -> int:
    """Return a table of ``2**bits`` bits, of which some rows are given, as one number.

    Where the halves of the table do not contradict each other, they become equal.
    """
    if not bits:
        return max(rows.values(), default=0)
    half = 1 << bits - 1
    lower = {at: bit for at, bit in rows.items() if at < half}
    upper = {at - half: bit for at, bit in rows.items() if at >= half}
    if all(lower[at] == upper[at] for at in lower.keys() & upper):
        return _completed(lower | upper, bits - 1) * (1 | 1 << half)
    return _completed(upper, bits - 1) << half | _completed(lower, bits - 1)
