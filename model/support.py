"""Which feature level supports which types and ranks: DirectML's tables, row by row.

The rows are those of the sections "Tensor support" on DirectML's pages DML_ARGMIN_OPERATOR_DESC,
DML_ARGMAX_OPERATOR_DESC, DML_REDUCE_OPERATOR_DESC, DML_MAX_POOLING_OPERATOR_DESC,
DML_MAX_POOLING1_OPERATOR_DESC and DML_MAX_POOLING2_OPERATOR_DESC. Levels after the last row of a
table change nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from extremum.model.types import DataType, FeatureLevel

__all__ = ["Support", "check_support", "support"]

# Every set lists its types one by one: a member that is added to `DataType` is granted to no
# operator until it is added to a set here.
_FLOATS = frozenset({DataType.FLOAT32, DataType.FLOAT16})
_FLOATS_AND_BYTES = frozenset(
    {DataType.FLOAT32, DataType.FLOAT16, DataType.INT8, DataType.UINT8},
)
_FLOATS_AND_WORDS = frozenset(
    {DataType.FLOAT32, DataType.FLOAT16, DataType.INT32, DataType.UINT32},
)
_UP_TO_32_BITS = frozenset(
    {
        DataType.FLOAT32,
        DataType.FLOAT16,
        DataType.INT32,
        DataType.INT16,
        DataType.INT8,
        DataType.UINT32,
        DataType.UINT16,
        DataType.UINT8,
    }
)
_UP_TO_64_BITS = frozenset(
    {
        DataType.FLOAT32,
        DataType.FLOAT16,
        DataType.INT64,
        DataType.INT32,
        DataType.INT16,
        DataType.INT8,
        DataType.UINT64,
        DataType.UINT32,
        DataType.UINT16,
        DataType.UINT8,
    }
)

_NONE: frozenset[DataType] = frozenset()
_U32 = frozenset({DataType.UINT32})
_UNSIGNED = frozenset({DataType.UINT32, DataType.UINT64})
_INDICES = frozenset({DataType.UINT32, DataType.UINT64, DataType.INT32, DataType.INT64})

_ANY_RANK = tuple(range(1, 9))
_POOLED = (4, 5)


@dataclass(frozen=True)
class Support:
    """One row of an operator's table: what it takes from a feature level on, until the next row.

    Attributes
    ----------
    since : FeatureLevel
        The first level for which the row holds.
    data_types : frozenset of DataType
        Element types of the input.
    index_types : frozenset of DataType
        Types of the output that holds positions; empty if there is no such output.
    ranks : tuple of int
        Ranks of the input.
    """

    since: FeatureLevel
    data_types: frozenset[DataType]
    index_types: frozenset[DataType]
    ranks: tuple[int, ...]


_Row: TypeAlias = tuple[str, frozenset[DataType], frozenset[DataType], tuple[int, ...]]


def _rows(*rows: _Row) -> tuple[Support, ...]:
    """Build a table from rows of feature level, data types, index types and ranks."""
    return tuple(Support(FeatureLevel.of(row[0]), *row[1:]) for row in rows)


_ARG = _rows(
    ("3_0", _UP_TO_32_BITS, _INDICES, _ANY_RANK), ("4_1", _UP_TO_64_BITS, _INDICES, _ANY_RANK)
)
_REDUCE_ARG = _rows(
    ("1_0", _FLOATS, _U32, (4,)),
    ("2_1", _UP_TO_32_BITS, _U32, (4,)),
    ("3_0", _UP_TO_32_BITS, _INDICES, _ANY_RANK),
    ("4_1", _UP_TO_64_BITS, _INDICES, _ANY_RANK),
)
_REDUCE_VALUE = _rows(
    ("1_0", _FLOATS, _NONE, (4,)),
    ("2_1", _FLOATS_AND_WORDS, _NONE, (4,)),
    ("3_0", _UP_TO_32_BITS, _NONE, _ANY_RANK),
    ("5_0", _UP_TO_64_BITS, _NONE, _ANY_RANK),
)

_TABLE: dict[str, tuple[Support, ...]] = {
    "ARGMIN": _ARG,
    "ARGMAX": _ARG,
    "REDUCE ARGMIN": _REDUCE_ARG,
    "REDUCE ARGMAX": _REDUCE_ARG,
    "REDUCE MIN": _REDUCE_VALUE,
    "REDUCE MAX": _REDUCE_VALUE,
    "MAX_POOLING": _rows(
        ("1_0", _FLOATS, _NONE, _POOLED),
        ("3_0", _FLOATS_AND_BYTES, _NONE, _POOLED),
        ("5_0", _UP_TO_64_BITS, _NONE, _POOLED),
    ),
    "MAX_POOLING1": _rows(
        ("2_0", _FLOATS, _U32, _POOLED),
        ("3_0", _FLOATS_AND_BYTES, _U32, _POOLED),
        ("5_0", _UP_TO_64_BITS, _UNSIGNED, _POOLED),
    ),
    "MAX_POOLING2": _rows(
        ("2_1", _FLOATS, _U32, _POOLED),
        ("3_0", _FLOATS_AND_BYTES, _U32, _POOLED),
        ("5_0", _UP_TO_64_BITS, _UNSIGNED, _POOLED),
    ),
}


def support(operator: str, feature_level: FeatureLevel | str) -> Support:
    """Look up the row that holds for an operator at a feature level.

    Parameters
    ----------
    operator : str
        Its name in DirectML, such as ``"MAX_POOLING2"``. The name of REDUCE is followed by its
        function: ``"REDUCE ARGMIN"``.
    feature_level : FeatureLevel or str

    Returns
    -------
    Support

    Raises
    ------
    ValueError
        If there is no such operator, or if it was introduced by a later level.

    Examples
    --------
    Level 4_1 introduced 64-bit elements to ARGMAX.

    >>> DataType.INT64 in support("ARGMAX", "4_0").data_types
    False
    >>> DataType.INT64 in support("ARGMAX", "4_1").data_types
    True
    """
    level = FeatureLevel.of(feature_level)
    if operator not in _TABLE:
        raise ValueError(f"operator must be one of {', '.join(_TABLE)}, not {operator!r}")
    rows = _TABLE[operator]
    if level < rows[0].since:
        raise ValueError(f"{operator} needs feature level {rows[0].since} or later, not {level}")
    return next(row for row in reversed(rows) if row.since <= level)


def check_support(
    operator: str,
    feature_level: FeatureLevel | str,
    *,
    data_type: DataType,
    rank: int,
    index_type: DataType | None = None,
) -> None:
    """Check types and rank against the row that holds at a feature level.

    Raises
    ------
    TypeError
        If the level does not support the type of the elements or of the positions.
    ValueError
        If it does not support the operator or the rank.
    """
    row = support(operator, feature_level)
    at = f"{operator} at feature level {FeatureLevel.of(feature_level)}"
    if data_type not in row.data_types:
        raise TypeError(f"{at} takes {_names(row.data_types)}, not {data_type.name}")
    if index_type is not None and index_type not in row.index_types:
        raise TypeError(f"{at} gives indices as {_names(row.index_types)}, not {index_type.name}")
    if rank not in row.ranks:
        raise ValueError(f"{at} takes rank {', '.join(map(str, row.ranks))}, not {rank}")


def _names(types: frozenset[DataType]) -> str:
    return ", ".join(member.name for member in DataType if member in types)
