"""Keys: they are ordered as the golden model orders elements, and the elements come back whole."""

import itertools
import random

import numpy as np
import pytest
from gateware import bits, pack, unpack, watch
from stimulus import Job, stimulus
from strategies import TYPES, special_values

from extremum.hdl.config import CoreConfig
from extremum.hdl.job import JobRegisters
from extremum.hdl.key import KeyDecoder, KeyEncoder, latency, restore_latency
from extremum.hdl.words import candidate_layout, result_layout
from extremum.model import DataType
from extremum.model.fast.order import order_key

ALL = tuple(DataType.from_dtype(name) for name in TYPES)
MODES = [(minimum, ignore) for minimum in (False, True) for ignore in (False, True)]


def unsigned(x):
    return x.view(f"u{x.dtype.itemsize}").tolist()


def encode(config, jobs, seed=0):
    """Return keys, NaN flags and signs of the elements of jobs that follow without a gap.

    The bits of a lane above those of a narrower element are noise.
    """
    rng = random.Random(seed)
    encoder, late = KeyEncoder(config), latency(config)
    width, lanes = config.element_width, config.lanes
    given = []
    for registers, x in jobs:
        patterns = unsigned(x) + [0] * (-len(x) % lanes)
        own = 8 * x.dtype.itemsize
        patterns = [pattern | rng.getrandbits(width) >> own << own for pattern in patterns]
        beats = [
            sum(pattern << width * lane for lane, pattern in enumerate(patterns[start:][:lanes]))
            for start in range(0, len(patterns), lanes)
        ]
        given.append(
            Job({"job": registers.to_bits(config)}, [{"elements": beat} for beat in beats])
        )
    laid = stimulus(encoder, given, rng, stay=late, meets=1, after=late, valid=None)
    seen = watch(encoder, laid.clocks, {"keys": bits(encoder.keys)})
    layout = candidate_layout(config, {})
    mask = (1 << layout.size) - 1
    results = []
    for (_, x), clocks in zip(jobs, laid.words, strict=True):
        keys = [seen[clock + late]["keys"] for clock in clocks]
        words = [key >> layout.size * lane & mask for key in keys for lane in range(lanes)]
        results.append([unpack(layout, word) for word in words[: len(x)]])
    return results


def decode(config, jobs):
    """Return the elements of the candidates of each job, and then what an empty window gives."""
    decoder, late = KeyDecoder(config, {}), restore_latency(config)
    layout = result_layout(config, {})
    given = []
    for registers, candidates in jobs:
        words = [{"empty": 0, "lanes": pack(layout, candidate)} for candidate in candidates]
        given.append(Job({"job": registers.to_bits(config)}, [*words, {"empty": 1, "lanes": 0}]))
    rng = random.Random(1)
    laid = stimulus(decoder, given, rng, stay=late, meets=1, after=late, valid=None)
    seen = watch(decoder, laid.clocks, {"values": bits(decoder.values)})
    return [[seen[clock + late]["values"] for clock in clocks] for clocks in laid.words]


def rank(keys):
    """Return the keys as a comparison sees them: all NaNs have the same one."""
    most = max(c["key"] for c in keys if not c["nan"])
    return [(most + 1 if c["key"] > most else -1) if c["nan"] else c["key"] for c in keys]


def check_order(x, keys, minimum, ignore):
    key = order_key(x, nan="ignore" if ignore else "propagate", minimum=minimum)
    key = [int(k) for k in key]
    if "nan" in keys[0]:
        nan = np.isnan(x) if x.dtype.kind == "f" else np.zeros(len(x), bool)
        assert [c["nan"] for c in keys] == nan.tolist()
        ours = rank(keys)
        numbers = [c["key"] for c in keys if not c["nan"]]
        nans = [c["key"] for c in keys if c["nan"]]
        # Keys alone must set a NaN apart from every number.
        assert (
            all(n < min(numbers) for n in nans) if ignore else all(n > max(numbers) for n in nans)
        )
    else:
        ours = [c["key"] for c in keys]
    order = sorted(range(len(key)), key=key.__getitem__, reverse=minimum)
    for a, b in itertools.pairwise(order):
        assert (ours[a] == ours[b]) == (key[a] == key[b]), (x[a], x[b])
        assert ours[a] <= ours[b], (x[a], x[b])


