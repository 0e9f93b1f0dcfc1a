"""The packets on ``s_axis``, against a model: a job's beats pass, what is too much is dropped."""

import random
from dataclasses import dataclass

import pytest
from amounts import mostly_slow
from gateware import run

from extremum.hdl.axi.input_packets import InputPackets

WATCHDOG = 200


@dataclass(frozen=True)
class Packet:
    """A job's packet: the beats that it needs, and those that it has; or it is to be dropped."""

    needed: int
    sent: int
    is_refused: bool = False


def model(packets):
    """Return what leaves: the number of each input beat, or None for one in place of a missing one.

    Behind a job's last beat stands what was wrong with its packet.
    """
    events: list[object] = []
    first = 0
    for packet in packets:
        if packet.is_refused:
            events.append("refused")
        else:
            events += range(first, first + min(packet.sent, packet.needed))
            if packet.sent < packet.needed:
                events += [*[None] * (packet.needed - packet.sent), "early"]
            elif packet.sent > packet.needed:
                events.append("late")
        first += packet.sent
    return events


class Core:
    """What the core does with the packets of jobs: it takes their beats, one job after the other.

    Each job begins up to ``waits`` clocks later than it could, and has one of the numbers
    ``more_slots`` of slots that need no beat behind its last beat. ``is_plane`` tells that the end
    of a job is known a clock late, as in a core whose jobs are single planes: then the job is still
    active in that clock, and the next one may begin in it.
    """

    def __init__(self, packets, rng, *, stalls=0.0, waits=0, is_plane=False, more_slots=(0, 1, 4)):
        self._packets, self._rng, self._stalls, self._waits = list(packets), rng, stalls, waits
        self._is_plane, self._more_slots = is_plane, (0,) if is_plane else more_slots
        self._beats = self._slots = 0
        self.ended = self.drop = self.is_ready = False
        self._is_late = False
        self._wait = 0

    @property
    def is_done(self):
        return not (self._packets or self.active or self.ended or self.drop)

    @property
    def active(self):
        return self._beats + self._slots > 0 or self._is_late

    def begin(self):
        """Begin a clock: a job may begin, and a slot may be ready to enter."""
        rng = self._rng
        if self._packets and not self.drop:
            if self._packets[0].is_refused:
                # It is refused as soon as the job in front of it has begun.
                if self._waited():
                    del self._packets[0]
                    self.drop = True
            elif self._beats + self._slots == 0 and self._waited():
                self._beats = self._packets.pop(0).needed
                self._slots = rng.choice(self._more_slots)
        self.is_ready = self._beats > 0 and rng.random() >= self._stalls

    def _waited(self):
        self._wait += 1
        if self._wait <= self._waits:
            return self._rng.random() < 0.1
        self._wait = 0
        return True

    def end(self, takes, dropped):
        """End the clock, in which a beat was taken or not."""
        was = self._beats + self._slots
        if takes:
            self._beats -= 1
        elif self._beats == 0 and self._slots and self._rng.random() >= self._stalls:
            self._slots -= 1
        self.ended = was > 0 and self._beats + self._slots == 0
        self._is_late = self._is_plane and self.ended
        self.drop = self.drop and not dropped


def carry_out(packets, rng, *, gaps=0.0, **of_core):
    """Run packets one behind the other; return what left, and the clocks in which beats did."""
    component = InputPackets()
    lasts = [beat == packet.sent - 1 for packet in packets for beat in range(packet.sent)]
    events: list[object] = []
    clocks: list[int] = []

    async def bench(context):
        sent, clock, moved, offers, kept = 0, 0, 0, False, False
        core = Core(packets, rng, **of_core)
        while sent < len(lasts) or not core.is_done:
            core.begin()
            offers = offers or (sent < len(lasts) and rng.random() >= gaps)
            context.set(component.intake.active, core.active)
            context.set(component.intake.ended, core.ended)
            context.set(component.drop, core.drop)
            context.set(component.i_valid, offers)
            # Without a beat, TLAST means nothing.
            context.set(component.i_last, lasts[sent] if offers else rng.getrandbits(1))
            context.set(component.o_ready, core.is_ready)
            # What was wrong is told before the next job's first beat.
            for name in ("early", "late", "refused"):
                if context.get(getattr(component, name)):
                    events.append(name)
            valid = context.get(component.o_valid)
            assert valid or not kept, "what was offered went before it was taken"
            takes = offers and context.get(component.i_ready)
            if given := valid and core.is_ready:
                # A beat that leaves and is not taken in this clock is one in place of another.
                events.append(sent if takes else None)
                clocks.append(clock)
            dropped = context.get(component.dropped)
            assert not dropped or core.drop
            if takes:
                assert given or context.get(component.busy)
                sent += 1
                offers = False
            was_active = core.active
            core.end(given, dropped)
            kept = valid and not given and was_active and not core.ended
            await context.tick()
            moved = clock if takes or given else moved
            clock += 1
            assert clock < moved + WATCHDOG, "nothing moves any more"
        for flag in (component.intake.active, component.intake.ended, component.drop):
            context.set(flag, 0)
        context.set(component.i_valid, 0)
        for _ in range(4):
            await context.tick()
            assert not context.get(component.o_valid)
            assert not context.get(component.busy)

    run(component, bench)
    return events, clocks


@pytest.mark.parametrize("is_plane", [False, True])
def test_packets_of_the_right_length_pass_without_a_gap(is_plane):
    lengths = [1, 1, 2, 1, 3, 1, 1, 20, 2, 1]
    packets = [Packet(length, length) for length in lengths]
    events, clocks = carry_out(packets, random.Random(1), is_plane=is_plane, more_slots=(0,))
    assert events == model(packets)
    assert clocks == list(range(clocks[0], clocks[0] + sum(lengths)))


@pytest.mark.parametrize("rate", mostly_slow([0, 0.4, 0.8], [0, 0.4]))
@pytest.mark.parametrize("waits", [0, 20])
@pytest.mark.parametrize("is_plane", [False, True])
def test_packets_of_any_length(rate, waits, is_plane):
    """Too short, too long, or of a refused job; with stalls on both sides."""
    rng = random.Random(f"{rate} {waits} {is_plane}")
    packets = []
    for _ in range(200):
        needed = rng.choice((1, 1, 2, 3, 7, 8, 17, 40))
        sent = max(1, rng.choice((needed, needed, needed - 1, needed + 1, rng.randint(1, 30))))
        packets.append(Packet(needed, sent, rng.random() < 0.2))
    kinds = model(packets)
    assert min(kinds.count(kind) for kind in ("early", "late", "refused", None)) > 10
    events, _ = carry_out(packets, rng, gaps=rate, stalls=rate, waits=waits, is_plane=is_plane)
    assert events == kinds
