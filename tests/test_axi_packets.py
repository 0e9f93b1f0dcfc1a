"""The packets on ``s_axis``, against a model: a job's beats pass, what is too much is dropped."""

import random
from dataclasses import dataclass

import pytest
from gateware import run

from extremum.hdl.axi import input_packets, zero
from extremum.hdl.axi.commands import ANSWER, packet_layout
from extremum.hdl.axi.input_packets import InputPackets
from extremum.hdl.config import CoreConfig

CONFIG = CoreConfig(max_window=(1, 1, 1))
BITS = packet_layout(CONFIG)["input_beats"].width

WATCHDOG = 200


@dataclass(frozen=True)
class Packet:
    """A job's packet: the beats that it needs, and those that it has; or it is to be dropped."""

    needed: int
    sent: int
    is_refused: bool = False


def model(packets):
    """Return what leaves: the number of each input beat, or None for one in place of a missing one.

    Behind the beat in which TLAST is wrong stands which way it is.
    """
    events: list[object] = []
    first = 0
    for packet in packets:
        if not packet.is_refused:
            events += range(first, first + min(packet.sent, packet.needed))
            if packet.sent < packet.needed:
                events += ["early", *[None] * (packet.needed - packet.sent)]
            elif packet.sent > packet.needed:
                events.append("late")
        first += packet.sent
    return events


def carry_out(packets, rng, *, gaps=0.0, stalls=0.0, waits=0):
    """Run packets one behind the other; return what left, and the clocks in which beats did.

    Each job is offered up to ``waits`` clocks later than it could be.
    """
    component = InputPackets(CONFIG)
    lasts = [beat == packet.sent - 1 for packet in packets for beat in range(packet.sent)]
    events: list[object] = []
    clocks: list[int] = []

    async def jobs(context):
        """Offer the jobs as the block does: their registers stay until the packet is expected."""
        for packet in packets:
            context.set(component.packet.input_beats, packet.needed - 1)
            for _ in range(ANSWER + rng.randint(0, waits)):
                assert not context.get(component.expected)
                assert not context.get(component.dropped)
                await context.tick()
            asked, answer = (
                (component.drop, component.dropped) if packet.is_refused
                else (component.expects, component.expected)
            )  # fmt: skip
            context.set(asked, 1)
            while not context.get(answer):
                assert not context.get(component.expected | component.dropped)
                await context.tick()
            await context.tick()
            context.set(asked, 0)
            context.set(component.packet.input_beats, rng.getrandbits(BITS))

    async def bench(context):
        sent, clock, moved, offers, kept = 0, 0, 0, False, False
        left = sum(packet.needed for packet in packets if not packet.is_refused)
        while sent < len(lasts) or left:
            offers = offers or (sent < len(lasts) and rng.random() >= gaps)
            ready = rng.random() >= stalls
            context.set(component.i_valid, offers)
            # Without a beat, TLAST means nothing.
            context.set(component.i_last, lasts[sent] if offers else rng.getrandbits(1))
            context.set(component.o_ready, ready)
            valid = context.get(component.o_valid)
            assert valid or not kept, "what was offered went before it was taken"
            kept = valid and not ready
            takes = offers and context.get(component.i_ready)
            if valid and ready:
                # A beat that leaves and is not taken in this clock is one in place of another.
                events.append(sent if takes else None)
                clocks.append(clock)
                left -= 1
            for name in ("early", "late"):
                if context.get(getattr(component, name)):
                    events.append(name)
            if takes:
                assert context.get(component.busy)
                sent += 1
                offers = False
            await context.tick()
            assert left >= 0, "a beat too many left"
            moved = clock if takes or (valid and ready) else moved
            clock += 1
            assert clock < moved + WATCHDOG, "nothing moves any more"
        for _ in range(4):
            await context.tick()
            assert not context.get(component.o_valid)
        assert not context.get(component.busy)

    run(component, bench, jobs)
    return events, clocks


def exact(lengths):
    return [Packet(length, length) for length in lengths]


@pytest.mark.parametrize("waits", [0, 9])
def test_the_last_beat_is_known_around_every_borrow(waits):
    """Packets of the right length follow each other without a gap, if their jobs come in time."""
    lengths = [256, 20, 257, 255, 512, 19, 513, 511, 1025, 18, 18, 768, 2, 1, 1, 300]
    events, clocks = carry_out(exact(lengths), random.Random(waits), waits=waits)
    assert events == model(exact(lengths))
    if not waits:
        gapless = sum(lengths[: lengths.index(2) + 1])
        assert clocks[:gapless] == list(range(clocks[0], clocks[0] + gapless))


@pytest.mark.parametrize(("gaps", "stalls"), [(0, 0), (0.3, 0.3)])
def test_the_upper_bits_of_the_count(monkeypatch, gaps, stalls):
    """With so short parts that packets reach the bits which nobody simulates in full length."""
    monkeypatch.setattr(input_packets, "LOW_BITS", 3)
    monkeypatch.setattr(zero, "SEGMENT", 2)
    rng = random.Random(4)
    lengths = [
        *range(1, 70),
        *(near for bit in (7, 8, 9, 10) for near in (1 << bit, (1 << bit) + 1)),
    ]
    if gaps:
        lengths = [length for length in lengths if length < 300]
    rng.shuffle(lengths)
    events, _ = carry_out(exact(lengths), rng, gaps=gaps, stalls=stalls, waits=2)
    assert events == model(exact(lengths))


@pytest.mark.parametrize("rate", [0, 0.4, 0.8])
@pytest.mark.parametrize("waits", [0, 20])
def test_packets_of_any_length(monkeypatch, rate, waits):
    """Too short, too long, or of a refused job; with stalls on both sides."""
    monkeypatch.setattr(input_packets, "LOW_BITS", 3)
    rng = random.Random(f"{rate} {waits}")
    packets = []
    for _ in range(120):
        needed = rng.choice((1, 2, 3, 7, 8, 9, 17, 40))
        sent = max(1, rng.choice((needed, needed, needed - 1, needed + 1, rng.randint(1, 30))))
        packets.append(Packet(needed, sent, rng.random() < 0.2))
    kinds = model(packets)
    assert min(kinds.count(kind) for kind in ("early", "late", None)) > 10
    events, _ = carry_out(packets, rng, gaps=rate, stalls=rate, waits=waits)
    assert events == kinds
