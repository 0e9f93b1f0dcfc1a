"""The register map of the AXI block: every register, its address and its fields, described once.

The gateware, the SystemRDL description and the drivers are made from this table. It needs no
hardware library. Each register is a word of 32 bits at an address that is the same for every core;
a core leaves out the job registers that it does not have.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import Enum, IntEnum
from functools import cache

from extremum.hdl.config import CoreConfig
from extremum.hdl.register_table import (
    Bits,
    all_bits,
    fixed_registers,
    is_less_one,
    is_position,
    register_names,
    value_range,
)
from extremum.model import DataType

WORD_BYTES = 4
WORD_BITS = 8 * WORD_BYTES

ADDRESS_BITS = 10
"""Bits of a byte address: the block answers in a range of one kibibyte."""

ID = int.from_bytes(b"XTRM", "big")
"""What the register ``ID`` holds: the letters XTRM."""

VERSION = (0, 3)
"""Version of the register map: a driver works with every map of the same first number."""

JOB_BITS = 8
"""Bits of the number of a job."""

COMMAND_BASE = 0x200
"""Address of the first command. What is written there goes through the command queue, in order."""

COMMANDS = 64
"""Number of the words from :data:`COMMAND_BASE` on: first the job registers, in the order of
:func:`register_names`, then those of :data:`PACKET_REGISTERS`, at last the start."""

PACKET_COMMAND = 56
PACKET_REGISTERS = ("input_beats", "full_beats", "result_lanes")
"""The registers of a job that the core does not know: how its packets on the streams look."""

COUNTS_LESS_ONE = ("input_beats",)
"""Those of them that are kept less one, as the job registers of ``LESS_ONE`` are."""

START_COMMAND = COMMANDS - 1


class BlockError(IntEnum):
    """Why a job failed: the field ``code`` of the register ``ERROR``.

    The first of them are those of :class:`extremum.hdl.ports.JobError`, with the same numbers.
    """

    NONE = 0
    COUNT = 1
    WINDOW = 2
    SPACING = 3
    DATA_TYPE = 4
    TAIL = 5
    RANGE = 8
    """A value does not fit its job register, which ``ERROR.register`` names by its number."""
    TLAST_EARLY = 9
    """TLAST came before the job's last beat: zeros were put in the place of the missing beats."""
    TLAST_LATE = 10
    """The job's last beat had no TLAST: what came behind it, up to TLAST, was dropped."""
    QUEUE_FULL = 11
    """A job register or START was written while the command queue was full."""


class Access(Enum):
    """What software may do with a register or a field."""

    READ = "r"
    WRITE = "w"
    READ_WRITE = "rw"
    CLEAR = "w1c"
    """Reading returns the flag; writing a 1 clears it."""


@dataclass(frozen=True)
class Field:
    """Bits of a register that mean one thing.

    Parameters
    ----------
    name
        Name in lower case.
    lowest, width
        Number of its lowest bit, and how many bits it has.
    access
        What software may do with it.
    reset
        Its value after reset; of a constant, its value.
    text
        What it means, in a sentence or two.
    """

    name: str
    lowest: int
    width: int
    access: Access
    reset: int = 0
    text: str = ""

    @property
    def mask(self) -> int:
        """The bits of the field within the register."""
        return ((1 << self.width) - 1) << self.lowest


@dataclass(frozen=True)
class Register:
    """A word of the register map.

    Parameters
    ----------
    name
        Name in upper case.
    address
        Byte address within the block.
    fields
        Its fields, the lowest first.
    text
        What it is for.
    """

    name: str
    address: int
    fields: tuple[Field, ...]
    text: str

    @property
    def is_readable(self) -> bool:
        """Whether a read is answered with OKAY; otherwise it is answered with SLVERR."""
        return any(field.access is not Access.WRITE for field in self.fields)

    @property
    def is_writable(self) -> bool:
        """Whether a write is answered with OKAY; otherwise it is answered with SLVERR."""
        return any(field.access is not Access.READ for field in self.fields)

    @property
    def reset(self) -> int:
        """The word after reset."""
        return sum(field.reset << field.lowest for field in self.fields)

    def field(self, name: str) -> Field:
        """Return a field by its name."""
        return next(field for field in self.fields if field.name == name)


def _whole(access: Access, text: str, reset: int = 0, width: int = WORD_BITS) -> tuple[Field, ...]:
    return (Field("value", 0, width, access, reset, text),)


def _flags(access: Access, *flags: tuple[str, str]) -> tuple[Field, ...]:
    return tuple(Field(name, n, 1, access, 0, text) for n, (name, text) in enumerate(flags))


EVENTS = (
    ("done", "A job has ended: its last beat has left the block, or it was refused."),
    ("error", "A job failed; ERROR tells why."),
)
"""The events that can raise the interrupt, in the order of their bits."""

