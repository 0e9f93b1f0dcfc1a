"""The fold: the winner of the lanes, ties in both directions, absent lanes, jobs that change it."""

import itertools
import random
from dataclasses import replace

import pytest
from gateware import pack, unpack, watch
from stimulus import Job, stimulus

from extremum.hdl.config import CoreConfig
from extremum.hdl.fold import Fold, latency
from extremum.hdl.job import JobRegisters
from extremum.hdl.timing import timing_parameters
from extremum.hdl.winner import tree_latency
from extremum.hdl.words import candidate_layout
from extremum.model import DataType

CONFIGS = {
    "int8": CoreConfig((DataType.INT8,), lanes=4),
    "float16": CoreConfig((DataType.FLOAT16,), lanes=8),
    "two": CoreConfig((DataType.UINT8,), lanes=2, operators=("argmax",)),
    "sixteen": CoreConfig((DataType.INT8,), lanes=16, max_window=(1, 1, 1)),
    "crowded": CoreConfig((DataType.INT8,), lanes=32, max_window=(1, 1, 1)),
}
TAP_BITS = {"width": 2}


def folded(words, decreasing):
    """Return the winner among the lanes of a word, found lane by lane; NaNs are equal."""
    best = 0
    for lane, word in enumerate(words):
        old = words[best]
        tie = word["key"] == old["key"] or (word.get("nan") and old.get("nan"))
        if (not tie and word["key"] > old["key"]) or (tie and decreasing):
            best = lane
    return words[best] | {"tap_lane": best}


def draw(rng, layout, keys):
    word = {"key": rng.choice(keys), "tap_width": rng.getrandbits(2)}
    if "nan" in layout.members:
        word |= {"nan": int(rng.random() < 0.3), "sign": rng.getrandbits(1)}
        if word["nan"]:
            word["key"] = 0xFC00 + rng.choice((1, 2, 3))
    return word


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("gaps", [0, 0.3])
def test_rows(name, gaps):
    """In a job that folds all lanes give the winner; in the jobs between, each gives its own."""
    config = CONFIGS[name]
    rng = random.Random(f"{name} {gaps}")
    component, late, lanes = Fold(config, TAP_BITS), latency(config), config.lanes
    layout, result = component.i_layout, component.o_layout
    control_shape = component.i.control.shape()
    jobs, wanted = [], []
    for _ in range(60):
        fold, decreasing = rng.random() < 0.7, rng.random() < 0.5
        tail = rng.randint(1, lanes)
        registers = JobRegisters(fold=fold, decreasing=decreasing, tail=tail)
        given = []
        for _ in range(rng.randint(1, 12)):
            keys = rng.sample(range(200), rng.choice((1, 2, 3)))
            words = [draw(rng, layout, keys) for _ in range(lanes)]
            control = {name: rng.getrandbits(1) for name in ("first", "last", "empty")}
            beat = sum(pack(layout, word) << layout.size * n for n, word in enumerate(words))
            given.append({"i.lanes": beat, "i.control": pack(control_shape, control)})
            live = words[:tail] if control["last"] else words
            one = [folded(live, decreasing)] * lanes
            wanted.append((control, one if fold else [word | {"tap_lane": 0} for word in words]))
        jobs.append(Job({"job": registers.to_bits(config)}, given))
    # The registers stay on the port until the token has left the tree.
    laid = stimulus(
        component, jobs, rng,
        stay=late - 1, gaps=gaps, meets=0.7, after=late, token="i.token", valid="i.valid",
    )  # fmt: skip
    expected = dict(zip(itertools.chain(*laid.words), wanted, strict=True))
    outputs = {"token": component.o.token, "valid": component.o.valid}
    outputs |= {"control": component.o.control, "lanes": component.o.lanes}
    seen = watch(component, laid.clocks, outputs)
    for number, clock in enumerate(seen[late:]):
        assert clock["token"] == (number in laid.tokens)
        assert clock["valid"] == (number in expected)
        if number in expected:
            control, words = expected[number]
            found = unpack(control_shape, clock["control"])
            assert {name: found[name] for name in control} == control
            for lane, word in enumerate(words):
                assert unpack(result, clock["lanes"] >> lane * result.size) == word, number


def test_latency_is_that_of_the_tree_and_a_choice():
    for config in CONFIGS.values():
        assert latency(config) == tree_latency(timing_parameters(config), config.lanes) + 1
        assert candidate_layout(config, {"lane": 1}).size > candidate_layout(config, {}).size


@pytest.mark.parametrize(
    "changes", [{"lanes": 1}, {"lanes": 3}, {"lanes": 6}, {"operators": ("max-pool",)}], ids=str
)
def test_no_core_folds_without_a_power_of_two_lanes_to_reduce(changes):
    config = replace(CONFIGS["int8"], **changes)
    assert not config.can_fold
    assert latency(config) == 0
