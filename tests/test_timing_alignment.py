"""Alignment by declaration: values that wait until they meet, and an error where they cannot."""

import random

import pytest
from amaranth.hdl import Const, Module, Shape, Signal, Value, signed, unsigned
from amaranth.lib import data
from gateware import Circuit, watch

from extremum.hdl.timing import AlignmentError, Timed, delay, registered
from extremum.hdl.timing.alignment import SIMULATOR_WORD

PAIR = data.StructLayout({"low": 3, "high": signed(5)})


def numbers(rng, shape, count):
    """Random numbers of a shape."""
    low = -(1 << shape.width - 1) if shape.signed else 0
    return [low + rng.getrandbits(shape.width) for _ in range(count)]


def check_delayed(shape, clocks, logic, seed=1):
    """Compare ``logic(m, value)`` with the value as it was so many clocks before."""
    component = Circuit({"value": shape}, lambda m, port: {"late": logic(m, port.value)})
    given = numbers(random.Random(seed), shape, clocks + 80)
    stimulus = [{"value": number} for number in given]
    seen = [clock["late"] for clock in watch(component, stimulus, component.outputs)]
    assert seen[clocks:] == given[: len(given) - clocks]
    return seen[:clocks]


@pytest.mark.parametrize(
    "shape",
    [unsigned(1), unsigned(3), signed(3), unsigned(8), signed(21), unsigned(33), signed(64),
     unsigned(65), unsigned(200)],
    ids=repr,
)  # fmt: skip
def test_a_delay_of_any_number_of_clocks(shape):
    """Several clocks share a register; the numbers around one and two full registers are tried."""
    share = max(1, SIMULATOR_WORD // shape.width)
    for clocks in sorted({0, 1, 2, share - 1, share, share + 1, 2 * share, 2 * share + 1}):
        before = check_delayed(shape, clocks, lambda m, value, n=clocks: delay(m, value, n))
        # What comes in the clocks after reset, before the first value, is 0.
        assert not any(before)


def test_a_delay_of_no_clock_is_the_signal_itself():
    m, value = Module(), Signal(5)
    m._MustUse__silence = True
    assert delay(m, value, 0) is value
    assert Timed(m, value, 7).at(7) is value


@pytest.mark.parametrize("constant", [Const(5, 3), Const(-1, signed(4)), Const(0, 0)], ids=repr)
def test_a_constant_needs_no_registers(constant):
    """A constant is the same in every clock, also in those after the reset."""
    m = Module()
    assert delay(m, constant, 9) is constant
    assert Timed(m, constant, 2).at(40) is constant
    assert not m._driving
    m._MustUse__silence = True


def test_a_value_of_no_bits_needs_no_registers():
    m, nothing = Module(), Signal(0)
    m._MustUse__silence = True
    assert delay(m, nothing, 3) is nothing


@pytest.mark.parametrize(("shape", "is_reset"), [(unsigned(1), True), (unsigned(2), False)])
def test_a_reset_clears_the_flags_that_are_delayed_alone(shape, is_reset):
    """Flags say what is valid; what they speak of may be anything until then."""
    component = Circuit(
        {"value": shape, "reset": 1}, lambda m, port: {"late": delay(m, port.value, 3)}
    )
    clocks = [{"value": 1, "reset": 0}] * 5 + [{"value": 1, "reset": 1}, {"value": 1, "reset": 0}]
    seen = watch(component, clocks, component.outputs)
    assert seen[-2]["late"] == 1
    assert seen[-1]["late"] == (0 if is_reset else 1)


@pytest.mark.parametrize(("valid", "asked"), [(0, 0), (0, 1), (-3, 2), (-5, -5), (-4, -1), (7, 90)])
def test_a_value_in_a_later_clock(valid, asked):
    """Clocks are counted from the stage's input, and those in front of it are negative."""
    check_delayed(signed(6), asked - valid, lambda m, value: Timed(m, value, valid).at(asked))
    check_delayed(
        signed(6), asked - valid, lambda m, value: Timed(m, value, valid).moved_to(asked).value
    )


def test_a_value_that_moved_is_valid_in_the_clock_it_moved_to():
    """So it is an error to ask for it in the clock in which it was valid before."""

    def logic(m, port):
        moved = Timed(m, port.value, 2).moved_to(6)
        assert moved.clock == 6
        with pytest.raises(AlignmentError, match="is valid in clock 6"):
            moved.at(5)
        return {"late": moved.at(7)}

    component = Circuit({"value": 4}, logic)
    given = numbers(random.Random(2), unsigned(4), 30)
    seen = watch(component, [{"value": number} for number in given], component.outputs)
    assert [clock["late"] for clock in seen[5:]] == given[:-5]


@pytest.mark.parametrize(("valid", "asked"), [(1, 0), (0, -1), (12, 11), (-2, -3)])
def test_a_value_that_is_asked_for_too_early_is_an_error(valid, asked):
    """The error names the value and both clocks; a constant is no exception."""
    m, word = Module(), Signal(4, name="word")
    m._MustUse__silence = True
    message = rf"word.* is valid in clock {valid} of its stage, and is needed in clock {asked}$"
    with pytest.raises(AlignmentError, match=message):
        Timed(m, word, valid).at(asked)
    with pytest.raises(AlignmentError, match=message):
        Timed(m, word, valid).moved_to(asked)
    with pytest.raises(AlignmentError):
        Timed(m, Const(0, 4), valid).at(asked)
    assert issubclass(AlignmentError, ValueError)


def test_a_component_that_is_misaligned_does_not_elaborate():
    """The error comes when the core is made, and not as a wrong result of it."""

    class Misaligned(Circuit):
        def elaborate(self, platform):
            m = Module()
            m._MustUse__silence = True  # pyright: ignore[reportAttributeAccessIssue]
            self.logic._MustUse__silence = True  # pyright: ignore[reportAttributeAccessIssue]
            m.d.comb += Signal(4).eq(Timed(m, self.value, 3).at(2))
            return m

    with pytest.raises(AlignmentError, match="is valid in clock 3"):
        watch(Misaligned({"value": 4}, lambda m, port: {}), [], {})


def test_a_view_stays_a_view():
    """The fields of a structure can be taken from what was delayed."""

    def logic(m, port):
        late = Timed(m, port.pair, 1).at(4)
        assert isinstance(late, data.View)
        assert late.shape() is PAIR
        assert Timed(m, port.pair, 1).at(1) is port.pair
        return {"low": late.low, "high": late.high}

    component = Circuit({"pair": PAIR}, logic)
    rng = random.Random(3)
    given = [(rng.getrandbits(3), rng.getrandbits(5) - 16) for _ in range(40)]
    clocks = [{"pair": PAIR.const({"low": low, "high": high}).as_bits()} for low, high in given]
    seen = watch(component, clocks, component.outputs)
    assert [(clock["low"], clock["high"]) for clock in seen[3:]] == given[:-3]


@pytest.mark.parametrize("shape", [unsigned(1), signed(5)], ids=repr)
@pytest.mark.parametrize("clock", [0, 6])
def test_a_value_in_a_register_of_its_own(shape, clock):
    """The register takes the value in a clock, is valid in the next, and has a name and shape."""

    def logic(m, value):
        taken = registered(m, value, clock, name="own")
        assert taken.clock == clock + 1
        assert isinstance(taken.value, Signal)
        assert taken.value.name == "own"
        assert taken.value.shape() == Shape.cast(shape)
        return taken.value

    check_delayed(shape, 1, logic)


def test_a_reset_does_not_clear_a_register_of_its_own():
    component = Circuit(
        {"value": PAIR, "reset": 1},
        lambda m, port: {"own": registered(m, port.value, 0, name="own").value},
    )
    clocks = [{"value": 0x7F, "reset": 0}, {"value": 0x7F, "reset": 1}, {"value": 0, "reset": 0}]
    seen = watch(component, clocks, component.outputs)
    assert [clock["own"] for clock in seen] == [0, 0x7F, 0x7F]
    assert isinstance(Value.cast(component.outputs["own"]), Signal)
