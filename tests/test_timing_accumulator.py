"""The sum that is cut into segments, against an integer to which Python adds clock by clock."""

import random

import pytest
from amaranth.hdl import Const
from amounts import mostly_slow
from gateware import Circuit, watch

from extremum.hdl.timing import SegmentedAccumulator, TimingParameters

SIZES = [
    (1, 1),
    (5, 1),
    (3, 8),
    (7, 2),
    (8, 8),
    (9, 8),
    (12, 3),
    (16, 8),
    (17, 8),
    (28, 14),
    (32, 16),
    (33, 11),
]
"""Bits of the sum and of a segment: one segment, several equal ones, a last one of a single bit."""

PARAMETERS = TimingParameters()


def accumulator(width, segment, addend_width, **options):
    """Return a component with an accumulator, and the accumulator."""
    made: list[SegmentedAccumulator] = []
    ports = {"load": 1, "start": width, "enable": 1, "addend": addend_width, "reset": 1}

    def logic(m, port):
        total = SegmentedAccumulator(
            m, PARAMETERS, width, segment, "total",
            load=port.load, start=port.start, enable=port.enable, addend=port.addend, **options,
        )  # fmt: skip
        made.append(total)
        segments = {f"segment{n}": part.value for n, part in enumerate(total.segments)}
        return segments | {"sum": total.sum.value, "unaligned": total.unaligned}

    return Circuit(ports, logic), made[0]


def sums(clocks, width, init=0):
    """Yield the sum in each clock, before the load or the addition of that clock."""
    total = init
    for clock in clocks:
        yield total
        if clock["load"]:
            total = clock["start"]
        elif clock["enable"]:
            total = (total + clock["addend"]) % (1 << width)


def addends(rng, width, segment):
    """Return a random addend; most make long carries: 1, all ones, a segment of ones."""
    ones = (1 << width) - 1
    return rng.choice((0, 1, ones, ones & ((1 << segment) - 1), ones - 1, rng.getrandbits(width)))


def stimulus(rng, width, segment, addend_width, *, loads, adds, count=400):
    """Return clocks of loads and additions; in the clocks between them the addend is noise.

    The start must stay for some clocks after a load, and changes as soon as it may, whether or not
    it is loaded next.
    """
    clocks, stays, start = [], 0, 0
    for _ in range(count):
        load = int(rng.random() < loads)
        if stays == 0:
            start = addends(rng, width, segment)
        stays = SegmentedAccumulator.latency_of(width, segment) if load else max(0, stays - 1)
        addend = addends(rng, addend_width, segment)
        enable = int(rng.random() < adds)
        clocks.append({"load": load, "start": start, "enable": enable, "addend": addend})
    return clocks


def check(width, segment, addend_width, clocks, **options):
    """Compare every segment in the clock in which it is valid, and the sum once it is whole."""
    component, cut = accumulator(width, segment, addend_width, **options)
    late = cut.latency
    seen = watch(component, clocks, component.outputs, settle=late)
    for number, total in enumerate(sums(clocks, width, options.get("init", 0))):
        for part, low in enumerate(range(0, width, segment)):
            behind = part * SegmentedAccumulator.CARRY_LATENCY
            bits = total >> low & ((1 << min(segment, width - low)) - 1)
            assert seen[number + behind][f"segment{part}"] == bits, (number, part)
        assert seen[number + late]["sum"] == total, number
        # Once nothing has changed for as long as a carry takes, all segments are valid at once.
        if all(not (c["load"] or c["enable"]) for c in clocks[max(0, number - late) : number]):
            assert seen[number]["unaligned"] == total, number


@pytest.mark.parametrize(("width", "segment"), SIZES)
@pytest.mark.parametrize(
    ("loads", "adds"),
    mostly_slow([(0, 1), (0.05, 1), (0.3, 0.7), (1, 0.5), (0.02, 0.1)], [(0.05, 1), (0.3, 0.7)]),
    ids=str,
)
def test_loads_and_additions_in_any_clock(width, segment, loads, adds):
    """Additions in every clock, loads in every clock, and both with pauses between them."""
    rng = random.Random(f"{width} {segment} {loads} {adds}")
    check(width, segment, width, stimulus(rng, width, segment, width, loads=loads, adds=adds))