def sampled(name, count=200):
    """Return special values, random ones, and neighbours of both."""
    rng = np.random.default_rng(5)
    x = special_values(name)
    raw = rng.integers(0, 256, (count, x.itemsize), np.uint8).view(x.dtype).reshape(-1)
    near = np.concatenate([x, raw]).view(f"u{x.itemsize}")
    return np.concatenate([near, near + near.dtype.type(1), ~near]).view(x.dtype)


@pytest.mark.parametrize(
    ("minimum", "ignore"),
    # Every mode is tried below on values drawn from each type; all pairs take long.
    [MODES[0], *(pytest.param(*mode, marks=pytest.mark.slow) for mode in MODES[1:])],
)
@pytest.mark.parametrize("name", ["float16", "int16", "uint16"])
def test_order_of_all_pairs_of_16_bits(name, minimum, ignore):
    """The keys of all elements, sorted by the model's order, ascend; so every pair is in order."""
    data_type = DataType.from_dtype(name)
    config = CoreConfig((data_type,), lanes=64)
    x = np.arange(1 << 16, dtype=np.uint16).view(name)
    registers = JobRegisters(minimum=minimum, ignore_nan=ignore)
    (keys,) = encode(config, [(registers, x)])
    check_order(x, keys, minimum, ignore)


@pytest.mark.parametrize(("minimum", "ignore"), MODES)
def test_order_and_bits_of_every_type_in_one_core(minimum, ignore):
    """The type changes from job to job, and the unused upper bits of the lanes are noise."""
    config = CoreConfig(ALL, lanes=4)
    jobs = [
        (
            JobRegisters(data_type=config.data_type_code(t), minimum=minimum, ignore_nan=ignore),
            sampled(t.dtype.name),
        )
        for t in ALL
    ]
    keys = encode(config, jobs, seed=3)
    for (_, x), own in zip(jobs, keys, strict=True):
        check_order(x, own, minimum, ignore)
    back = decode(
        CoreConfig(ALL),
        [(registers, own) for (registers, _), own in zip(jobs, keys, strict=True)],
    )
    for data_type, (_, x), elements in zip(ALL, jobs, back, strict=True):
        assert elements == [*unsigned(x), *unsigned(np.array([data_type.lowest]))]


@pytest.mark.parametrize("name", TYPES)
def test_bits_of_a_core_of_one_type(name):
    data_type = DataType.from_dtype(name)
    config = CoreConfig((data_type,))
    for minimum in (False, True):
        registers = JobRegisters(minimum=minimum)
        x = sampled(name)
        (keys,) = encode(config, [(registers, x)])
        assert decode(config, [(registers, keys)])[0][:-1] == unsigned(x)


def test_flags_are_left_out_of_a_core_of_integers():
    fields = [name for name, _ in candidate_layout(CoreConfig((DataType.INT8,)), {})]
    assert fields == ["key"]


@pytest.mark.parametrize(("minimum", "ignore"), MODES)
def test_no_flags_where_no_element_leaves_the_core(minimum, ignore):
    """In such a core all NaNs have one key, beyond those of the numbers; the order is the same."""
    config = CoreConfig(ALL, lanes=2, operators=("argmin", "argmax"))
    assert [name for name, _ in candidate_layout(config, {})] == ["key"]
    assert not {"key", "nan"} & {str(name) for name, _ in result_layout(config, {})}
    jobs = [
        (
            JobRegisters(data_type=config.data_type_code(t), minimum=minimum, ignore_nan=ignore),
            sampled(t.dtype.name),
        )
        for t in ALL
    ]
    for (_, x), own in zip(jobs, encode(config, jobs, seed=4), strict=True):
        check_order(x, own, minimum, ignore)
        if x.dtype.kind == "f":
            (of_nan,) = {word["key"] for word, nan in zip(own, np.isnan(x), strict=True) if nan}
            ones = (1 << 8 * x.dtype.itemsize) - 1
            assert of_nan == (0 if ignore else ones)
            assert sum(word["key"] == of_nan for word in own) == np.isnan(x).sum()
