"""Which feature level allows which types and ranks: DirectML's tables, row by row."""

from __future__ import annotations

from dataclasses import dataclass

from .types import DataType, FeatureLevel

__all__ = ["Support", "support"]

_FLOATS = frozenset({DataType.FLOAT32, DataType.FLOAT16})
_ALL10 = frozenset(DataType)
_ALL8 = _ALL10 - {DataType.INT64, DataType.UINT64}
_WORDS = frozenset({DataType.INT32, DataType.UINT32})
_BYTES = frozenset({DataType.INT8, DataType.UINT8})

_NONE: frozenset[DataType] = frozenset()
_U32 = frozenset({DataType.UINT32})
_UNSIGNED = frozenset({DataType.UINT32, DataType.UINT64})
_INDICES = _UNSIGNED | {DataType.INT32, DataType.INT64}

_ANY_RANK = tuple(range(1, 9))
_POOLED = (4, 5)


@dataclass(frozen=True)
class Support:
    """What an operator takes from a feature level on, until its next row."""

    since: FeatureLevel
    data_types: frozenset[DataType]
    index_types: frozenset[DataType]
    ranks: tuple[int, ...]


def _rows(*rows: tuple[str, frozenset[DataType], frozenset[DataType], tuple[int, ...]]):
    return tuple(Support(FeatureLevel.of(row[0]), *row[1:]) for row in rows)


_ARG = _rows(("3_0", _ALL8, _INDICES, _ANY_RANK), ("4_1", _ALL10, _INDICES, _ANY_RANK))
_REDUCE_ARG = _rows(
    ("1_0", _FLOATS, _U32, (4,)),
    ("2_1", _ALL8, _U32, (4,)),
    ("3_0", _ALL8, _INDICES, _ANY_RANK),
    ("4_1", _ALL10, _INDICES, _ANY_RANK),
)
_REDUCE_VALUE = _rows(
    ("1_0", _FLOATS, _NONE, (4,)),
    ("2_1", _FLOATS | _WORDS, _NONE, (4,)),
    ("3_0", _ALL8, _NONE, _ANY_RANK),
    ("5_0", _ALL10, _NONE, _ANY_RANK),
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
        ("3_0", _FLOATS | _BYTES, _NONE, _POOLED),
        ("5_0", _ALL10, _NONE, _POOLED),
    ),
    "MAX_POOLING1": _rows(
        ("2_0", _FLOATS, _U32, _POOLED),
        ("3_0", _FLOATS | _BYTES, _U32, _POOLED),
        ("5_0", _ALL10, _UNSIGNED, _POOLED),
    ),
    "MAX_POOLING2": _rows(
        ("2_1", _FLOATS, _U32, _POOLED),
        ("3_0", _FLOATS | _BYTES, _U32, _POOLED),
        ("5_0", _ALL10, _UNSIGNED, _POOLED),
    ),
}


def support(operator: str, feature_level: FeatureLevel | str) -> Support:
    """Find the row that holds for an operator at a feature level.

    Parameters
    ----------
    operator : str
        Its name in DirectML, such as ``"MAX_POOLING2"``; ``"REDUCE"`` with its function.
    feature_level : FeatureLevel or str

    Raises
    ------
    ValueError
        If the operator came later.

    Examples
    --------
    64-bit elements came to ARGMAX with level 4_1.

    >>> DataType.INT64 in support("ARGMAX", "4_0").data_types
    False
    >>> DataType.INT64 in support("ARGMAX", "4_1").data_types
    True
    """
    level = FeatureLevel.of(feature_level)
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
    """Check types and rank against the row that holds.

    Raises
    ------
    TypeError
        If the type of the elements or of the indices came later.
    ValueError
        If the operator or the rank came later.
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
