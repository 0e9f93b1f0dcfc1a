"""The running winner of groups: every length, ties, NaN, jobs that follow at once."""

import random

import pytest
from gateware import bits, pack, unpack, watch

from extremum.hdl.config import CoreConfig
from extremum.hdl.job import JobRegisters
from extremum.hdl.reduction import DIGIT_WIDTH, Reducer
from extremum.model import DataType

TAPS = {"width": 2}


def last_taken(words, decreasing, ignore_nan):
    """The ordinal of the winner, one word after the other."""
    best = 0
    for ordinal, word in enumerate(words):
        nan, best_nan = word.get("nan", 0), words[best].get("nan", 0)
        if nan and best_nan:
            tie, better = True, False
        elif nan or best_nan:
            tie, better = False, bool(nan) != ignore_nan
        else:
            tie = word["code"] == words[best]["code"]
            better = word["code"] > words[best]["code"]
        if better or (tie and decreasing):
            best = ordinal
    return best


def draw(rng, width, has_nan):
    """Codes that differ in one digit, or in one bit, or not at all."""
    base = 0x5A5A5A5A5A5A5A5A & ((1 << width) - 1)
    code = base ^ rng.choice((0, 0, 1 << rng.randrange(width)))
    if rng.random() < 0.1:
        code = rng.choice((0, (1 << width) - 1, rng.getrandbits(width)))
    if has_nan:
        # The least and the greatest code of a float are NaN's.
        code = min(max(code, 1), (1 << width) - 2)
    word = {"code": code, "tap_width": rng.getrandbits(2)}
    if has_nan:
        word |= {"nan": int(rng.random() < 0.2), "sign": rng.getrandbits(1)}
    return word


@pytest.mark.parametrize("data_type", [DataType.FLOAT16, DataType.INT8, DataType.INT64])
@pytest.mark.parametrize("gaps", [0, 0.4])
def test_groups(data_type, gaps):
    config = CoreConfig((data_type,), lanes=2)
    rng = random.Random(f"{data_type} {gaps}")
    reducer = Reducer(config, TAPS)
    layout, width = reducer.i_layout, config.element_width
    clocks, expected = [{"i.token": 0, "i.valid": 0}], []
    for length in [1, 1, 2, 1, 3, 1, 7, 2, 20, *(rng.randint(1, 12) for _ in range(40))]:
        decreasing, ignore = rng.random() < 0.5, rng.random() < 0.5
        registers = JobRegisters(length=length, decreasing=decreasing, ignore_nan=ignore)
        token = {"i.token": 1, "job": registers.to_bits(config)}
        # The token may meet the last word of the job before, or come on its own.
        if rng.random() < 0.7:
            clocks[-1] |= token
        else:
            clocks.append(token | {"i.valid": 0})
        for _ in range(rng.randint(1, 4)):
            groups = [[draw(rng, width, config.has_floats) for _ in range(length)] for _ in "ab"]
            empty = False
            for ordinal in range(length):
                while rng.random() < gaps:
                    noise = rng.getrandbits(2 * layout.size)
                    clocks.append({"i.token": 0, "i.valid": 0, "i.lanes": noise})
                empty = length == 1 and rng.random() < 0.3
                pair = (pack(layout, group[ordinal]) for group in groups)
                word = next(pair) | next(pair) << layout.size
                clocks.append({"i.token": 0, "i.valid": 1, "i.empty": int(empty), "i.lanes": word})
            winners = []
            for group in groups:
                best = last_taken(group, decreasing, ignore)
                winners.append(group[best] | {"ordinal": best})
            expected.append((len(clocks) - 1, empty, winners))
    clocks.append({"i.token": 0, "i.valid": 0})
    seen = watch(
        reducer,
        clocks,
        {
            "valid": reducer.o.valid,
            "token": reducer.o.token,
            "empty": reducer.o.empty,
            "lanes": bits(reducer.o.lanes),
        },
        settle=reducer.latency + 3,
    )
    given = [number for number, clock in enumerate(seen) if clock["valid"]]
    assert given == [number + reducer.latency for number, _, _ in expected]
    result = reducer.o.lanes[0].shape()
    for number, (_, empty, winners) in zip(given, expected, strict=True):
        assert seen[number]["empty"] == empty
        for lane, winner in enumerate(winners):
            assert unpack(result, seen[number]["lanes"] >> lane * result.size) == winner
    tokens = [number for number, clock in enumerate(clocks) if clock.get("i.token")]
    assert [n - reducer.latency for n, clock in enumerate(seen) if clock["token"]] == tokens


def test_latency_follows_the_digits():
    for data_type, digits in ((DataType.INT8, 1), (DataType.FLOAT16, 2), (DataType.INT64, 8)):
        reducer = Reducer(CoreConfig((data_type,)), {})
        assert reducer.latency == 2 + digits
        assert digits * DIGIT_WIDTH == 8 * data_type.dtype.itemsize
        watch(reducer, [{"i.valid": 0}], {"valid": reducer.o.valid})