@pytest.mark.parametrize(("width", "segment"), [(12, 3), (17, 8), (32, 16)])
@pytest.mark.parametrize("addend_width", [1, 2, 7, 8, 9, 11])
def test_an_addend_narrower_than_the_sum(width, segment, addend_width):
    """The addend may end in the middle of a segment, or where one ends."""
    rng = random.Random(f"{width} {addend_width}")
    clocks = stimulus(rng, width, segment, addend_width, loads=0.02, adds=0.9)
    check(width, segment, addend_width, clocks)


@pytest.mark.parametrize("after", range(6))
def test_a_load_meets_a_carry_on_its_way(after):
    """The carry of an addition just before the load is lost with the old sum, and none is new."""
    width, segment = 9, 3
    idle = {"load": 0, "start": 0, "enable": 0, "addend": 1}
    # All ones, so that an addition of 1 carries from the first segment to the last.
    begin = [idle | {"load": 1, "start": 0o777}] + [idle | {"start": 0o777}] * 6
    clocks = [*begin, idle | {"start": 0o070, "enable": 1}]
    clocks += [idle | {"start": 0o070}] * after
    clocks += [idle | {"start": 0o070, "load": 1}, *[idle | {"start": 0o070, "enable": 1}] * 20]
    check(width, segment, 1, clocks)


@pytest.mark.parametrize("start", [0o077, 0o777, 0o707])
def test_an_addition_just_after_a_load(start):
    """The carry of the new sum meets segments that have not been loaded yet."""
    idle = {"load": 0, "start": start, "enable": 0, "addend": 1}
    check(9, 3, 1, [idle | {"load": 1}, idle | {"enable": 1}, *[idle] * 8, idle | {"enable": 1}])


def test_a_load_comes_before_an_addition_in_the_same_clock():
    both = {"load": 1, "start": 5, "enable": 1, "addend": 1}
    check(6, 2, 1, [both] + [{"load": 0, "start": 5, "enable": 0, "addend": 1}] * 5)


@pytest.mark.parametrize("init", [0, 1, 0b1011_0110, 0xFF])
def test_it_begins_with_its_init(init):
    """A sum that is never loaded counts on from where the reset set it."""
    rng = random.Random(init)
    check(8, 3, 8, stimulus(rng, 8, 3, 8, loads=0, adds=0.6, count=60), init=init)


@pytest.mark.parametrize("reset_less", [False, True])
def test_whether_a_reset_leaves_the_sum_alone(reset_less):
    component, _ = accumulator(8, 3, 8, init=0x5A, reset_less=reset_less)
    idle = {"load": 0, "start": 0xC3, "enable": 0, "addend": 0, "reset": 0}
    clocks = [idle | {"load": 1}, *[idle] * 8, idle | {"reset": 1}, *[idle] * 8]
    seen = watch(component, clocks, component.outputs)
    assert seen[8]["sum"] == 0xC3
    assert seen[-1]["unaligned"] == (0xC3 if reset_less else 0x5A)


def test_a_constant_addend():
    """A count by ones, as the counters use it."""
    ports = {"load": 1, "enable": 1}
    total: list[SegmentedAccumulator] = []

    def logic(m, port):
        count = SegmentedAccumulator(
            m, PARAMETERS, 10, 4, "count",
            load=port.load, start=Const(1, 10), enable=port.enable, addend=Const(1, 1), init=1,
        )  # fmt: skip
        total.append(count)
        return {"sum": count.sum.value}

    component = Circuit(ports, logic)
    rng = random.Random(2)
    clocks = [{"load": int(rng.random() < 0.001), "enable": 1} for _ in range(1100)]
    seen = watch(component, clocks, component.outputs, settle=total[0].latency)
    full = [clock | {"start": 1, "addend": 1} for clock in clocks]
    for number, count in enumerate(sums(full, 10, init=1)):
        assert seen[number + total[0].latency]["sum"] == count


@pytest.mark.parametrize(("width", "segment"), SIZES)
@pytest.mark.parametrize("clock", [-1, 0, 5])
def test_latency_is_that_of_the_carries(width, segment, clock):
    """Two clocks for each segment after the first, counted from the clock of the inputs."""
    component, total = accumulator(width, segment, 1, clock=clock)
    segments = -(-width // segment)
    assert total.latency == SegmentedAccumulator.latency_of(width, segment) == 2 * (segments - 1)
    assert [part.clock for part in total.segments] == [clock + 2 * n for n in range(segments)]
    assert total.sum.clock == clock + total.latency
    watch(component, [{"load": 0}], {"sum": total.unaligned})


def test_a_sum_of_no_bits_takes_no_clock():
    """A core that gives no positions asks for the latency all the same."""
    assert SegmentedAccumulator.latency_of(0, 8) == 0