COUNTERS = (
    ("CYCLES", "Clocks in which the block was busy."),
    ("BEATS_IN", "Beats taken on s_axis."),
    ("BEATS_OUT", "Result beats that left the core."),
    ("STALLS_IN", "Clocks in which the core wanted a beat and s_axis had none."),
    ("STALLS_OUT", "Clocks in which a result was ready and an output stream did not take it."),
    ("JOBS", "Jobs that have ended, refused ones included."),
    ("EMPTY_WINDOWS", "Windows without an element, as far as the block gives positions."),
)
"""The counters, in the order of their addresses."""

CONTROL, STATUS, IRQ_ENABLE, IRQ_STATUS = 0x010, 0x014, 0x018, 0x01C
ERROR, ERROR_JOB, COUNTER_BASE, BUILD_BASE = 0x020, 0x024, 0x040, 0x080


def configuration_hash(config: CoreConfig) -> int:
    """Return 32 bits that tell one configuration from another."""
    described = asdict(config) | {
        "data_types": [data_type.name for data_type in config.data_types],
        "fixed": sorted(dict(config.fixed).items()),
    }
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode()).digest()
    return int.from_bytes(digest[:WORD_BYTES], "big")


def command_number(name: str) -> int:
    """Return the number by which a command and ``ERROR.register`` name a job register."""
    if name in PACKET_REGISTERS:
        return PACKET_COMMAND + PACKET_REGISTERS.index(name)
    return register_names().index(name)


def command_address(number: int) -> int:
    """Return the address of a command."""
    return COMMAND_BASE + WORD_BYTES * number


def packet_bits(config: CoreConfig) -> dict[str, Bits]:
    """Return the bits of the registers that describe a job's packets, by name.

    The block needs ``input_beats`` to check TLAST, and the other two to mark the results in TKEEP:
    the first ``full_beats`` beats of a job have a result in every lane, and those after them in the
    first ``result_lanes`` lanes. A block of one lane has a result in every beat.
    """
    bits = {"input_beats": Bits(WORD_BITS)}
    if config.lanes > 1:
        bits |= {"full_beats": Bits(WORD_BITS), "result_lanes": Bits(config.lanes.bit_length())}
    return bits


def is_kept_less_one(name: str) -> bool:
    """Return whether a register that is written for a job holds one less than its value."""
    return is_less_one(name) or name in COUNTS_LESS_ONE


def written_bits(config: CoreConfig) -> dict[str, Bits]:
    """Return the bits of every register that is written for a job, by name."""
    fixed = fixed_registers(config)
    job = {
        name: bits for name, bits in all_bits(config).items() if name not in fixed and bits.width
    }
    return job | packet_bits(config)


@cache
def register_map(config: CoreConfig) -> tuple[Register, ...]:
    """Return the registers of a core's block, in the order of their addresses."""
    return (*_general(config), *_counters(), *_build(config), *_commands(config))


def _general(config: CoreConfig) -> Iterator[Register]:
    read = Access.READ
    yield Register("ID", 0x000, _whole(read, "XTRM in ASCII.", ID), "Tells that this is the block.")
    version = (
        Field("minor", 0, 16, read, VERSION[1], "Grows when registers are added."),
        Field("major", 16, 16, read, VERSION[0], "Grows when a driver has to change."),
    )
    yield Register("VERSION", 0x004, version, "Version of the register map.")
    yield Register(
        "CONFIG_HASH", 0x008,
        _whole(read, "Equal for equal configurations.", configuration_hash(config)),
        "Tells one configuration of the core from another.",
    )  # fmt: skip
    yield Register(
        "CONTROL", CONTROL,
        _flags(
            Access.WRITE,
            ("soft_reset", "Ends all jobs at once and empties the command queue. Registers that "
             "are read back keep their values; a beat that is offered on an output stays."),
            ("clear_counters", "Sets all counters to zero."),
        ),
        "What a written 1 does at once.",
    )  # fmt: skip
    status = (
        *_flags(
            read,
            ("busy", "A command waits, or a job is under way."),
            ("can_start", "The command queue has space for START."),
        ),
        Field("queue_free", 8, 8, read, 0, "Commands that the queue has space for."),
    )
    yield Register("STATUS", STATUS, status, "What the block does now.")
    yield Register(
        "IRQ_ENABLE", IRQ_ENABLE, _flags(Access.READ_WRITE, *EVENTS),
        "The events that raise the interrupt.",
    )  # fmt: skip
    yield Register(
        "IRQ_STATUS", IRQ_STATUS, _flags(Access.CLEAR, *EVENTS),
        "The events that have happened since they were cleared.",
    )  # fmt: skip
    error = (
        Field("code", 0, 8, read, 0, "Why the job failed, see BlockError."),
        Field("register", 8, 8, read, 0, "The number of the job register, for RANGE."),
    )
    yield Register("ERROR", ERROR, error, "The first error since IRQ_STATUS.error was cleared.")
    text = f"Jobs started before it, modulo 2^{JOB_BITS}."
    job = (Field("value", 0, JOB_BITS, read, 0, text),)
    yield Register("ERROR_JOB", ERROR_JOB, job, "The job of the error.")


