"""The positions of winners: sums of coordinate times weight, although nothing is multiplied."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from itertools import pairwise
from operator import add, and_, or_
from typing import Any

from amaranth.hdl import Array, Mux, Signal, Value
from amaranth.utils import bits_for

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.position import PositionGenerator, clocks_ahead, latency
from extremum.hdl.registers import register
from extremum.hdl.timing import SegmentedAccumulator, copy_count, timing_parameters
from extremum.model import DataType
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.job import Job
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Inside, Property

CLOCKS_ON_THE_PORT = 2
"""Clocks for which a job is on the port before its token comes: the proofs of the job port show
that."""


def positions(config: CoreConfig, p: Property) -> None:
    """State the position of the winner of any one lane, for any number of windows and jobs."""
    taps = {DIMENSIONS[axis]: config.max_window[axis] for axis in config.axes}
    taps = {name: most for name, most in taps.items() if most > 1}
    block, m = PositionGenerator(config, {name: bits_for(n - 1) for name, n in taps.items()}), p.m
    inputs = ("token", "valid", "control")
    inside = p.add("position", block, driven=(*(f"early_{name}" for name in inputs), "i.token",
                                              "i.valid"))  # fmt: skip
    # The control of a window comes ahead of its winner, or behind it.
    to_winner, to_control = max(clocks_ahead(config), 0), max(-clocks_ahead(config), 0)
    token, valid = p.input("token"), p.input("valid")
    control: Any = p.input("control", block.early_control.shape())
    m.d.comb += [
        block.i.token.eq(p.late(token, to_winner)),
        block.i.valid.eq(p.late(valid, to_winner)),
        block.early_token.eq(p.late(token, to_control)),
        block.early_valid.eq(p.late(valid, to_control)),
        Value.cast(block.early_control).eq(p.late(control, to_control)),
    ]
    clocks = to_winner + latency(config)
    job = _job(config, p, block, token=token, valid=valid, clocks=clocks + to_control + 2)

    # The position of the last tap of the first lane: the job's first, and a step for each window.
    step = job.of(p, config, "group_step", 0)
    for axis in reversed(config.axes):
        name = DIMENSIONS[axis]
        own = job.of(p, config, f"{name}.position_step", 0)
        step = Mux(control[f"final_{name}"], step, own)
    last_tap = Signal(config.index_width, name="last_tap")
    with m.If(token):
        m.d.sync += last_tap.eq(register(config, block.job, "origin"))
    with m.Elif(valid):
        m.d.sync += last_tap.eq(last_tap + step)
    # Any one lane, and the way from there to the tap that won in it.
    lane = p.constant("lane", range(config.lanes))
    p.assume(lane < config.lanes)
    winner: Any = Signal(block.i.lanes.shape().elem_shape, name="winner")
    m.d.comb += Value.cast(winner).eq(Array(Value.cast(each) for each in block.i.lanes)[lane])
    lane_step = job.of(p, config, "lane_step", to_winner)
    terms = [p.late(last_tap, to_winner), _times(lane_step, lane, config.lanes)]
    for name, most in taps.items():
        tap = p.show(f"tap_{name}", winner[f"tap_{name}"])
        p.assume(tap < most)
        terms.append(_times(job.of(p, config, f"{name}.tap_step", to_winner), tap, most))
    position = reduce(add, terms)[: config.index_width]
    wanted = p.show("wanted", p.late(position, latency(config)))
    shown = p.show("shown", Array(Value.cast(each) for each in block.positions)[lane])
    is_due = p.late(valid, clocks)
    p.claim("a position is where the job begins, and the steps from there",
            ~is_due | (shown == wanted))  # fmt: skip
    is_far = reduce(or_, (winner[f"tap_{name}"] == most - 1 for name, most in taps.items()))
    ends_line = valid & control["final_width"] & ~control["final_height"]
    p.reached("a winner far from the last tap, in the second line",
              is_due & p.late(is_far, latency(config)) & p.late(ends_line, clocks + 1)
              & (shown != 0))  # fmt: skip
    if not timing_parameters(config).holds_one_job:
        p.reached("the last window of a job, with the token of the next one",
                  p.late(valid & token & (last_tap != 0), clocks))  # fmt: skip
    _help(p, inside, config, job, last_tap)


def _job(
    config: CoreConfig, p: Property, block: PositionGenerator, *, token: Signal, valid: Signal,
    clocks: int,
) -> Job:  # fmt: skip
    """Assume what the core sees to: how long a job is on the port, and when its windows come."""
    job, now = Job(p, block.job, token, clocks), Value.cast(block.job)
    was = [p.late(now, clock) for clock in range(CLOCKS_ON_THE_PORT + 1)]
    stays = reduce(and_, (older == newer for newer, older in pairwise(was)))
    p.assume(~token | (stays & (p.age(CLOCKS_ON_THE_PORT) == CLOCKS_ON_THE_PORT)))
    p.assume(~valid | job.begun)
    if timing_parameters(config).holds_one_job:
        # A job stays on the port until its last position has come.
        ends, runs = p.input("ends"), Signal(name="runs")
        p.m.d.sync += runs.eq(token | (runs & ~ends))
        is_held = reduce(or_, (p.late(runs, clock) for clock in range(clocks)))
        p.assume(~valid | runs)
        p.assume(~is_held | (~token & (now == p.before(now))))
        p.invariant("a job that runs has begun", ~is_held | job.begun)
        p.invariant("a job stays", ~is_held | (now == Value.cast(job.registers)))
    return job


def _times(step: Value, count: Value, most: int) -> Value:
    """Return a step taken less than ``most`` times."""
    return Array(_multiple(step, n) for n in range(most))[count]


def _multiple(step: Value, count: int) -> Value:
    """Return a step taken so many times, as wide as the step."""
    return (step * count)[: len(step)]


def _help(p: Property, inside: Inside, config: CoreConfig, job: Job, last_tap: Value) -> None:
    """State what the running positions and the copies of the registers hold, and since when."""
    timing, width = timing_parameters(config), config.index_width
    to_winner, to_control = max(clocks_ahead(config), 0), max(-clocks_ahead(config), 0)
    to_step = to_control + (2 if copy_count(timing, config.lanes) > 1 else 0)
    to_sum = to_step + timing.sum_clocks

    def holds(what: str, signals: Sequence[Signal], value: Value, late: int) -> None:
        for signal in signals:
            is_right = signal == p.late(value, late)[: len(signal)]
            p.invariant(what, ~p.late(job.begun, late) | is_right)

    lane_step = job.of(p, config, "lane_step", 0)
    shared = min(config.lanes, timing.lanes_of_position)
    for part, first in enumerate(range(0, config.lanes, shared)):
        begin = (last_tap + _multiple(lane_step, first))[:width]
        for number, low in enumerate(range(0, width, timing.position_segment)):
            name = f"origin{part}_{low}" if part else f"origin_{low}"
            late = to_sum + number * SegmentedAccumulator.CARRY_LATENCY
            holds("the running position", inside.named(name), begin[low:], late)
    if timing.holds_one_job:
        return
    carries = SegmentedAccumulator.latency_of(width, timing.position_segment)
    names = [DIMENSIONS[axis] for axis in config.axes]
    for step, most, late in (
        *((f"{name}.position_step", 1, to_step) for name in names),
        ("group_step", 1, to_step),
        *((f"{name}.tap_step", max(config.max_window), to_winner) for name in names),
        ("lane_step", shared, to_sum + carries),
    ):
        for n in range(1, most + 1, 2):
            copies = inside.named(f"{step}_{n}" if n > 1 else step)
            holds(f"{n} times {step}", copies, _multiple(job.of(p, config, step, 0), n), late)


MODULE = "extremum.hdl.position"
LINE = Fault("the next line is reached by the step to the next window", MODULE,
             "Mux(final, outer, step)", "Mux(final, step, step)")  # fmt: skip
PAUSES = Fault("a clock without a window is a step as well", MODULE,
               '(self.early_valid, "go")', '(~self.early_token, "go")')  # fmt: skip
DIGITS = Fault("the high bits of a tap's number count like the low ones", MODULE,
               "<< (place * digit)", "<< 0")  # fmt: skip
DOUBLE = Fault("an even multiple is that of half the number", MODULE,
               "(kept[n // 2] << 1)", "(kept[n // 2] << 0)")  # fmt: skip
ODD = Fault("an odd multiple is the even one below it", MODULE,
            "(new[n - 1] + step)", "(new[n - 1])")  # fmt: skip
LANES = Fault("the first window of a job has the lanes of the job before", MODULE,
             "0 if timing.holds_one_job else positions[0].clock", "0")  # fmt: skip
PART = Fault("the first lane of a part is taken for one earlier", MODULE,
             '"lane_step") * shared', '"lane_step") * (shared - 1)')  # fmt: skip
CARRY = Fault("the carry comes a clock late", "extremum.hdl.timing.accumulator",
              "Timed(m, total[-1], now)", "Timed(m, total[-1], now - 1)")  # fmt: skip


def _proof(
    name: str, config: CoreConfig, what: str, *faults: Fault, depth: int = 12, quick: bool = False
) -> Proof:
    return Proof(
        f"position-{name}", "hdl/position.py",
        f"{what}: whatever the steps of a job are, the position of each winner is where the job "
        "begins, a step for each window before it, one for each lane before its own, and one for "
        "each tap on the way back to the tap that won; for any number of windows and jobs.",
        partial(positions, config), depth=depth, search=20, faults=faults, quick=quick,
    )  # fmt: skip


_core = partial(CoreConfig, (DataType.UINT8,))
PROOFS = (
    _proof("plane", _core(max_window=(1, 2, 3), index_width=5),
           "One lane, windows of 2 by 3 taps", LINE, PAUSES, quick=True),
    _proof("volume", _core(max_window=(2, 3, 2), index_width=5),
           "One lane, windows of 2 by 3 by 2 taps", LINE, DOUBLE),
    _proof("digits", _core(max_window=(1, 1, 9), index_width=18),
           "One lane, 9 taps, whose numbers have two digits, and positions of two segments",
           DIGITS, CARRY),
    _proof("lanes5", _core(max_window=(1, 2, 9), index_width=5, lanes=5),
           "Five lanes, windows of 2 by 9 taps", ODD),
    _proof("lanes16", _core(max_window=(1, 1, 2), index_width=4, lanes=16),
           "Sixteen lanes, of which some share a running position", PART),
    _proof("lanes64", _core(max_window=(1, 1, 2), index_width=4, lanes=64),
           "Sixty-four lanes, told by copies of each flag what they do", LANES, depth=14),
    _proof("small", _core(max_window=(1, 2, 3), index_width=5, lanes=3, pipelining="small"),
           "Three lanes of a small core", LINE, DOUBLE),
    _proof("balanced", _core(max_window=(1, 2, 4), index_width=5, lanes=3, pipelining="balanced"),
           "Three lanes of a balanced core", ODD, PAUSES),
)  # fmt: skip
