"""The rule of AXI that an offer is known and stays: held against a simulated block's outputs."""

from __future__ import annotations

from typing import Any

from extremum.hdl.axi.streams import INDICES, VALUES


class Offers:
    """Watches the handshake of one channel on which the block sends.

    Parameters
    ----------
    dut
        The block's module.
    name
        The name of the stream, or of the AXI4-Lite port.
    letter
        What ``valid``, ``ready`` and the payload begin with behind the name: ``"t"`` of a stream,
        the channel's own of AXI4-Lite.
    payload
        The other signals of the channel, without the letter.
    """

    def __init__(self, dut: Any, name: str, letter: str, payload: tuple[str, ...]) -> None:
        self.name = name
        self._letter = letter
        start = f"{name}_{letter}"
        self._valid, self._ready = (getattr(dut, start + end) for end in ("valid", "ready"))
        self._payload = {end: getattr(dut, start + end) for end in payload}
        self._reset = dut.aresetn
        self._was_reset = True
        self._offered: dict[str, Any] | None = None

    def look(self) -> tuple[bool, str]:
        """Look at the channel between two rising edges of the clock, once in every clock.

        Returns
        -------
        moves : bool
            Whether the coming edge takes what is offered.
        complaint : str
            What is against the rule; empty if nothing is.
        """
        valid, ready = self._valid.value, self._ready.value
        before, self._offered = self._offered, None
        was_reset, self._was_reset = self._was_reset, self._reset.value != 1
        if self._was_reset:
            return False, ""
        moves = valid == 1 and ready == 1
        levels: dict[str, Any] = {"valid": valid, "ready": ready}
        for name, level in levels.items():
            # Only a simulator of four states has such levels. Others know all of them.
            if not level.is_resolvable:
                return False, f"{self.name}: {self._letter}{name} is {level}, not 0 or 1"
        if was_reset:
            # The block takes a reset into a register first, so one of a single clock ends offers
            # only at the next edge.
            return moves, ""
        if before is not None:
            if valid != 1:
                return False, f"{self.name}: an offer was taken back before it was accepted"
            for end, value in before.items():
                if self._payload[end].value != value:
                    told = f"{_number(value)} to {_number(self._payload[end].value)}"
                    return False, f"{self.name}: {end} of an offer changed from {told}"
        if valid == 1 and ready != 1:
            self._offered = {end: signal.value for end, signal in self._payload.items()}
        return moves, ""


def _number(value: Any) -> str:
    """Return a signal's value as a number, or bit by bit if not all of it is known."""
    return f"{int(value):#x}" if value.is_resolvable else str(value)


def watched(dut: Any) -> list[Offers]:
    """Return what watches each channel on which a block sends, those of its streams first."""
    found = [
        Offers(dut, name, "t", ("data", "keep", "last"))
        for name in (VALUES, INDICES)
        if hasattr(dut, f"{name}_tvalid")
    ]
    if hasattr(dut, "s_axil_awvalid"):
        found.append(Offers(dut, "s_axil", "b", ("resp",)))
        found.append(Offers(dut, "s_axil", "r", ("data", "resp")))
    return found
