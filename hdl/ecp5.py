"""What the core uses of an ECP5 that Yosys does not infer."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Signal, Value

from extremum.hdl.storage import RegisteredMemory

ADDRESS_BITS = 14
SHAPES = {18: 4, 9: 3, 4: 2, 2: 1, 1: 0}
"""Widths of a block memory, and the low bits of its address that do not count then."""

LEAST_BITS = 1 << 10
"""A smaller memory is better made of look-up tables."""


@dataclass(frozen=True)
class Ecp5:
    """An ECP5, as components ask a platform for a part's own memories."""

    def get_registered_memory(self, memory: RegisteredMemory) -> Module:
        """Return a memory of DP16KD with their output registers, which Yosys leaves unused.

        Memories that are too small or too deep for that are inferred.
        """
        width = self._block_width(memory)
        if width is None or memory.width * memory.depth < LEAST_BITS:
            return memory.elaborate(None)
        m = Module()
        for low in range(0, memory.width, width):
            data = memory.write_data[low : low + width]
            shown = memory.read_data[low : low + width]
            m.submodules[f"block{low // width}"] = _block(m, memory, width, data, shown)
        return m

    @staticmethod
    def _block_width(memory: RegisteredMemory) -> int | None:
        """Return the width of block that needs the fewest blocks; None if none is deep enough."""
        deep = [width for width, low in SHAPES.items() if memory.depth <= 1 << ADDRESS_BITS - low]
        return min(deep, key=lambda width: -(-memory.width // width), default=None)


def _block(m: Module, memory: RegisteredMemory, width: int, data: Value, shown: Value) -> Instance:
    """Make a block memory: port A writes, port B reads through its output register."""
    low = SHAPES[width]
    # With 18 bits, the lowest bits of an address enable the bytes that are written.
    skipped = Const(0b11 if width == 18 else 0, low)
    address = {
        "A": Cat(skipped, memory.write_address, Const(0, ADDRESS_BITS))[:ADDRESS_BITS],
        "B": Cat(Const(0, low), memory.read_address, Const(0, ADDRESS_BITS))[:ADDRESS_BITS],
    }
    out = Signal(width)
    m.d.comb += shown.eq(out)  # pyright: ignore[reportAttributeAccessIssue] (a slice of a port)
    pins: dict[str, Value] = {}
    for port in "AB":
        pins |= {f"i_AD{port}{bit}": address[port][bit] for bit in range(ADDRESS_BITS)}
        pins |= {f"i_CLK{port}": ClockSignal(), f"i_CE{port}": Const(1), f"i_OCE{port}": Const(1)}
        pins |= {f"i_RST{port}": Const(0), f"i_WE{port}": Const(0)}
        pins |= {f"i_CS{port}{bit}": Const(0) for bit in range(3)}
    pins |= {"i_WEA": memory.write_enable}
    pins |= {f"i_DIA{bit}": data[bit] for bit in range(len(data))}
    pins |= {f"o_DOB{bit}": out[bit] for bit in range(width)}
    parameters = {
        "p_DATA_WIDTH_A": width,
        "p_DATA_WIDTH_B": width,
        "p_REGMODE_A": "NOREG",
        "p_REGMODE_B": "OUTREG",
        "p_RESETMODE": "SYNC",
        "p_ASYNC_RESET_RELEASE": "SYNC",
        "p_CSDECODE_A": "0b000",
        "p_CSDECODE_B": "0b000",
        "p_CLKAMUX": "CLKA",
        "p_CLKBMUX": "CLKB",
        "p_WRITEMODE_A": "NORMAL",
        "p_WRITEMODE_B": "NORMAL",
        "p_GSR": "DISABLED",
    }
    return Instance("DP16KD", **parameters, **pins)
