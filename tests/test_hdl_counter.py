"""Tests counters with every number of steps, with gaps, and loaded again at any time."""

import itertools
import random
from collections.abc import Iterator

import pytest
from amaranth.hdl import Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator
from amounts import mostly_slow

from extremum.hdl.counter import ModuloCounter
from extremum.hdl.shadow import shadow
from extremum.hdl.timing import TimingParameters

PARAMETERS = TimingParameters()

LIMITS = (255, 256, 257, 511, 512, 513)


class Counter(wiring.Component):
    """A component with ports around a :class:`ModuloCounter` of constant or of variable length."""

    load: Signal
    enable: Signal
    new: Signal
    last: Signal

    def __init__(
        self,
        width: int,
        parameters: TimingParameters = PARAMETERS,
        steps: int | None = None,
    ):
        self.parameters = parameters
        self.steps = steps
        super().__init__({"load": In(1), "enable": In(1), "new": In(width), "last": Out(1)})

    def elaborate(self, platform):
        m = Module()
        # A counter of one step has no registers; this one gives the simulation its clock.
        m.d.sync += Signal().eq(self.enable)
        new = self.new if self.steps is None else Const(self.steps - 1, len(self.new))
        goal = shadow(m, self.parameters, new, self.load & self.enable, "goal")
        cycle = ModuloCounter(m, self.parameters, goal, "cycle")
        cycle.run(self.load, self.enable, new)
        m.d.comb += self.last.eq(cycle.last)
        return m


def check(component: Counter, clocks: Iterator[tuple[int, int, int]], steps: int = 0) -> int:
    """Compare a counter with one that counts up; return how many last steps there were.

    Each of the clocks is a tuple (load, step, new number of steps).
    """
    lasts, rng = 0, random.Random(1)
    holds_one_job = component.parameters.holds_one_job
    listed = [(0, 0, 1), (0, 0, 1), *clocks]
    # A new number must be on the port for two clocks before it is loaded.
    loaded = [new if load else None for load, _, new in [*listed, (0, 0, 1), (0, 0, 1)]]
    coming = [soon or later for soon, later in itertools.pairwise(loaded[1:])]

    async def bench(context):
        nonlocal lasts
        total, place, shown, held = steps, 0, None, 1
        for (load, step, new), after in zip(listed, coming, strict=True):
            if (load, step, new, after) != shown:
                shown = load, step, new, after
                # Without ``enable`` the counter must ignore ``load``.
                context.set(component.load, load if load or step else rng.getrandbits(1))
                context.set(component.enable, load or step)
                held = new if load else held
                # Until the next number must be on the port, any other number may be there. But a
                # pipeline that holds one job has no copy of its number, and in the clock of a load
                # nobody asks it for the last step.
                idle = rng.getrandbits(len(component.new)) + 1
                other = held if holds_one_job else after or idle
                context.set(component.new, (new if load else other) - 1)
            if total:
                last = place == total - 1
                is_told = context.get(component.last) == last
                assert is_told or (load and holds_one_job), (total, place)
                lasts += last and step
                place = 0 if load else (place + step) * (not (last and step))
            total = component.steps or (new if load else total)
            await context.tick()

    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return lasts


def rounds(lengths, rng, gaps, extra=(1,), load_alone=0.5) -> Iterator[tuple[int, int, int]]:
    """Yield the clocks that load each number, then go round once and some steps further."""
    step = 0
    for length in lengths:
        # The load may come with the last step of the round before, or in a clock of its own.
        if rng.random() < load_alone:
            step = 0
        yield 1, step, length
        left = max(3, length + rng.choice(extra))
        while left:
            step = int(rng.random() >= gaps)
            left -= step
            if left or not step:
                yield 0, step, length
    yield 0, 0, 1


