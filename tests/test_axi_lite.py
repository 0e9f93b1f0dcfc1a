"""The AXI4-Lite port against the rules of its channels, with a master and registers that rest."""

import random

import pytest
from gateware import run

from extremum.hdl.axi.lite import AxiLitePort, Response
from extremum.hdl.axi.register_map import ADDRESS_BITS, WORD_BITS, WORD_BYTES

COUNT = 120


class Channel:
    """A side that offers words: each stays until it is taken.

    Parameters
    ----------
    words
        Fields of each word, by the names of their signals.
    """

    def __init__(self, context, axi, name, words, rest, rng):
        self._context, self._axi, self._name, self._rng = context, axi, name, rng
        self.words, self._rest, self.sent, self._offers = words, rest, 0, False

    def offer(self):
        """Set the signals of a clock; return whether a word is taken in it."""
        context, axi, name = self._context, self._axi, self._name
        more = self.sent < len(self.words)
        self._offers = self._offers or (more and self._rng.random() >= self._rest)
        context.set(getattr(axi, f"{name}valid"), self._offers)
        if not self.words:
            return False
        for field, value in self.words[self.sent if more else 0].items():
            signal = getattr(axi, field)
            noise = self._rng.getrandbits(len(signal))
            context.set(signal, value if self._offers else noise)
        takes = self._offers and bool(context.get(getattr(axi, f"{name}ready")))
        if takes:
            self.sent, self._offers = self.sent + 1, False
        return takes


class Answers:
    """A side that takes answers, and checks that each stays until it is taken."""

    def __init__(self, context, axi, name, fields, rest, rng):
        self._context, self._axi, self._name, self._rng = context, axi, name, rng
        self._fields, self._rest, self._kept = fields, rest, None
        self.taken: list[tuple[int, ...]] = []

    def take(self):
        context, axi, name = self._context, self._axi, self._name
        ready = self._rng.random() >= self._rest
        context.set(getattr(axi, f"{name}ready"), ready)
        valid = context.get(getattr(axi, f"{name}valid"))
        word = tuple(context.get(getattr(axi, field)) for field in self._fields)
        assert self._kept is None or (valid and word == self._kept)
        self._kept = word if valid and not ready else None
        if valid and ready:
            self.taken.append(word)


@pytest.mark.parametrize(
    ("address", "data", "answer", "registers"),
    [
        (0, 0, 0, 0),
        (0.8, 0, 0, 0),
        (0, 0.8, 0, 0),
        (0, 0, 0.9, 0),
        (0, 0, 0, 0.8),
        (0.5, 0.5, 0.5, 0.5),
    ],
)
def test_every_write_is_asked_for_once(address, data, answer, registers):
    """Address and data come in any order, also before the answer to the write before is taken.

    The registers make writes wait, too.
    """
    port, rng = AxiLitePort(), random.Random(f"{address} {data} {answer} {registers}")
    writes = [
        (rng.getrandbits(ADDRESS_BITS), rng.getrandbits(WORD_BITS), rng.getrandbits(WORD_BYTES))
        for _ in range(COUNT)
    ]
    errors = [rng.getrandbits(1) for _ in writes]
    asked: list[tuple[int, ...]] = []
    clocks: list[int] = []

    async def bench(context):
        axi, bus = port.axi, port.bus
        places = [{"awaddr": place} for place, _, _ in writes]
        words = [{"wdata": word, "wstrb": strobes} for _, word, strobes in writes]
        sources = [
            Channel(context, axi, "aw", places, address, rng),
            Channel(context, axi, "w", words, data, rng),
        ]
        sink = Answers(context, axi, "b", ["bresp"], answer, rng)
        told, answered, clock = (bus.write_address, bus.write_data, bus.write_strobes), None, 0
        while len(sink.taken) < COUNT:
            for source in sources:
                source.offer()
            sink.take()
            # The clock behind the one in which the write was asked for.
            if answered is not None:
                assert tuple(context.get(signal) for signal in told) == asked[-1]
            context.set(bus.write_error, rng.getrandbits(1) if answered is None else answered)
            context.set(bus.write_waits, rng.random() < registers)
            answered = None
            if context.get(bus.write):
                assert not context.get(bus.write_waits)
                asked.append(tuple(context.get(signal) for signal in told))
                clocks.append(clock)
                answered = errors[len(asked) - 1]
            await context.tick()
            clock += 1
            assert clock < 50 * COUNT
        assert not context.get(axi.bvalid)

    run(port, bench)
    assert asked == [(place >> 2, word, strobes) for place, word, strobes in writes]
    rests = address + data + answer + registers
    assert not rests or clocks[-1] > 3 * COUNT
    if not rests:
        assert clocks == list(range(clocks[0], clocks[0] + 2 * COUNT, 2))


@pytest.mark.parametrize(("address", "answer"), [(0, 0), (0.8, 0), (0, 0.8), (0.5, 0.5)])
def test_every_read_is_asked_for_once(address, answer):
    """The registers answer soon or late; their word changes when the next read comes."""
    port, rng = AxiLitePort(), random.Random(f"{address} {answer}")
    places = [rng.getrandbits(ADDRESS_BITS) for _ in range(COUNT)]
    wanted: list[tuple[int, ...]] = []
    asked: list[int] = []

    async def bench(context):
        axi, bus = port.axi, port.bus
        source = Channel(context, axi, "ar", [{"araddr": place} for place in places], address, rng)
        sink = Answers(context, axi, "r", ["rdata", "rresp"], answer, rng)
        wait, clock, following = None, 0, None
        while len(sink.taken) < COUNT:
            if following is not None:
                context.set(bus.read_data, following)
                following = None
            source.offer()
            sink.take()
            read, done = context.get(bus.read), False
            if read:
                if wait is None:
                    asked.append(context.get(bus.read_address))
                    wait = rng.choice((0, 1, 2, 9))
                assert asked[-1] == context.get(bus.read_address)
                context.set(bus.read_data, rng.getrandbits(WORD_BITS))
                done, wait = wait == 0, wait - 1
            error = rng.getrandbits(1)
            context.set(bus.read_error, error)
            # Without a read, the flag means nothing.
            context.set(bus.read_done, done if read else rng.getrandbits(1))
            if done:
                following, wait = rng.getrandbits(WORD_BITS), None
                wanted.append((following, Response.SLVERR if error else Response.OKAY))
            await context.tick()
            clock += 1
            assert clock < 100 * COUNT
        assert not context.get(axi.rvalid)
        assert sink.taken == wanted

    run(port, bench)
    assert asked == [place >> 2 for place in places]
