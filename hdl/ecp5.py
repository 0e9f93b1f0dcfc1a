"""The ECP5's own block memory, whose output register a synthesis tool would leave out."""

from __future__ import annotations

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Signal, Value
from amaranth.utils import ceil_log2

from extremum.hdl.flow import choose
from extremum.hdl.storage import RegisteredMemory

_PINS = 18
_ADDRESS_BITS = 14

_SHAPES = {1024: 18, 2048: 9, 4096: 4, 8192: 2, 16384: 1}
"""Words of a block, and how wide they are."""


class Ecp5:
    """A platform, as far as the core needs one: hand it to Amaranth when the core is generated.

    Examples
    --------
    >>> from amaranth.back import rtlil
    >>> from extremum.hdl import Core, CoreConfig
    >>> text = rtlil.convert(Core(CoreConfig()), name="extremum_core", platform=Ecp5())
    """

    def get_registered_memory(self, memory: RegisteredMemory) -> Module:
        """Return a memory of DP16KD blocks side by side, and one above the other if it is deep."""
        m = Module()
        words = max(min(_SHAPES), 1 << ceil_log2(memory.depth))
        words = min(words, max(_SHAPES))
        width = _SHAPES[words]
        columns = []
        for low in range(0, memory.width, width):
            bits = min(width, memory.width - low)
            rows = [
                self._block(m, memory, words, row=row, low=low, bits=bits)
                for row in range(-(-memory.depth // words))
            ]
            columns.append(self._select(m, memory, rows, words))
        m.d.comb += memory.read_data.eq(Cat(*columns))
        return m

    def _block(
        self, m: Module, memory: RegisteredMemory, words: int, *, row: int, low: int, bits: int
    ) -> Value:
        """Add one block, and return the bits that it reads."""
        shift = _ADDRESS_BITS - ceil_log2(words)
        out = Signal(_PINS, name=f"block{row}_{low}")
        write = memory.write_enable
        if memory.depth > words:
            write = write & (memory.write_address >> ceil_log2(words) == row)
        # The lowest address pins of a word of two bytes enable these.
        padding = Const(3 if words == min(_SHAPES) else 0, shift)
        pins: dict[str, Value] = {
            **_pins("DIA", memory.write_data[low : low + bits], _PINS),
            **_pins("ADA", Cat(padding, memory.write_address), _ADDRESS_BITS),
            **_pins("ADB", Cat(padding, memory.read_address), _ADDRESS_BITS),
            **_pins("DIB", Const(0, 1), _PINS),
            **{f"CS{port}{pin}": Const(0, 1) for port in "AB" for pin in range(3)},
            "CEA": Const(1, 1),
            "OCEA": Const(1, 1),
            "CEB": memory.read_enable,
            "OCEB": memory.output_enable,
            **{f"RST{port}": Const(0, 1) for port in "AB"},
            **{f"CLK{port}": ClockSignal() for port in "AB"},
            "WEA": write,
            "WEB": Const(0, 1),
        }
        width = _SHAPES[words]
        m.submodules += Instance(
            "DP16KD",
            p_DATA_WIDTH_A=width,
            p_DATA_WIDTH_B=width,
            p_REGMODE_A="NOREG",
            p_REGMODE_B="OUTREG",
            p_RESETMODE="SYNC",
            p_ASYNC_RESET_RELEASE="SYNC",
            p_CSDECODE_A="0b000",
            p_CSDECODE_B="0b000",
            p_WRITEMODE_A="NORMAL",
            p_WRITEMODE_B="NORMAL",
            p_GSR="DISABLED",
            **{f"i_{name}": value for name, value in pins.items()},
            **{f"o_DOB{pin}": out[pin] for pin in range(bits)},
        )
        return out[:bits]

    def _select(self, m: Module, memory: RegisteredMemory, rows: list[Value], words: int) -> Value:
        """Return what the block reads that the address of two clocks ago is in."""
        if len(rows) == 1:
            return rows[0]
        index: Value = memory.read_address >> ceil_log2(words)
        for enable in (memory.read_enable, memory.output_enable):
            late = Signal(len(index))
            with m.If(enable):
                m.d.sync += late.eq(index)
            index = late
        return choose(index, rows)


def _pins(name: str, value: Value, count: int) -> dict[str, Value]:
    """Return the bits of a value by the names of pins; pins beyond them are 0."""
    return {f"{name}{pin}": value[pin] if pin < len(value) else Const(0, 1) for pin in range(count)}
