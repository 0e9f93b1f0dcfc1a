"""Comparisons whose answer comes a clock later, against Python's own."""

import itertools
import random
from dataclasses import replace

import pytest
from amaranth.hdl import Const, Shape
from gateware import Circuit, watch

from extremum.hdl.timing import TimingParameters, exceeds, late_equal, late_exceeds
from extremum.hdl.timing.comparison import LATENCY

PARAMETERS = TimingParameters()


def all_pairs(shape):
    """Return every pair of numbers of a shape, shuffled, so that the answer changes often."""
    low = -(1 << shape.width - 1) if shape.signed else 0
    pairs = list(itertools.product(range(low, low + (1 << shape.width)), repeat=2))
    random.Random(shape.width).shuffle(pairs)
    return pairs


def near_pairs(shape, seed, count=300):
    """Yield random pairs of wide numbers: equal, one bit apart, one apart, or all bits apart."""
    rng = random.Random(seed)
    width = shape.width

    def number(bits):
        bits &= (1 << width) - 1
        return bits - (1 << width) if shape.signed and bits >> width - 1 else bits

    for _ in range(count):
        one = rng.choice((0, (1 << width) - 1, 1 << width - 1, rng.getrandbits(width)))
        # Every bit is once the only one that differs.
        others = (one, one ^ 1 << rng.randrange(width), one + 1, one - 1, ~one)
        yield number(one), number(rng.choice((*others, rng.getrandbits(width))))
    for bit in range(width):
        yield number(rng.getrandbits(width) & ~(1 << bit)), number(1 << bit)
        base = rng.getrandbits(width)
        yield number(base), number(base ^ 1 << bit)


SHAPES = [
    Shape(width, signed) for width in (1, 2, 3, 4) for signed in (False, True) if width > signed
]
WIDE = [Shape(width, signed) for width in (6, 7, 13, 17, 32, 33) for signed in (False, True)]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
@pytest.mark.parametrize("equality_bits", [1, 2, 3, 6])
def test_all_pairs_for_equality(shape, equality_bits):
    check_equality(shape, replace(PARAMETERS, equality_bits=equality_bits), all_pairs(shape))


@pytest.mark.parametrize("shape", WIDE, ids=repr)
@pytest.mark.parametrize("equality_bits", [1, 4, 6])
def test_wide_numbers_for_equality(shape, equality_bits):
    """Numbers that differ in one bit only, at every place, whatever part it falls in."""
    pairs = list(near_pairs(shape, f"{shape} {equality_bits}"))
    assert any(a == b for a, b in pairs)
    check_equality(shape, replace(PARAMETERS, equality_bits=equality_bits), pairs)


def check_equality(shape, parameters, pairs):
    component = Circuit(
        {"a": shape, "b": shape},
        lambda m, port: {"equal": late_equal(m, port.a, port.b, parameters)},
    )
    clocks = [{"a": a, "b": b} for a, b in pairs]
    seen = watch(component, clocks, component.outputs, settle=LATENCY)
    for (a, b), clock in zip(pairs, seen[LATENCY:], strict=True):
        assert clock["equal"] == (a == b), (a, b)


@pytest.mark.parametrize("equality_bits", [2, 6])
def test_equality_of_the_last_clock_that_was_enabled(equality_bits):
    """While nothing is enabled the answer stays, whatever stands on the ports."""
    parameters = replace(PARAMETERS, equality_bits=equality_bits)
    component = Circuit(
        {"a": 7, "b": 7, "enable": 1},
        lambda m, port: {"equal": late_equal(m, port.a, port.b, parameters, enable=port.enable)},
    )
    rng = random.Random(3)
    clocks, answers, answer = [], [], None
    for _ in range(600):
        a, enable = rng.getrandbits(7), int(rng.random() < 0.4)
        b = rng.choice((a, a ^ 1 << rng.randrange(7)))
        clocks.append({"a": a, "b": b, "enable": enable})
        answer = a == b if enable else answer
        answers.append(answer)
    seen = watch(component, clocks, component.outputs, settle=LATENCY)
    assert {True, False} <= set(answers)
    for answer, clock in zip(answers, seen[LATENCY:], strict=True):
        assert answer in (None, bool(clock["equal"]))


