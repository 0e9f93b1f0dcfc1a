"""A transport over memory-mapped registers and DMA channels, in the manner of PYNQ.

It has been tried against a simulated block with channels that behave as PYNQ's do, and on no board.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Protocol

import numpy as np

from extremum.hdl.axi.streams import INPUT
from extremum.host.driver.transport import Part
from extremum.host.errors import DeviceError
from extremum.host.pieces import checked_total

LOOK_SECONDS = 0.001
"""Time between two reads of the register that tells of errors, if the interrupt cannot be seen."""


class Registers(Protocol):
    """Memory-mapped registers, as ``pynq.MMIO``."""

    def read(self, offset: int) -> int:
        """Return a word."""
        ...

    def write(self, offset: int, value: int) -> None:
        """Write a word."""
        ...


class Channel(Protocol):
    """One direction of a DMA, as ``sendchannel`` and ``recvchannel`` of ``pynq.lib.DMA``.

    If it has the property ``error``, that tells whether the DMA has given up the transfer that was
    begun, for example since a packet is longer than its buffer. The channel is not idle then.
    """

    @property
    def idle(self) -> bool:
        """Whether the transfer that was begun is done."""
        ...

    @property
    def transferred(self) -> int:
        """Bytes of the last transfer."""
        ...

    def transfer(self, array: Any) -> None:
        """Begin a transfer, which TLAST ends."""
        ...

    def wait(self) -> None:
        """End a transfer that is done: make its bytes visible."""
        ...


class DmaTransport:
    """The driver's way to a block on a board.

    It is a :class:`extremum.host.driver.transport.Transport`. Every packet has a buffer of its own;
    those that wait for their channel are kept in order. A packet is one transfer, so the DMA's
    register for the length must hold the bytes of the longest one: those of a job's elements, or of
    its results. A DMA must take beats of which TKEEP marks a part, in each beat of a packet and not
    in its last alone, if the slices of a pooling are no multiple of the lanes.

    Parameters
    ----------
    registers
        The registers of the block, from its first address on.
    source
        The channel that sends to ``s_axis``.
    sinks
        The channels that receive, by the name of the stream.
    allocate
        Makes a buffer of a shape and a type that a DMA reaches: ``pynq.allocate``.
    interrupt
        Tells whether the block raises its interrupt. If it is None, the driver reads a register.
    seconds
        Time after which a packet that does not come is given up.

    Examples
    --------
    On a board, with the block and two DMAs in the design::

        overlay = pynq.Overlay("design.bit")
        transport = DmaTransport(
            pynq.MMIO(overlay.ip_dict["block"]["phys_addr"], 1024),
            overlay.dma_values.sendchannel,
            {
                "m_axis_value": overlay.dma_values.recvchannel,
                "m_axis_index": overlay.dma_indices.recvchannel,
            },
            pynq.allocate,
        )
        driver = BlockDriver(transport, config)
    """

    def __init__(
        self,
        registers: Registers,
        source: Channel,
        sinks: Mapping[str, Channel],
        allocate: Callable[[tuple[int, ...], Any], Any],
        *,
        interrupt: Callable[[], bool] | None = None,
        seconds: float = 10.0,
    ) -> None:
        self._registers, self._allocate = registers, allocate
        self._interrupt, self._seconds = interrupt, seconds
        self._source = _Transfers(INPUT, source)
        self._sinks = {name: _Transfers(name, channel) for name, channel in sinks.items()}
        self._all = (self._source, *self._sinks.values())
        self._received = 0
        # The seconds of waiting since a packet was asked for, or came: not those in which the host
        # did something else.
        self._waited = 0.0

    def read(self, address: int) -> int:
        """Do as :meth:`extremum.host.driver.transport.Transport.read`."""
        return self._registers.read(address)

    def write(self, address: int, word: int) -> None:
        """Do as :meth:`extremum.host.driver.transport.Transport.write`."""
        self._registers.write(address, word)

    def send(self, pieces: Iterable[np.ndarray], size: int) -> None:
        """Do as :meth:`extremum.host.driver.transport.Transport.send`."""
        buffer = self._allocate((size,), np.uint8)
        start = 0
        told = "the pieces of a packet hold {} bytes than its size says"
        try:
            for piece in checked_total(pieces, size, len, told):
                buffer[start : start + len(piece)] = piece
                start += len(piece)
        except BaseException:  # also an interrupt while much is copied
            _free(buffer)
            raise
        self._source.add(buffer, lambda size: None)

    def receive(self, stream: str, size: int, take: Part) -> None:
        """Do as :meth:`extremum.host.driver.transport.Transport.receive`.

        Raises
        ------
        DeviceError
            No channel receives from this stream.
        """
        if stream not in self._sinks:
            raise DeviceError(
                f"the block gives results on {stream}, and sinks has a channel for "
                f"{', '.join(self._sinks) or 'no stream'}"
            )
        self._waited = 0.0
        buffer = self._allocate((size,), np.uint8)
        self._sinks[stream].add(buffer, partial(self._hand_out, buffer, take))

    def _hand_out(self, buffer: np.ndarray, take: Part, size: int) -> None:
        self._received += 1
        self._waited = 0.0
        take(np.asarray(buffer[:size]), True)

    def wait(self) -> bool:
        """Do as :meth:`extremum.host.driver.transport.Transport.wait`.

        Without a view of the interrupt it returns after a short time in any case. A packet has been
        taken once its channel has read it from memory.
        """
        begun, waited_before = time.monotonic(), self._waited
        before = self._received
        while True:
            for transfers in self._all:
                transfers.look()
            interrupts = self._interrupt is not None and self._interrupt()
            if self._received > before:
                return interrupts or self._interrupt is None
            if not any(transfers.is_busy for transfers in self._all):
                return False
            waits = time.monotonic() - begun
            self._waited = waited_before + waits
            # An interrupt that has come so late is looked at once more. One that nobody clears must
            # not keep a packet from being given up.
            if interrupts and waited_before <= self._seconds:
                return True
            if self._waited > self._seconds:
                raise DeviceError(f"no packet has come for {self._seconds} s")
            if self._interrupt is None and waits >= LOOK_SECONDS:
                return True

    def stop(self) -> None:
        """Forget all transfers, once the channels were stopped; their buffers are freed.

        Channels such as those of PYNQ have to be started again before the next job, and a DMA that
        has given up a transfer must be reset before that.
        It belongs to a soft reset of the block
        (:meth:`extremum.host.driver.block.BlockDriver.reset`).
        """
        for transfers in self._all:
            transfers.forget()


class _Transfers:
    """The transfers of one channel, which come one after another.

    Parameters
    ----------
    stream
        Name of the stream.
    channel
        The channel.
    """

    def __init__(self, stream: str, channel: Channel) -> None:
        self._stream, self._channel = stream, channel
        self._waiting: deque[tuple[Any, Callable[[int], None]]] = deque()
        self._is_under_way = False

    @property
    def is_busy(self) -> bool:
        """Whether a transfer is under way."""
        return bool(self._waiting)

    def add(self, buffer: Any, done: Callable[[int], None]) -> None:
        """Append a transfer; ``done`` is called with its bytes when it is over."""
        self._waiting.append((buffer, done))
        self.look()

    def forget(self) -> None:
        """Drop the transfer that is under way, and those that wait."""
        for buffer, _ in self._waiting:
            _free(buffer)
        self._waiting.clear()
        self._is_under_way = False

    def look(self) -> None:
        """End the transfer that is over, and begin the next.

        Raises
        ------
        DeviceError
            The DMA has given up the transfer.
        """
        if self._is_under_way and getattr(self._channel, "error", False):
            raise DeviceError(f"the DMA has given up a transfer on {self._stream}: reset it")
        if self._is_under_way and self._channel.idle:
            self._channel.wait()
            self._is_under_way = False
            buffer, done = self._waiting.popleft()
            try:
                done(self._channel.transferred)
            finally:
                _free(buffer)
        if self._waiting and not self._is_under_way:
            self._channel.transfer(self._waiting[0][0])
            self._is_under_way = True


def _free(buffer: Any) -> None:
    """Give a buffer back, if its maker wants that."""
    if hasattr(buffer, "freebuffer"):
        buffer.freebuffer()
