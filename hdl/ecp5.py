"""The ECP5's block memory with its output register, which Yosys does not infer."""

from __future__ import annotations

from amaranth.hdl import Cat, ClockSignal, Const, Instance, Module, Signal, Value
from amaranth.utils import ceil_log2

from extremum.hdl.registered_memory import RegisteredMemory
from extremum.hdl.select import select

_ADDRESS_BITS = 14

_SHAPES = {512: 36, 1024: 18, 2048: 9, 4096: 4, 8192: 2, 16384: 1}
"""Width of a block's words, by how many words it has."""

PORT_BITS = 18
"""Data pins of a port of a DP16KD. Words of 36 bits have those of both ports."""


class Ecp5:
    """A platform that provides the block memories: hand it to Amaranth as the core is generated.

    Examples
    --------
    >>> from amaranth.back import rtlil
    >>> from extremum.hdl import Core, CoreConfig
    >>> text = rtlil.convert(Core(CoreConfig()), name="extremum_core", platform=Ecp5())
    """

    def __repr__(self) -> str:
        return "Ecp5()"

    def get_registered_memory(self, memory: RegisteredMemory) -> Module:
        """Return a memory of blocks side by side, and one above the other if it is deep."""
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
        data = memory.write_data[low : low + bits]
        write = memory.write_enable
        if memory.depth > words:
            write = write & (memory.write_address >> ceil_log2(words) == row)
        out = Signal(bits, name=f"block{row}_{low}")
        block = _dp16kd if _SHAPES[words] <= PORT_BITS else _pdpw16kd
        m.submodules += block(memory, words, data, write, out)
        return out

    def _select(self, m: Module, memory: RegisteredMemory, rows: list[Value], words: int) -> Value:
        """Return the word read by the block that its address, of some clocks ago, lies in."""
        if len(rows) == 1:
            return rows[0]
        index: Value = memory.read_address >> ceil_log2(words)
        enables = (memory.read_enable, memory.output_enable)
        for enable in enables[: memory.latency]:
            late = Signal(len(index))
            with m.If(enable):
                m.d.sync += late.eq(index)
            index = late
        return select(index, rows)


def _register(memory: RegisteredMemory) -> str:
    """Return the mode of the register at the output."""
    return "OUTREG" if memory.has_output_register else "NOREG"


def _dp16kd(
    memory: RegisteredMemory, words: int, data: Value, write: Value, out: Signal
) -> Instance:
    """Return a block of two alike ports of 18 bits or fewer: A writes and B reads."""
    width = _SHAPES[words]
    # In words of two bytes the two lowest address pins are byte enables.
    padding = Const(3 if width == PORT_BITS else 0, _ADDRESS_BITS - ceil_log2(words))
    return _instance(
        "DP16KD",
        parameters={
            "DATA_WIDTH_A": width,
            "DATA_WIDTH_B": width,
            "REGMODE_A": "NOREG",
            "REGMODE_B": _register(memory),
            "CSDECODE_A": "0b000",
            "CSDECODE_B": "0b000",
            "WRITEMODE_A": "NORMAL",
            "WRITEMODE_B": "NORMAL",
        },
        inputs={
            **_pins("DIA", data, PORT_BITS),
            **_pins("DIB", Const(0, 1), PORT_BITS),
            **_pins("ADA", Cat(padding, memory.write_address), _ADDRESS_BITS),
            **_pins("ADB", Cat(padding, memory.read_address), _ADDRESS_BITS),
            **{f"CS{port}{pin}": Const(0, 1) for port in "AB" for pin in range(3)},
            **{f"RST{port}": Const(0, 1) for port in "AB"},
            **{f"CLK{port}": ClockSignal() for port in "AB"},
            "CEA": Const(1, 1),
            "OCEA": Const(1, 1),
            "CEB": memory.read_enable,
            "OCEB": memory.output_enable,
            "WEA": write,
            "WEB": Const(0, 1),
        },
        outputs={f"DOB{pin}": out[pin] for pin in range(len(out))},
    )


def _pdpw16kd(
    memory: RegisteredMemory, words: int, data: Value, write: Value, out: Signal
) -> Instance:
    """Return a block of words of 36 bits, with a port that only writes and one that only reads."""
    width, address_bits = _SHAPES[words], ceil_log2(words)
    padding = Const(0, _ADDRESS_BITS - address_bits)
    return _instance(
        "PDPW16KD",
        parameters={
            "DATA_WIDTH_W": width,
            "DATA_WIDTH_R": width,
            "REGMODE": _register(memory),
            "CSDECODE_W": "0b000",
            "CSDECODE_R": "0b000",
        },
        inputs={
            **_pins("DI", data, width),
            **_pins("ADW", memory.write_address, address_bits),
            **_pins("ADR", Cat(padding, memory.read_address), _ADDRESS_BITS),
            **_pins("BE", Const(-1, 4), 4),
            **{f"CS{port}{pin}": Const(0, 1) for port in "WR" for pin in range(3)},
            **{f"CLK{port}": ClockSignal() for port in "WR"},
            "CEW": write,
            "CER": memory.read_enable,
            "OCER": memory.output_enable,
            "RST": Const(0, 1),
        },
        # The part reads the lower half of a word on the upper half of the pins: DO18 is bit 0.
        outputs={f"DO{(pin + PORT_BITS) % width}": out[pin] for pin in range(len(out))},
    )


def _instance(
    kind: str,
    *,
    parameters: dict[str, int | str],
    inputs: dict[str, Value],
    outputs: dict[str, Value],
) -> Instance:
    """Return an instance of a block, with the parameters and pins that all kinds share."""
    shared = {"RESETMODE": "SYNC", "ASYNC_RESET_RELEASE": "SYNC", "GSR": "DISABLED"}
    return Instance(
        kind,
        *(("p", name, value) for name, value in (parameters | shared).items()),
        *(("i", name, value) for name, value in inputs.items()),
        *(("o", name, value) for name, value in outputs.items()),
    )


def _pins(name: str, value: Value, count: int) -> dict[str, Value]:
    """Return the bits of a value by the names of pins; pins beyond them are 0."""
    return {f"{name}{pin}": value[pin] if pin < len(value) else Const(0, 1) for pin in range(count)}
