"""What the driver needs of the world: five methods that reach the ports of an AXI block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Part = Callable[[np.ndarray, bool], None]
"""Is called with the next bytes of a packet, uint8, and whether TLAST came with the last of them.

The array is overwritten by the next bytes, so it must be copied if it is kept.
"""


class Transport(Protocol):
    """The way to the registers and the streams of a block.

    Packets are bytes: those of TDATA that TKEEP marks, in order. What is sent and received goes on
    while registers are written and read; how soon is the transport's concern.
    """

    def read(self, address: int) -> int:
        """Return the word at a byte address of the block.

        Raises
        ------
        DeviceError
            The block refused the access.
        """
        ...

    def write(self, address: int, word: int) -> None:
        """Write a word to a byte address of the block.

        Raises
        ------
        DeviceError
            The block refused this write, or an earlier one whose answer came later.
        """
        ...

    def send(self, pieces: Iterable[NDArray[np.uint8]], size: int) -> None:
        """Begin to send a packet on ``s_axis``, behind those that are being sent; do not wait.

        Parameters
        ----------
        pieces
            Its bytes, as arrays of uint8 of whole beats. They are asked for when they are needed.
        size
            How many bytes the pieces hold together.
        """
        ...

    def receive(self, stream: str, size: int, take: Part) -> None:
        """Ask for the next packet of an output stream, behind those asked for; do not wait.

        Parameters
        ----------
        stream
            ``"m_axis_value"`` or ``"m_axis_index"``.
        size
            Bytes that the packet should have: enough for a buffer.
        take
            Is called with what comes, in one or more parts, while a method of the transport runs.
            It must not use the transport.
        """
        ...

    def wait(self) -> bool:
        """Wait until a packet has come whole, or the block raises its interrupt.

        If no packet is asked for, wait until all that is being sent has been taken. A transport
        that cannot see the interrupt returns now and then without any of these.

        Returns
        -------
        bool
            Whether the block may have raised its interrupt. A transport that cannot see it
            returns True, and the driver reads the register. If no packet is asked for and all has
            been taken, there is nothing to wait for: then it is False, for an interrupt may last.

        Raises
        ------
        DeviceError, SimulationError
            Nothing has come for too long.
        """
        ...
