"""Which types, index types and ranks each feature level supports, operator by operator."""

import importlib.util
import sys
from enum import Enum
from itertools import pairwise
from typing import Any

import pytest
from strategies import INDEX_TYPES, TYPES

import extremum.model.support
import extremum.model.types
from extremum.model import (
    ArgMaxOperatorDesc,
    ArgMinOperatorDesc,
    BufferTensorDesc,
    DataType,
    FeatureLevel,
    MaxPooling1OperatorDesc,
    MaxPooling2OperatorDesc,
    MaxPoolingOperatorDesc,
    ReduceFunction,
    ReduceOperatorDesc,
)
from extremum.model.support import support


def tensor(name, *shape, **more):
    return BufferTensorDesc(DataType(name), shape, **more)


ALL8 = {name for name in TYPES if "64" not in name}
FLOATS = {"float32", "float16"}
BYTES = FLOATS | {"int8", "uint8"}
U32, UNSIGNED, ALL4 = {"uint32"}, {"uint32", "uint64"}, set(INDEX_TYPES)
EVERY_RANK = set(range(1, 9))
# The tables of DirectML, written out level by level: types, index types, ranks.
LEVELS = {
    "ARGMIN": {"3_0": (ALL8, ALL4, EVERY_RANK), "4_1": (set(TYPES), ALL4, EVERY_RANK)},
    "MAX_POOLING": {
        "1_0": (FLOATS, set(), {4, 5}),
        "3_0": (BYTES, set(), {4, 5}),
        "5_0": (set(TYPES), set(), {4, 5}),
    },
    "MAX_POOLING1": {
        "2_0": (FLOATS, U32, {4, 5}),
        "3_0": (BYTES, U32, {4, 5}),
        "5_0": (set(TYPES), UNSIGNED, {4, 5}),
    },
    "MAX_POOLING2": {
        "2_1": (FLOATS, U32, {4, 5}),
        "3_0": (BYTES, U32, {4, 5}),
        "5_0": (set(TYPES), UNSIGNED, {4, 5}),
    },
    "REDUCE ARGMIN": {
        "1_0": (FLOATS, U32, {4}),
        "2_1": (ALL8, U32, {4}),
        "3_0": (ALL8, ALL4, EVERY_RANK),
        "4_1": (set(TYPES), ALL4, EVERY_RANK),
    },
    "REDUCE MIN": {
        "1_0": (FLOATS, set(), {4}),
        "2_1": (FLOATS | {"int32", "uint32"}, set(), {4}),
        "3_0": (ALL8, set(), EVERY_RANK),
        "5_0": (set(TYPES), set(), EVERY_RANK),
    },
}
LEVELS |= {name.replace("MIN", "MAX"): rows for name, rows in LEVELS.items() if "MIN" in name}


def descriptor(operator, name, index_type, rank):
    """Return a descriptor of the operator on a tensor of one element."""
    x = tensor(name, *(1,) * rank)
    index = tensor(index_type, *(1,) * rank) if index_type else None
    ones, zeros = (1,) * (rank - 2), (0,) * (rank - 2)
    match operator.split():
        case ["ARGMIN"]:
            return ArgMinOperatorDesc(x, index or x, (0,))
        case ["ARGMAX"]:
            return ArgMaxOperatorDesc(x, index or x, (0,))
        case ["REDUCE", function]:
            return ReduceOperatorDesc(ReduceFunction[function], x, index or x, (0,))
        case ["MAX_POOLING"]:
            return MaxPoolingOperatorDesc(x, x, ones, ones, zeros, zeros)
        case ["MAX_POOLING1"]:
            return MaxPooling1OperatorDesc(x, x, index, ones, ones, zeros, zeros)
    return MaxPooling2OperatorDesc(x, x, index, ones, ones, zeros, zeros, ones)


