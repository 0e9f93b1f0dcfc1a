"""What is in a block, so that invariants can speak of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import Const, MemoryInstance, Module, Shape, Signal, ValueLike, unsigned
from amaranth.utils import ceil_log2


class Inside:
    """The signals and memories in a block.

    Parameters
    ----------
    fragment
        The block, elaborated.
    """

    def __init__(self, fragment: Any):
        self._fragment = fragment

    def part(self, path: str) -> Inside:
        """Return a part of the block, by its name; dots lead further in."""
        fragment = self._fragment
        for name in path.split("."):
            matches = [part for part, known, _ in fragment.subfragments if known == name]
            if len(matches) != 1:
                known = ", ".join(str(known) for _, known, _ in fragment.subfragments)
                raise ValueError(f"there is no part {name!r}, but {known}")
            fragment = matches[0]
        return Inside(fragment)

    def has(self, name: str) -> bool:
        """Return whether a signal of that name is driven in the block."""
        return any(signal.name == name for signal in self._driven())

    def signal(self, name: str) -> Signal:
        """Return a register or another signal that is driven in the block, by its name.

        Raises
        ------
        ValueError
            There is none of that name, or more than one.
        """
        found = self.named(name)
        if len(found) != 1:
            names = ", ".join(sorted({signal.name for signal in self._driven()}))
            raise ValueError(f"{len(found)} signals are called {name!r}, of {names}")
        return found[0]

    def signals(self, prefix: str) -> list[Signal]:
        """Return the registers whose names are a prefix and a number, by that number."""
        found = {
            int(signal.name.removeprefix(prefix)): signal
            for signal in self._driven()
            if signal.name.removeprefix(prefix).isdigit()
        }
        return [found[number] for number in sorted(found)]

    def named(self, name: str) -> list[Signal]:
        """Return all signals of that name that are driven in the block, as they are driven."""
        found = {id(signal): signal for signal in self._driven() if signal.name == name}
        return list(found.values())

    def unnamed(self) -> list[Signal]:
        """Return the signals that are driven in the block and have no name, as they are driven."""
        return self.named("$signal")

    def word(self, m: Module, address: ValueLike) -> Signal:
        """Return what is at an address of the memory in this part, read for the proof alone."""
        (memory,) = self._memories(self._fragment)
        rows = memory._data
        word = Signal(unsigned(Shape.cast(rows.shape).width), name="word")
        place = Signal(ceil_log2(rows.depth), name="word_address")
        m.d.comb += place.eq(address)
        memory.read_port(domain="comb", addr=place, data=word, en=Const(1, 1), transparent_for=())
        return word

    def read_data(self) -> Signal:
        """Return the data of the only read port of the memory in this part."""
        (memory,) = self._memories(self._fragment)
        (port,) = memory._read_ports
        return port._data

    def _driven(self) -> Iterator[Signal]:
        for statements in self._fragment.statements.values():
            yield from (signal for statement in statements for signal in statement._lhs_signals())

    def _memories(self, fragment: Any) -> Iterator[Any]:
        if isinstance(fragment, MemoryInstance):
            yield fragment
        for part, _, _ in getattr(fragment, "subfragments", ()):
            yield from self._memories(part)
