"""The buffers of the AXI block: a stream comes out as it went in, without a gap of their making."""

import random

import pytest
from gateware import run

from extremum.hdl.axi.buffers import InputBuffer, OutputBuffer, OutputRegister

WIDTH = 8
WORDS = 300


@pytest.mark.parametrize("gaps", [0, 0.5, 0.9])
@pytest.mark.parametrize("stalls", [0, 0.5, 0.9])
@pytest.mark.parametrize("buffer", [InputBuffer, OutputBuffer, OutputRegister])
def test_a_buffer_keeps_order_and_rate(buffer, stalls, gaps):
    """A word that is offered stays; one comes out a clock after it went in, if nothing stalls."""
    component, rng = buffer(WIDTH), random.Random(f"{stalls} {gaps}")
    words = [rng.getrandbits(WIDTH) for _ in range(WORDS)]
    has_one = buffer is OutputRegister
    given: list[int] = []
    taken: list[tuple[int, int]] = []
    most = 0

    async def bench(context):
        nonlocal most
        clock, offers, kept = 0, False, None
        while len(taken) < WORDS:
            offers = offers or (len(given) < WORDS and rng.random() >= gaps)
            ready = rng.random() >= stalls
            context.set(component.i_valid, offers)
            # A word that is not offered means nothing.
            word = words[len(given)] if offers else rng.getrandbits(WIDTH)
            context.set(component.i_data, word)
            context.set(component.o_ready, not ready)
            accepts = context.get(component.i_ready)
            context.set(component.o_ready, ready)
            if has_one:
                accepts = context.get(component.i_ready)
                assert accepts == (ready or len(given) == len(taken))
            else:
                # Neither port looks through to the other.
                assert context.get(component.i_ready) == accepts
            valid, data = context.get(component.o_valid), context.get(component.o_data)
            assert valid == (len(given) > len(taken))
            assert kept in (None, data)
            kept = data if valid and not ready else None
            if valid and ready:
                taken.append((clock, data))
            if offers and accepts:
                given.append(clock)
                offers = False
            most = max(most, len(given) - len(taken))
            await context.tick()
            clock += 1
            assert clock < 50 * WORDS
        assert not context.get(component.o_valid)

    run(component, bench)
    assert [word for _, word in taken] == words
    late = [out - into for (out, _), into in zip(taken, given, strict=True)]
    assert min(late) == 1
    if stalls:
        assert most == (1 if has_one else 2)
    else:
        assert set(late) == {1}
    if not stalls and not gaps:
        # A buffer takes nothing in the clock of the reset.
        first = 0 if has_one else 1
        assert given == list(range(first, WORDS + first))


@pytest.mark.parametrize(
    ("buffer", "words"), [(InputBuffer, 2), (OutputBuffer, 2), (OutputRegister, 1)]
)
def test_a_full_buffer_gives_its_words_and_goes_on(buffer, words):
    """After a stall it takes a word again a clock later, so the sink never misses one."""
    component = buffer(WIDTH)

    async def bench(context):
        context.set(component.i_valid, 1)
        sent, taken = 0, []
        for clock in range(20):
            context.set(component.o_ready, clock >= 5)
            context.set(component.i_data, sent)
            if clock >= 5:
                assert context.get(component.o_valid)
                taken.append(context.get(component.o_data))
            sent += context.get(component.i_ready)
            await context.tick()
            if clock == 4:
                assert sent == words
        assert taken == list(range(15))

    run(component, bench)


def test_what_waits_is_dropped():
    """The word that is offered stays, whenever it is taken; the one behind it never comes."""
    component = OutputBuffer(WIDTH)

    async def bench(context):
        for late in range(4):
            context.set(component.o_ready, 0)
            for word in (1, 2):
                context.set(component.i_valid, 1)
                context.set(component.i_data, word)
                await context.tick().until(component.i_ready)
            assert not context.get(component.i_ready)
            context.set(component.i_data, 3)
            context.set(component.drops, 1)
            context.set(component.o_ready, late == 0)
            assert (context.get(component.o_valid), context.get(component.o_data)) == (1, 1)
            await context.tick()
            context.set(component.drops, 0)
            context.set(component.i_valid, 0)
            for clock in range(1, 8):
                assert context.get(component.o_valid) == (clock <= late)
                assert clock > late or context.get(component.o_data) == 1
                context.set(component.o_ready, clock >= late)
                await context.tick()

    run(component, bench)


def test_what_comes_is_dropped():
    """In front of a register nothing waits: a word is dropped in the clock in which it comes."""
    component = OutputRegister(WIDTH)

    async def bench(context):
        async def clock(*, comes, drops, ready):
            context.set(component.i_valid, comes is not None)
            context.set(component.i_data, comes or 0)
            context.set(component.drops, drops)
            context.set(component.o_ready, ready)
            accepted = context.get(component.i_ready)
            await context.tick()
            return accepted, context.get(component.o_valid), context.get(component.o_data)

        assert await clock(comes=1, drops=0, ready=0) == (1, 1, 1)
        assert await clock(comes=2, drops=1, ready=0) == (0, 1, 1)
        # The offered word leaves, and the one behind it is taken and lost.
        assert (await clock(comes=2, drops=1, ready=1))[:2] == (1, 0)
        assert (await clock(comes=3, drops=1, ready=0))[:2] == (1, 0)
        assert await clock(comes=4, drops=0, ready=0) == (1, 1, 4)

    run(component, bench)


@pytest.mark.parametrize("buffer", [OutputBuffer, OutputRegister])
@pytest.mark.parametrize("often", [0.1, 0.5])
def test_no_other_word_is_lost_where_some_are_dropped(buffer, often):
    """The word that is offered stays; what waits or comes is dropped, and nothing behind it."""
    component, rng = buffer(WIDTH), random.Random(often)

    async def bench(context):
        held: list[int] = []
        dropped = kept = 0
        for clock in range(3000):
            word, offers, ready = rng.getrandbits(WIDTH), rng.random() < 0.7, rng.random() < 0.5
            drops = rng.random() < often
            for port, value in (
                (component.i_valid, offers), (component.i_data, word),
                (component.drops, drops), (component.o_ready, ready),
            ):  # fmt: skip
                context.set(port, value)
            assert context.get(component.o_valid) == bool(held), clock
            assert not held or context.get(component.o_data) == held[0]
            leaves = bool(held) and ready
            comes = offers and context.get(component.i_ready)
            before = len(held) + comes
            if drops:
                held = held[:1]
            elif comes:
                held.append(word)
            dropped, kept = dropped + before - len(held), kept + leaves
            held = held[leaves:]
            await context.tick()
        assert dropped > 100
        assert kept > 100

    run(component, bench)