@pytest.mark.parametrize(("width", "other"), [(9, 4), (4, 9), (7, 6), (13, 1)])
def test_equality_of_unsigned_numbers_of_different_widths(width, other):
    """The missing bits are zeros, as in a comparison at once."""
    component = Circuit(
        {"a": width, "b": other},
        lambda m, port: {"equal": late_equal(m, port.a, port.b, PARAMETERS)},
    )
    rng = random.Random(width)
    clocks = []
    for _ in range(200):
        number = rng.getrandbits(min(width, other))
        more = rng.choice((0, 0, 1 << rng.randrange(max(width, other))))
        a, b = (number ^ more, number) if width > other else (number, number ^ more)
        clocks.append({"a": a, "b": b})
    seen = watch(component, clocks, component.outputs, settle=LATENCY)
    for clock, after in zip(clocks, seen[LATENCY:], strict=True):
        assert after["equal"] == (clock["a"] == clock["b"]), clock


@pytest.mark.parametrize("number", [0, 1, 0x155, 0x3FF])
def test_equality_with_a_constant(number):
    component = Circuit(
        {"a": 10},
        lambda m, port: {"equal": late_equal(m, port.a, Const(number, 10), PARAMETERS)},
    )
    others = [number, *(number ^ 1 << bit for bit in range(10)), number, 0, 0x3FF]
    seen = watch(component, [{"a": a} for a in others], component.outputs, settle=LATENCY)
    assert [clock["equal"] for clock in seen[LATENCY:]] == [a == number for a in others]


OR_EQUALS = {"never": 0, "always": 1, "as told": None}
"""Whether a number also exceeds its equal, as a constant or (None) as a signal tells."""


def check_order(shape, pairs, or_equals, compare, late):
    """Check the answers of a function of ``(m, a, b, *or_equals)``, ``late`` clocks later."""

    def logic(m, port):
        told = port.take if OR_EQUALS[or_equals] is None else Const(OR_EQUALS[or_equals], 1)
        rest = () if or_equals == "never" else (told,)
        return {"exceeds": compare(m, port.a, port.b, *rest)}

    component = Circuit({"a": shape, "b": shape, "take": 1}, logic)
    rng = random.Random(or_equals)
    clocks = [{"a": a, "b": b, "take": rng.getrandbits(1)} for a, b in pairs]
    seen = watch(component, clocks, component.outputs, settle=late)
    for clock, after in zip(clocks, seen[late:], strict=True):
        taken = clock["take"] if OR_EQUALS[or_equals] is None else OR_EQUALS[or_equals]
        a, b = clock["a"], clock["b"]
        assert after["exceeds"] == (a >= b if taken else a > b), clock


@pytest.mark.parametrize("or_equals", OR_EQUALS)
@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_all_pairs_for_order_at_once(width, or_equals):
    pairs = all_pairs(Shape(width)) * 2
    check_order(Shape(width), pairs, or_equals, lambda _, *rest: exceeds(*rest), 0)


@pytest.mark.parametrize("or_equals", OR_EQUALS)
@pytest.mark.parametrize("shape", SHAPES, ids=repr)
@pytest.mark.parametrize("order_bits", [1, 2, 3, 16])
def test_all_pairs_for_order(shape, or_equals, order_bits):
    """Numbers are compared in one piece, and in two halves of the same size or not."""
    parameters = replace(PARAMETERS, order_bits=order_bits)

    def compare(m, a, b, *rest):
        return late_exceeds(m, a, b, parameters, *rest)

    check_order(shape, all_pairs(shape) * 2, or_equals, compare, LATENCY)


@pytest.mark.parametrize("or_equals", OR_EQUALS)
@pytest.mark.parametrize("shape", WIDE, ids=repr)
def test_wide_numbers_for_order(shape, or_equals):
    """With the default parameters, numbers of 17 bits and more are compared in two halves."""

    def compare(m, a, b, *rest):
        return late_exceeds(m, a, b, PARAMETERS, *rest)

    pairs = list(near_pairs(shape, f"{shape} {or_equals}"))
    check_order(shape, pairs, or_equals, compare, LATENCY)


@pytest.mark.parametrize("width", [PARAMETERS.order_bits, PARAMETERS.order_bits + 1])
def test_only_wide_numbers_are_compared_in_halves(width):
    """One register holds the answer of one carry chain, three those of two and of the equality."""
    component = Circuit(
        {"a": width, "b": width},
        lambda m, port: {"exceeds": late_exceeds(m, port.a, port.b, PARAMETERS)},
    )
    registers = component.outputs["exceeds"]._rhs_signals()
    assert len(registers) == (3 if width > PARAMETERS.order_bits else 1)
    watch(component, [{"a": 0}], component.outputs)
