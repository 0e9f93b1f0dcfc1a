"""Credits: the flags that tell how many are in use, against a count in Python."""

import itertools
import random

import pytest
from amaranth.hdl import signed, unsigned
from gateware import Circuit, run, watch

from extremum.hdl.timing import Credits, TimingParameters

NARROW = TimingParameters(credit_bits=1)
"""Parameters that give the register no more bits than the count needs."""

BOTH_WAYS = signed(3)
"""Shape of a change of up to three credits, taken or returned in one clock."""


def flags(limit, changes, shape=BOTH_WAYS):
    """Return both flags, clock by clock, during some changes and after them.

    The credits are told exactly how many will be in use at most, so that their register is as
    narrow as it may be.
    """
    most = max(0, *itertools.accumulate(changes, initial=0))

    def logic(m, port):
        credits = Credits(m, NARROW, port.change, limit, most=most)
        return {"available": credits.available, "none_used": credits.none_used}

    component = Circuit({"change": shape}, logic)
    clocks = [{"change": change} for change in [*changes, 0]]
    return watch(component, clocks, component.outputs, settle=Credits.LATENCY)


def check(limit, changes, shape=BOTH_WAYS):
    """Compare the flags of every clock with the credits in use two clocks before."""
    seen, used = flags(limit, changes, shape), 0
    for number, clock in enumerate(seen):
        # What happens in a clock is told after the latency: not before, and not later.
        if number >= Credits.LATENCY:
            used += ([*changes, 0, 0, 0])[number - Credits.LATENCY]
        assert used >= 0, "the test returns more credits than it took"
        assert clock["available"] == (used < limit), (number, used)
        assert clock["none_used"] == (used == 0), (number, used)


LIMITS = [1, 2, 3, 5, 8, 14, 15, 16, 17, 40]


@pytest.mark.parametrize("limit", LIMITS)
def test_a_credit_may_be_taken_while_fewer_than_the_limit_are_in_use(limit):
    """The limit is met exactly, exceeded by what comes meanwhile, and met again from above."""
    up, beyond, down = [1] * limit, [1] * Credits.LATENCY, [-1] * (limit + Credits.LATENCY)
    check(limit, [*up, 0, 0, 0, *beyond, 0, 0, 0, *down, 0, 0, 0])


@pytest.mark.parametrize("limit", LIMITS)
def test_a_credit_taken_and_returned_around_the_limit(limit):
    check(limit, [*[1] * (limit - 1), *[1, -1] * 5, 1, 0, 0, *[-1, 1] * 5, *[-1] * limit])


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("most", [1, 2, 3])
def test_several_at_once(limit, most):
    """Up to three credits are taken or returned in a clock, often at the limit."""
    rng = random.Random(f"{limit} {most}")
    used, changes = 0, []
    for _ in range(400):
        full = limit + Credits.LATENCY
        change = rng.randint(max(-most, -used), min(most, full - used))
        # Sometimes it goes up to the limit, and stays there for a time.
        if rng.random() < 0.2:
            change = max(-most, min(most, limit - used))
        used += change
        changes.append(change)
    check(limit, changes)


@pytest.mark.parametrize("limit", [1, 3, 15])
def test_credits_that_are_never_returned(limit):
    """The change may be unsigned: a 1 of one bit is a credit taken, and no sign."""
    check(limit, [1] * limit + [0] * 5, unsigned(1))


@pytest.mark.parametrize("most", [7, 8, 9, 40])
def test_many_more_than_the_limit(most):
    """The credits beyond the limit may be more than the limit; the register must hold them too."""
    check(2, [*[1] * most, 0, 0, *[-1] * most, 0, 0])


def test_after_reset_none_is_used():
    (first, *_) = flags(3, [])
    assert first == {"available": 1, "none_used": 1}


@pytest.mark.parametrize("limit", LIMITS)
def test_latency_is_that_of_the_register_and_the_sum(limit):
    """A source that always takes a credit exceeds the limit by those of the latency, less one."""
    taken: list[int] = []

    def logic(m, port):
        most = limit + Credits.LATENCY - 1
        credits = Credits(m, NARROW, port.wish & port.allowed, limit, most=most)
        return {"available": credits.available}

    component = Circuit({"wish": 1, "allowed": 1}, logic)

    async def bench(context):
        available = component.outputs["available"]
        for _ in range(limit + 12):
            may = context.get(available)
            context.set(component.wish, 1)
            context.set(component.allowed, may)
            taken.append(may)
            await context.tick()

    run(component, bench)
    assert sum(taken) == limit + Credits.LATENCY - 1
    assert taken == sorted(taken, reverse=True)