@pytest.mark.parametrize("part", mostly_slow(range(3), [0]))
@pytest.mark.parametrize(
    "parameters",
    [TimingParameters(whole_count=bits) for bits in (8, 12)]
    + [TimingParameters(holds_one_job=True)],
    ids=["split", "whole", "plain"],
)
def test_every_number_of_steps(part, parameters):
    """Plain counters, those of one carry chain, and those that are split, count to 600 steps."""
    rng = random.Random(part)
    lengths = list(range(1 + part, 601, 3))
    rng.shuffle(lengths)
    clocks = rounds(lengths, rng, 0, extra=(1, 2, 3))
    assert check(Counter(12, parameters), clocks) >= len(lengths)


@pytest.mark.parametrize("gaps", [0.05, 0.5])
def test_gaps_at_the_limits(gaps):
    """Pauses between steps change nothing, also for counts near the length of a carry chain."""
    parameters = TimingParameters(whole_count=8)
    rng = random.Random(f"{gaps}")
    lengths = [*LIMITS, 1, 2, 3, 254, 258, *rng.sample(LIMITS, 6), 1, 1, 2]
    assert check(Counter(10, parameters), rounds(lengths, rng, gaps, extra=(1, 5, 260)))


@pytest.mark.parametrize(
    ("bits", "part"), mostly_slow([(3, 3), (3, 14), (4, 2), (4, 3), (4, 14)], [(3, 3)])
)
@pytest.mark.parametrize("gaps", [0, 0.3])
def test_many_segments(bits, part, gaps):
    """With short segments, carries pass through many of them, and many parts are compared."""
    parameters = TimingParameters(whole_count=bits, low_count=bits, count_segment=part)
    rng = random.Random(f"{bits} {gaps}")
    limits = [1 << n for n in range(11)]
    lengths = [max(1, limit + near) for limit in limits for near in (-1, 0, 1)]
    lengths += [rng.randint(1, 1200) for _ in range(15)]
    rng.shuffle(lengths)
    clocks = rounds(lengths, rng, gaps, extra=(1, 2, 3, 40))
    assert check(Counter(12, parameters), clocks) >= len(lengths)


def test_carries_that_would_come_too_late_are_refused():
    parameters = TimingParameters(whole_count=3, low_count=3, count_segment=2)
    m, goal = Module(), Signal(12)
    m._MustUse__silence = True  # nobody elaborates it
    cycle = ModuloCounter(m, parameters, goal, "cycle")
    with pytest.raises(ValueError, match="low_count must leave the carries of 9 bits more than 8"):
        cycle.run(Const(0, 1), Const(1, 1), goal)


@pytest.mark.parametrize("bits", mostly_slow([4, 8], [4]))
def test_loaded_again_at_any_time(bits):
    """A load in the middle of a count drops the carries of the old count that are under way."""
    parameters = TimingParameters(whole_count=bits, low_count=bits, count_segment=2)
    rng = random.Random(bits)

    def clocks():
        for _ in range(250):
            near = 1 << rng.randint(0, 9)
            length = max(1, near + rng.randint(-1, 1))
            yield 1, rng.randint(0, 1), length
            pace = rng.choice((1, 1, 0.5))
            # The counter is often loaded again close to the step where its bits wrap.
            for _ in range(max(2, rng.choice((length, 1 << bits, near)) + rng.randint(-3, 4))):
                yield 0, int(rng.random() < pace), length

    assert check(Counter(11, parameters), clocks())


# At 111 steps a carry meets the end of the count.
@pytest.mark.parametrize("steps", [1, 2, 3, 5, 111, *LIMITS, 600])
@pytest.mark.parametrize("part", [2, 11])
def test_a_constant_number_of_steps(steps, part):
    """A counter of constant length runs from reset on without a load, and with a load later."""
    parameters = TimingParameters(whole_count=4, fixed_count_segment=part)
    rng = random.Random(steps)
    gaps = 0.1

    def clocks():
        for _ in range(2 * steps + 20):
            yield 0, int(rng.random() >= gaps), 1
        for _ in range(4):
            yield 1, rng.randint(0, 1), 1
            for _ in range(rng.randint(0, steps + 5)):
                yield 0, 1, 1

    assert check(Counter(32, parameters, steps), clocks(), steps) >= 1