@pytest.mark.parametrize("operator", LEVELS)
def test_what_each_feature_level_allows(operator):
    """Every type, index type and rank is allowed or refused at every level as the table says."""
    pooled = operator.startswith("MAX_POOLING")
    ranks = (4, 5) if pooled else range(1, 9)
    indices: list[str | None] = [None] if pooled or operator.endswith((" MIN", " MAX")) else []
    if operator not in ("MAX_POOLING", "REDUCE MIN", "REDUCE MAX"):
        indices += ["uint32", "uint64"] if pooled else INDEX_TYPES
    for name in TYPES:
        for index_type in indices:
            for rank in ranks:
                desc = descriptor(operator, name, index_type, rank)
                assert desc.name == operator
                desc.validate()
                for level in FeatureLevel:
                    since = [row for row in LEVELS[operator] if FeatureLevel.of(row) <= level]
                    allowed = False
                    if since:
                        types, index_types, allowed_ranks = LEVELS[operator][since[-1]]
                        allowed = name in types and rank in allowed_ranks
                        allowed &= index_type is None or index_type in index_types
                    if allowed:
                        desc.validate(level)
                        desc.validate(feature_level=str(level))
                    else:
                        with pytest.raises((TypeError, ValueError)):
                            desc.validate(level)


@pytest.mark.parametrize(
    ("desc", "level", "error", "message"),
    [
        (
            descriptor("ARGMAX", "float32", "uint32", 3),
            "2_1",
            ValueError,
            "ARGMAX needs feature level 3_0 or later, not 2_1",
        ),
        (
            descriptor("MAX_POOLING2", "float16", "uint32", 4),
            "2_0",
            ValueError,
            "MAX_POOLING2 needs feature level 2_1 or later, not 2_0",
        ),
        (
            descriptor("ARGMIN", "int64", "uint32", 1),
            "4_0",
            TypeError,
            "ARGMIN at feature level 4_0 takes FLOAT32, FLOAT16, INT32, INT16, INT8, UINT32, "
            "UINT16, UINT8, not INT64",
        ),
        (
            descriptor("MAX_POOLING1", "float32", "uint64", 4),
            "4_1",
            TypeError,
            "MAX_POOLING1 at feature level 4_1 gives indices as UINT32, not UINT64",
        ),
        (
            descriptor("REDUCE MAX", "float32", None, 5),
            "2_1",
            ValueError,
            "REDUCE MAX at feature level 2_1 takes rank 4, not 5",
        ),
        (
            descriptor("MAX_POOLING2", "float16", "uint32", 4),
            "9_9",
            ValueError,
            "feature level must be one of 1_0, ",
        ),
    ],
)
def test_messages_of_validate(desc, level, error, message):
    with pytest.raises(error) as caught:
        desc.validate(level)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("operator", LEVELS)
def test_a_row_tells_what_it_allows(operator):
    for level, (types, index_types, ranks) in LEVELS[operator].items():
        row = support(operator, level)
        assert row.since == FeatureLevel.of(level)
        assert {each.value for each in row.data_types} == types
        assert {each.value for each in row.index_types} == index_types
        assert set(row.ranks) == ranks


def test_an_operator_that_there_is_not():
    with pytest.raises(ValueError, match=r"^operator must be one of .*, not 'ARGMEAN'$"):
        support("ARGMEAN", "3_0")


@pytest.mark.parametrize("operator", LEVELS)
def test_each_level_is_a_superset_of_the_one_before(operator):
    rows = [support(operator, level) for level in FeatureLevel if str(level) >= "3_0"]
    for before, after in pairwise(rows):
        assert before.data_types <= after.data_types
        assert before.index_types <= after.index_types
        assert set(before.ranks) <= set(after.ranks)


def test_a_new_type_is_granted_to_no_operator(monkeypatch):
    """A member that is added to `DataType` is in no table until somebody lists it there."""
    members = {member.name: member.value for member in DataType} | {"BFLOAT16": "bfloat16"}
    wider: Any = Enum("DataType", members)
    monkeypatch.setattr(extremum.model.types, "DataType", wider)
    source = extremum.model.support.__file__
    spec = importlib.util.spec_from_file_location("extremum.model.support_of_eleven", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its module up by name.
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    for operator in LEVELS:
        row = module.support(operator, "6_4")
        assert wider.FLOAT32 in row.data_types
        assert wider.BFLOAT16 not in row.data_types | row.index_types
