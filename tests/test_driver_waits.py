"""How long the transport over DMA channels waits, on a clock and on channels that tests set."""

from typing import Any

import numpy as np
import pytest
from driver_parts import Idle

from extremum.hdl.axi.streams import VALUES
from extremum.host.driver import dma
from extremum.host.driver.dma import DmaTransport
from extremum.host.errors import DeviceError


class Clock:
    """Stands for the module ``time``: each look at it takes some seconds."""

    def __init__(self, step):
        self.now, self._step = 0.0, step

    def monotonic(self):
        self.now += self._step
        return self.now


def waiting(monkeypatch, step, **options):
    """Return a clock, a channel on which a packet is awaited, the transport, and what has come."""
    clock, sink, come = Clock(step), Idle(), []
    monkeypatch.setattr(dma, "time", clock)
    registers: Any = None
    transport = DmaTransport(registers, Idle(), {VALUES: sink}, np.empty, **options)
    transport.receive(VALUES, 8, lambda part, last: come.append((len(part), last)))
    return clock, sink, transport, come


def wait_on(transport):
    for _ in range(1000):
        transport.wait()


def test_without_an_interrupt_a_wait_ends_after_a_short_time(monkeypatch):
    clock, _, transport, _ = waiting(monkeypatch, dma.LOOK_SECONDS / 8)
    before = clock.now
    assert transport.wait() is True
    assert dma.LOOK_SECONDS <= clock.now - before < 2 * dma.LOOK_SECONDS


@pytest.mark.parametrize("interrupt", [None, lambda: False])
@pytest.mark.parametrize("seconds", [2.0, 20.0])
def test_a_packet_is_given_up_after_some_time(monkeypatch, interrupt, seconds):
    clock, sink, transport, come = waiting(
        monkeypatch, seconds / 16, interrupt=interrupt, seconds=seconds
    )
    before = clock.now
    with pytest.raises(DeviceError, match=rf"^no packet has come for {seconds} s$"):
        wait_on(transport)
    # This clock also goes on between two waits, which is not counted: without an interrupt it does
    # so as often as within one.
    assert seconds < clock.now - before < (1.5 if interrupt else 2.2) * seconds
    # The time begins anew with each packet that comes.
    sink.idle = True
    transport.wait()
    assert come == [(8, True)]
    transport.receive(VALUES, 8, lambda *_: None)
    sink.idle = False
    before = clock.now
    with pytest.raises(DeviceError, match="no packet has come"):
        wait_on(transport)
    assert clock.now - before > 0.9 * seconds


def test_a_packet_ends_a_wait_for_several(monkeypatch):
    """The time in which the next one must come begins with it, and not with its request."""
    clock, sink, transport, come = waiting(
        monkeypatch, 1 / 64, interrupt=lambda: False, seconds=1.0
    )
    transport.receive(VALUES, 8, lambda part, last: come.append("second"))
    sink.idle = True
    before = clock.now
    assert transport.wait() is False
    assert come == [(8, True)]
    assert clock.now - before < 0.1
    # It has begun to wait for the second packet.
    before = clock.now
    with pytest.raises(DeviceError, match="no packet has come"):
        transport.wait()
    assert 1.0 < clock.now - before < 1.1
    sink.idle = True
    transport.wait()
    assert come == [(8, True), "second"]


def test_a_packet_that_is_not_sent_is_given_up_after_some_time(monkeypatch):
    clock = Clock(1 / 64)
    monkeypatch.setattr(dma, "time", clock)
    registers: Any = None
    transport = DmaTransport(registers, Idle(), {}, np.empty, interrupt=lambda: False, seconds=2.0)
    transport.send([np.zeros(8, np.uint8)], 8)
    before = clock.now
    with pytest.raises(DeviceError, match=r"^no packet has come for 2\.0 s$"):
        transport.wait()
    assert 2.0 < clock.now - before < 2.1


def test_an_interrupt_ends_a_wait(monkeypatch):
    _, sink, transport, _ = waiting(monkeypatch, 0.0, interrupt=lambda: True)
    assert transport.wait() is True
    sink.idle = True
    _, sink, transport, come = waiting(monkeypatch, 0.0, interrupt=lambda: False)
    sink.idle = True
    assert transport.wait() is False
    assert come == [(8, True)]


def test_without_a_view_of_the_interrupt_it_may_have_come_with_any_packet(monkeypatch):
    """So the driver looks at the register behind each packet."""
    _, sink, transport, come = waiting(monkeypatch, 0.0)
    sink.idle = True
    assert transport.wait() is True
    assert come == [(8, True)]
    _, sink, transport, come = waiting(monkeypatch, 0.0, interrupt=lambda: True)
    sink.idle = True
    assert transport.wait() is True
    assert come == [(8, True)]


def test_options_are_given_by_name():
    registers: Any = None
    with pytest.raises(TypeError, match="positional"):
        DmaTransport(registers, Idle(), {}, np.empty, lambda: True)  # pyright: ignore


def test_behind_stopped_channels_transfers_are_forgotten(monkeypatch):
    """So the first packet behind a soft reset is not given to a job in front of it."""
    freed = []

    class Buffer(np.ndarray):
        def freebuffer(self):
            freed.append(len(self))

    _, sink, transport, come = waiting(monkeypatch, 0.0, interrupt=lambda: True)
    monkeypatch.setattr(transport, "_allocate", lambda *given: np.empty(*given).view(Buffer))
    transport.receive(VALUES, 5, lambda *_: come.append("old"))
    sink.idle = True  # it was stopped
    transport.stop()
    assert freed == [5]
    transport.receive(VALUES, 3, lambda part, last: come.append((len(part), last)))
    assert not sink.idle
    sink.idle = True
    transport.wait()
    assert come == [(3, True)]
    assert freed == [5, 3]


def test_the_buffer_of_a_packet_that_is_refused_is_freed(monkeypatch):
    freed = []

    class Buffer(np.ndarray):
        def freebuffer(self):
            freed.append(len(self))

    def refuse(part, last):
        raise DeviceError("it is too short")

    _, sink, transport, _ = waiting(monkeypatch, 0.0, interrupt=lambda: True)
    sink.idle = True
    transport.wait()
    monkeypatch.setattr(transport, "_allocate", lambda *given: np.empty(*given).view(Buffer))
    transport.receive(VALUES, 5, refuse)
    sink.idle = True
    with pytest.raises(DeviceError, match=r"^it is too short$"):
        transport.wait()
    assert freed == [5]


def test_the_time_that_the_host_needs_is_no_waiting(monkeypatch):
    """The input is gathered after the packet of results was asked for, and may take long."""
    clock, sink, transport, come = waiting(monkeypatch, 0.001, seconds=1.0)
    for _ in range(3):
        clock.now += 100
        transport.wait()
    sink.idle = True
    transport.wait()
    assert come == [(8, True)]
