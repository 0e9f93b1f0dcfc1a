"""The reducer: the running winner of rows of every length, with ties, NaN, and jobs at once."""

import itertools
import random
from dataclasses import replace

import pytest
from amounts import mostly_slow
from gateware import pack, unpack, watch
from stimulus import Job, stimulus

from extremum.hdl import reduction
from extremum.hdl.config import CoreConfig
from extremum.hdl.job import JobRegisters
from extremum.hdl.reduction import Reducer, has_early, latency
from extremum.hdl.timing import SegmentedAccumulator, timing_parameters
from extremum.hdl.words import element_members
from extremum.model import DataType

TAP_BITS = {"width": 2}


def ordinal_of_winner(words, decreasing, ignore_nan):
    """Return the ordinal of a row's winner, found word by word."""
    best = 0
    for ordinal, word in enumerate(words):
        nan, best_nan = word.get("nan", 0), words[best].get("nan", 0)
        if nan and best_nan:
            tie, better = True, False
        elif nan or best_nan:
            tie, better = False, bool(nan) != ignore_nan
        else:
            tie = word["key"] == words[best]["key"]
            better = word["key"] > words[best]["key"]
        if better or (tie and decreasing):
            best = ordinal
    return best


def draw(rng, width, has_nan):
    """Return a word; most keys are equal, or differ in one bit and so in one digit."""
    base = 0x5A5A5A5A5A5A5A5A & ((1 << width) - 1)
    key = base ^ rng.choice((0, 0, 1 << rng.randrange(width)))
    if rng.random() < 0.1:
        key = rng.choice((0, (1 << width) - 1, rng.getrandbits(width)))
    if has_nan:
        # The least and the greatest key of a float are those of NaNs.
        key = min(max(key, 1), (1 << width) - 2)
    word = {"key": key, "tap_width": rng.getrandbits(2)}
    if has_nan:
        word |= {"nan": int(rng.random() < 0.2), "sign": rng.getrandbits(1)}
    return word


CONFIGS = {
    "float16": CoreConfig((DataType.FLOAT16,), lanes=2),
    "int8": CoreConfig((DataType.INT8,), lanes=2),
    "int64": CoreConfig((DataType.INT64,), lanes=2),
    # Digits of one bit and of two bits; cores without values, so without flags; ordinals of one
    # segment, of two segments, and of none.
    "one bit": CoreConfig(
        (DataType.INT16,), max_window=(1, 1, 1), operators=("argmin", "argmax"), index_width=5
    ),
    "two bits": CoreConfig((DataType.UINT32,), 2, max_window=(1, 1, 1), index_width=12),
    "no values": CoreConfig((DataType.FLOAT32,), operators=("argmax", "argmin"), index_width=8),
    "small segments": CoreConfig((DataType.INT8,), lanes=2, index_width=11),
    "no index": CoreConfig((DataType.FLOAT16,), index_width=0),
    "crowded": CoreConfig((DataType.INT16,), lanes=32),
}


def tell_ahead(clocks, control_shape):
    """Tell the reducer of a crowded core of each word a clock ahead."""
    for now, then in itertools.pairwise(clocks):
        is_first = then["i.valid"] and unpack(control_shape, then["i.control"])["first"]
        now |= {"early_first": is_first, "early_other": then["i.valid"] and not is_first}


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("gaps", mostly_slow([0, 0.4], [0.4]))
def test_rows(name, gaps, monkeypatch):
    if name == "small segments":
        # The ordinal's carry goes through three segments and more.
        short = replace(timing_parameters(CONFIGS[name]), ordinal_segment=3)
        monkeypatch.setattr(reduction, "timing_parameters", lambda _: short)
    config = CONFIGS[name]
    rng = random.Random(f"{name} {gaps}")
    reducer, late = Reducer(config, TAP_BITS), latency(config)
    layout, width, lanes = reducer.i_layout, config.element_width, config.lanes
    result = reducer.o_layout
    control_shape = reducer.i.control.shape()
    jobs, wanted = [], []
    lengths = [1, 1, 2, 1, 3, 1, 7, 2, 20, *(rng.randint(1, 12) for _ in range(40)), 300]
    for length in lengths:
        decreasing, ignore = rng.random() < 0.5, config.has_floats and rng.random() < 0.5
        fold = config.can_fold and rng.random() < 0.4
        registers = JobRegisters(length=length, decreasing=decreasing, ignore_nan=ignore, fold=fold)
        given, rows_wanted = [], []
        for _ in range(rng.randint(1, 4)):
            flagged = "nan" in layout.members
            rows = [[draw(rng, width, flagged) for _ in range(length)] for _ in range(lanes)]
            control = {}
            for ordinal in range(length):
                control = {
                    "first": ordinal == 0,
                    "last": ordinal == length - 1,
                    "empty": rng.random() < 0.3,
                }
                word = 0
                for lane, row in enumerate(rows):
                    word |= pack(layout, row[ordinal]) << layout.size * lane
                given.append({"i.control": pack(control_shape, control), "i.lanes": word})
            winners = []
            for row in rows:
                best = ordinal_of_winner(row, decreasing, ignore)
                ordinal = best * (lanes if fold else 1) % (1 << config.index_width)
                fields = row[best] | {"ordinal": ordinal}
                winners.append({str(field): fields[str(field)] for field, _ in result})
            rows_wanted.append((len(given) - 1, control, winners))
        jobs.append(Job({"job": registers.to_bits(config)}, given))
        wanted.append(rows_wanted)
    laid = stimulus(
        reducer, jobs, rng, gaps=gaps, meets=0.7, after=late + 3, token="i.token", valid="i.valid"
    )
    if has_early(config):
        tell_ahead(laid.clocks, control_shape)
    expected = [
        (clocks[last], control, winners)
        for clocks, rows in zip(laid.words, wanted, strict=True)
        for last, control, winners in rows
    ]
    outputs = {"valid": reducer.o.valid, "token": reducer.o.token}
    outputs |= {"control": reducer.o.control, "lanes": reducer.o.lanes}
    seen = watch(reducer, laid.clocks, outputs)
    given = [number for number, clock in enumerate(seen) if clock["valid"]]
    assert given == [number + late for number, _, _ in expected]
    for number, (_, control, winners) in zip(given, expected, strict=True):
        found = unpack(control_shape, seen[number]["control"])
        assert {field: found[field] for field in control} == control
        for lane, winner in enumerate(winners):
            assert unpack(result, seen[number]["lanes"] >> lane * result.size) == winner
    assert [n - late for n, clock in enumerate(seen) if clock["token"]] == laid.tokens


@pytest.mark.parametrize("name", CONFIGS)
def test_latency_is_that_of_the_digits_and_the_carries(name):
    """A digit takes a clock, the result another, and so does a flag for NaN where there is one."""
    config = CONFIGS[name]
    parameters = timing_parameters(config)
    digits = -(-config.element_width // parameters.reducer_digit)
    carries = max(0, -(-config.index_width // parameters.ordinal_segment) - 1)
    clocks = ("nan" in element_members(config)) + digits + parameters.take_clocks + 1
    assert latency(config) == clocks + carries * SegmentedAccumulator.CARRY_LATENCY


def test_the_configurations_differ_in_what_matters():
    """They have digits of three sizes at least, and ordinals of one segment and of several."""
    assert len({timing_parameters(config).reducer_digit for config in CONFIGS.values()}) >= 3
    several = [c for c in CONFIGS.values() if c.index_width > timing_parameters(c).ordinal_segment]
    assert several


def test_a_core_without_reductions_has_no_reducer():
    assert latency(CoreConfig(operators=("max-pool",))) == 0
