"""A memory whose words come from registers, as the block memories of FPGAs give them."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

MEMORY_LATENCY = 2
"""Clocks from an address to the word: the memory's own, and its output register."""


class RegisteredMemory(wiring.Component):
    """A memory with one port to read and one to write, and as a rule a register at its output.

    Latency: ``latency`` clocks from an address to its data, if both enables are set. A
    word can be read in the clock after it was written; one that is written in the clock in which it
    is read comes with any value. A platform that has such a memory provides it by a method
    ``get_registered_memory(component)``; otherwise the memory is inferred.

    Parameters
    ----------
    width
        Bits of a word.
    depth
        Words.
    latency
        2, or 1 for a memory without the register at its output, which ignores ``output_enable``.

    Members
    -------
    read_address : In
    read_enable : In(1)
        The memory reads; otherwise it keeps the word that it read before.
    output_enable : In(1)
        The register at the output takes the word that was read. Never set without ``read_enable``.
    read_data : Out(width)
    write_address : In
    write_data : In(width)
    write_enable : In(1)
    """

    read_address: Signal
    read_enable: Signal
    output_enable: Signal
    read_data: Signal
    write_address: Signal
    write_data: Signal
    write_enable: Signal

    def __init__(self, width: int, depth: int, latency: int = MEMORY_LATENCY):
        self.width = width
        self.depth = depth
        self.latency = latency
        super().__init__(
            {
                "read_address": In(range(depth)),
                "read_enable": In(1),
                "output_enable": In(1),
                "read_data": Out(width),
                "write_address": In(range(depth)),
                "write_data": In(width),
                "write_enable": In(1),
            }
        )

    @property
    def has_output_register(self) -> bool:
        """Whether the word that was read waits in a register for a clock."""
        return self.latency == MEMORY_LATENCY

    def elaborate(self, platform: object) -> Module:
        provide = getattr(platform, "get_registered_memory", None)
        if provide is not None:
            return provide(self)
        m = Module()
        m.submodules.memory = memory = Memory(shape=unsigned(self.width), depth=self.depth, init=[])
        write, read = memory.write_port(), memory.read_port()
        m.d.comb += [
            write.addr.eq(self.write_address),
            write.data.eq(self.write_data),
            write.en.eq(self.write_enable),
            read.addr.eq(self.read_address),
            read.en.eq(self.read_enable),
        ]
        if not self.has_output_register:
            m.d.comb += self.read_data.eq(read.data)
            return m
        register = Signal(self.width, reset_less=True)
        with m.If(self.output_enable):
            m.d.sync += register.eq(read.data)
        m.d.comb += self.read_data.eq(register)
        return m