def _counters() -> Iterator[Register]:
    for number, (name, text) in enumerate(COUNTERS):
        address = COUNTER_BASE + WORD_BYTES * number
        yield Register(name, address, _whole(Access.READ, "Modulo 2^32."), text)


def _build(config: CoreConfig) -> Iterator[Register]:
    """Yield the parameters that the core was built with, from which drivers configure themselves.

    The list is part of the interface: new parameters come at its end.
    """
    names = register_names()
    on_port = sum(1 << names.index(name) for name in written_bits(config) if name in names)
    types = sum((n + 1) << 4 * _types().index(t) for n, t in enumerate(config.data_types))
    operators = ("argmin", "argmax", "max-pool")
    built = sum(1 << n for n, name in enumerate(operators) if name in config.operators)
    values = {
        "LANES": (config.lanes, "Lanes of a beat."),
        "ELEMENT_BITS": (config.element_width, "Bits of a lane on s_axis and m_axis_value."),
        "INDEX_BITS": (config.index_width, "Bits of a position; 0 if there is no m_axis_index."),
        "VALUES": (int(config.has_values), "1 if there is m_axis_value."),
        "DATA_TYPES_LOW": (types % (1 << WORD_BITS),
                           "Four bits for each of the first eight types, in the order of "
                           "DirectML's names: 0 if it is not built in, else one more than the "
                           "value of the job register data_type that selects it."),
        "DATA_TYPES_HIGH": (types >> WORD_BITS, "The same for the types after these."),
        "OPERATORS": (built, "Bit 0: argmin; bit 1: argmax; bit 2: values and max pooling."),
        "PADDING": (int(config.padding), "1 if windows may reach into padding."),
        "MAX_WINDOW": (_triple(config.max_window), "Depth, height, width: ten bits each."),
        "MAX_DILATION_DEPTH": (config.max_dilation[0], "Largest dilation of the storage."),
        "MAX_DILATION_HEIGHT": (config.max_dilation[1], "Largest dilation of the storage."),
        "MAX_DILATION_WIDTH": (config.max_dilation[2], "Largest dilation of the storage."),
        "MAX_LINE": (config.max_line, "Longest line of windows that the storage holds."),
        "MAX_PLANE": (config.max_plane, "Largest plane of windows that the storage holds."),
        "COORDINATE_BITS": (config.coordinate_width, "Bits of a coordinate."),
        "JOB_REGISTERS_LOW": (on_port % (1 << WORD_BITS),
                              "A bit for each of the first 32 job registers: 1 if it is written."),
        "JOB_REGISTERS_HIGH": (on_port >> WORD_BITS, "The same for the job registers after these."),
        "COMMAND_QUEUE": (command_queue_depth(config), "Commands that the queue holds."),
    }  # fmt: skip
    for number, (name, (value, text)) in enumerate(values.items()):
        yield Register(
            name, BUILD_BASE + WORD_BYTES * number, _whole(Access.READ, text, value),
            "A parameter that the core was built with.",
        )  # fmt: skip


def command_queue_depth(config: CoreConfig) -> int:
    """Return how many commands the queue holds: all that a job may need, at least 16."""
    return max(16, 1 << len(written_bits(config)).bit_length())


def _triple(sizes: tuple[int, int, int]) -> int:
    depth, height, width = sizes
    return width | height << 10 | depth << 20


def _types() -> tuple[DataType, ...]:
    return tuple(DataType)


def _commands(config: CoreConfig) -> Iterator[Register]:
    fixed, written = fixed_registers(config), written_bits(config)
    text = "A register of the job to start next. It keeps its value from job to job."
    for name in (*all_bits(config), *packet_bits(config)):
        title, address = name.replace(".", "_").upper(), command_address(command_number(name))
        if name in written:
            yield Register(title, address, (_job_field(name, written[name]),), text)
        else:
            constant = _whole(Access.READ, "Constant.", int(fixed.get(name, 0)) % (1 << WORD_BITS))
            yield Register(title, address, constant, "A job register that is fixed in this core.")
    yield Register(
        "START", command_address(START_COMMAND), _whole(Access.WRITE, "Any value."),
        "A write starts a job with the job registers as they were written before.",
    )  # fmt: skip


def _job_field(name: str, bits: Bits) -> Field:
    low, high = value_range(name, bits)
    if name in COUNTS_LESS_ONE:
        low, high = low + 1, high + 1
    if is_position(name):
        meaning = f"A position or a part of one, modulo 2^{bits.width}."
    else:
        signed = ", in two's complement" if bits.signed else ""
        meaning = f"From {low} to {high}{signed}."
    return Field("value", 0, WORD_BITS, Access.READ_WRITE, 0, meaning)
