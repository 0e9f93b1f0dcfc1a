"""The register map of the AXI block: every register, its address and its fields, described once.

The gateware, the SystemRDL description and the Python driver use this table. The C header repeats
its addresses and fields, and a test compares the two. The table uses no hardware library itself.
Each register is a word of 32 bits at an address that is the same for every core; a core leaves out
the job registers that it does not have.

A job register is written, and cannot be read back; one that the configuration fixes cannot be
written, and its constant is read at its address. They hold what the job port of the core holds: the
registers of :data:`extremum.hdl.register_table.LESS_ONE` their value less one, positions their
value modulo ``2**index_width``, all others their value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from enum import IntEnum
from functools import cache
from typing import Any

from extremum.hdl.axi.job_texts import job_text
from extremum.hdl.axi.register import Access, Field, Register
from extremum.hdl.config import CoreConfig
from extremum.hdl.register_table import (
    Bits,
    all_bits,
    is_less_one,
    is_position,
    port_bits,
    port_number,
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

VERSION = (2, 1)
"""Version of the register map. A driver works with every map of the same first number whose second
one is not less than that of the map it was written for."""

JOB_BITS = 8
"""Bits of the number of a job."""

COMMAND_BASE = 0x200
"""Address of the first command. What is written there goes through the command queue, in order."""

COMMANDS = 64
"""Number of the words from :data:`COMMAND_BASE` on: first the job registers, in the order of
:func:`register_names`, at last the start."""

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
    """TLAST came before the job's last beat: others were put in the place of the missing beats."""
    TLAST_LATE = 10
    """The job's last beat had no TLAST: what came behind it, up to TLAST, was dropped."""
    QUEUE_FULL = 11
    """A job register or START was written while the command queue was full."""


def _whole(access: Access, text: str, reset: int = 0) -> tuple[Field, ...]:
    return (Field("value", 0, WORD_BITS, access, reset, text),)


def _flags(access: Access, *flags: tuple[str, str], reset: int = 0) -> tuple[Field, ...]:
    return tuple(
        Field(name, n, 1, access, reset >> n & 1, text) for n, (name, text) in enumerate(flags)
    )


EVENTS = (
    (
        "done",
        "The last results of a job have left the block, or its packet was dropped since the "
        "job was refused. Of an accepted job's packet, elements behind its last window may follow.",
    ),
    ("error", "A job failed, or a command found no space; ERROR tells why."),
    (
        "idle",
        "The block had nothing to do: no command waited, and all jobs had ended, with their "
        "packets and their results. It is set as long as that lasts, so clear it behind START.",
    ),
)
"""The events that can raise the interrupt, in the order of their bits."""

IDLE = 0b100
"""The mask of the event ``idle``, which is set behind a reset."""

COUNTERS = (
    ("CYCLES", "Clocks in which the block was busy."),
    ("BEATS_IN", "Beats of s_axis that a job took, or that were dropped as part of its packet."),
    ("BEATS_OUT", "Result beats that left the core."),
    (
        "STALLS_IN",
        "Clocks in which the core wanted a beat and none had reached it.",
    ),
    ("STALLS_OUT", "Clocks in which a result was ready and an output stream did not take it."),
    ("JOBS", "Jobs whose last results have left the block, or that were refused."),
    (
        "EMPTY_WINDOWS",
        "Results whose position is all ones, as that of an empty window is; 0 without positions.",
    ),
)
"""The counters, in the order of their addresses."""

CONTROL, ERROR, STATUS, IRQ_ENABLE, IRQ_STATUS = 0x00C, 0x010, 0x014, 0x018, 0x01C
BUILD_BASE, COUNTER_BASE = 0x040, 0x0C0


def configuration_hash(config: CoreConfig) -> int:
    """Return 32 bits that tell one configuration from another.

    The order of the types counts, which a job's register ``data_type`` goes by, and so does that of
    the operators, which changes nothing else.
    """
    described: dict[str, Any] = asdict(config) | {
        "data_types": [data_type.name for data_type in config.data_types],
        "fixed": sorted(dict(config.fixed).items()),
    }
    if config.pipelining == "fast":
        # `pipelining` was added behind the hash. Without its default, older configurations keep
        # their hashes.
        del described["pipelining"]
    digest = hashlib.sha256(json.dumps(described, sort_keys=True).encode()).digest()
    return int.from_bytes(digest[:WORD_BYTES], "big")


def command_number(name: str) -> int:
    """Return the number by which a command and ``ERROR.register`` name a job register."""
    return register_names().index(name)


def command_address(number: int) -> int:
    """Return the address of a command."""
    return COMMAND_BASE + WORD_BYTES * number


def written_bits(config: CoreConfig) -> dict[str, Bits]:
    """Return the bits of every register that is written for a job, by name: those of the port."""
    return port_bits(config)


def word_of(name: str, bits: Bits, value: int) -> int:
    """Return the word that is written for a value of a job register.

    Raises
    ------
    OverflowError
        The value does not fit the register.
    """
    if is_position(name):
        return value % (1 << bits.width)
    return port_number(name, bits, value) % (1 << WORD_BITS)


def word_range(name: str, bits: Bits) -> tuple[int, int]:
    """Return the least and the greatest number that a register of these bits holds."""
    low, high = value_range(name, bits)
    return low - is_less_one(name), high - is_less_one(name)


@cache
def register_map(config: CoreConfig) -> tuple[Register, ...]:
    """Return the registers of a core's block, in the order of their addresses."""
    found = (*_general(config), *_build(config), *_counters(), *_commands(config))
    return tuple(sorted(found, key=lambda register: register.address))


def _general(config: CoreConfig) -> Iterator[Register]:
    constant, read, depth = Access.CONSTANT, Access.READ, command_queue_depth(config)
    identity = _whole(constant, "XTRM in ASCII.", ID)
    yield Register("ID", 0x000, identity, "Tells that this is the block.")
    version = (
        Field("minor", 0, 16, constant, VERSION[1], "Grows when registers are added."),
        Field("major", 16, 16, constant, VERSION[0], "Grows when a driver has to change."),
    )
    yield Register("VERSION", 0x004, version, "Version of the register map.")
    yield Register(
        "CONFIG_HASH", 0x008,
        _whole(constant, "Equal for equal configurations.", configuration_hash(config)),
        "Tells one configuration of the core from another.",
    )  # fmt: skip
    yield Register(
        "CONTROL", CONTROL,
        _flags(
            Access.PULSE,
            ("soft_reset", "Ends all jobs at once, empties the command queue and sets the job "
             "registers to 0; the beat that an output stream offers stays, none follows."),
            ("clear_counters", "Sets all counters to zero. Together with soft_reset, what the jobs "
             "do while they end is not counted, but for CYCLES, which counts while busy is set."),
        ),
        "What a written 1 does at once.",
    )  # fmt: skip
    status = (
        Field("busy", 0, 1, read, 0, "A command waits, or a job is under way."),
        Field("can_start", 1, 1, read, 1, "The command queue has space for START."),
        Field("queue_free", 8, 8, read, depth, "Commands that the queue has space for."),
    )
    yield Register("STATUS", STATUS, status, "What the block does now.")
    yield Register(
        "IRQ_ENABLE", IRQ_ENABLE, _flags(Access.READ_WRITE, *EVENTS),
        "The events that raise the interrupt.",
    )  # fmt: skip
    yield Register(
        "IRQ_STATUS", IRQ_STATUS, _flags(Access.CLEAR, *EVENTS, reset=IDLE),
        "The events that have happened since they were cleared.",
    )  # fmt: skip
    error = (
        Field(
            "code",
            0,
            8,
            read,
            0,
            "Why the job failed, or the command was refused: "
            f"{', '.join(f'{c.value} {c.name}' for c in BlockError)}.",
        ),
        Field(
            "register",
            8,
            8,
            read,
            0,
            "The number of the job register, for RANGE, the first of several; else 0.",
        ),
        Field(
            "job",
            16,
            JOB_BITS,
            read,
            0,
            f"Jobs started before it, modulo 2^{JOB_BITS}; for QUEUE_FULL it means nothing.",
        ),
    )
    text = "The first error since IRQ_STATUS.error was cleared; valid while that flag is set."
    yield Register("ERROR", ERROR, error, text)


def _counters() -> Iterator[Register]:
    for number, (name, text) in enumerate(COUNTERS):
        address = COUNTER_BASE + WORD_BYTES * number
        yield Register(name, address, _whole(Access.READ, "Modulo 2^32."), text)


def _build(config: CoreConfig) -> Iterator[Register]:
    """Yield the parameters that the core was built with, from which drivers configure themselves.

    The list is part of the interface: new parameters come at its end.
    """
    names, fixed = register_names(), dict(config.fixed)
    on_port = sum(1 << names.index(name) for name in written_bits(config))
    is_fixed = sum(1 << names.index(name) for name in fixed)
    types = sum((n + 1) << 4 * [*DataType].index(t) for n, t in enumerate(config.data_types))
    low = (1 << WORD_BITS) - 1
    words = {
        "CORE": (
            ("lanes", 0, 7, config.lanes, "Lanes of a beat."),
            ("element_bits", 8, 7, config.element_width, "Bits of an element on the streams."),
            ("index_bits", 16, 6, config.index_width,
             "Bits of a position; 0 if there is no m_axis_index."),
            ("values", 24, 1, int(config.has_values), "There is m_axis_value."),
            ("argmin", 25, 1, int("argmin" in config.operators), "The core finds least elements."),
            ("argmax", 26, 1, int("argmax" in config.operators), "The core finds greatest ones."),
            ("max_pool", 27, 1, int("max-pool" in config.operators), "The core pools."),
            ("padding", 28, 1, int(config.padding), "Windows may reach into padding."),
        ),
        "CAPACITY": (
            ("coordinate_bits", 0, 6, config.coordinate_width, "Bits of a coordinate."),
            ("command_queue", 8, 8, command_queue_depth(config), "Commands that the queue holds."),
        ),
        "DATA_TYPES_LOW": types & low,
        "DATA_TYPES_HIGH": types >> WORD_BITS,
        "MAX_WINDOW": (
            ("width", 0, 10, config.max_window[2], "Largest width."),
            ("height", 10, 10, config.max_window[1], "Largest height."),
            ("depth", 20, 10, config.max_window[0], "Largest depth."),
        ),
        "MAX_DILATION_DEPTH": config.max_dilation[0],
        "MAX_DILATION_HEIGHT": config.max_dilation[1],
        "MAX_DILATION_WIDTH": config.max_dilation[2],
        "MAX_LINE": config.max_line,
        "MAX_PLANE": config.max_plane,
        "JOB_REGISTERS_LOW": on_port & low,
        "JOB_REGISTERS_HIGH": on_port >> WORD_BITS,
        "FIXED_REGISTERS_LOW": is_fixed & low,
        "FIXED_REGISTERS_HIGH": is_fixed >> WORD_BITS,
    }  # fmt: skip
    for number, (name, value) in enumerate(words.items()):
        if isinstance(value, int):
            fields = _whole(Access.CONSTANT, _BUILD_TEXTS[name], value)
            text = "A parameter that the core was built with."
        else:
            fields = tuple(Field(part, at, width, Access.CONSTANT, constant, meaning)
                           for part, at, width, constant, meaning in value)  # fmt: skip
            text = _BUILD_TEXTS[name]
        yield Register(name, BUILD_BASE + WORD_BYTES * number, fields, text)


_TYPES_OF_WORDS = [[data_type.value for data_type in part]
                   for part in ([*DataType][:8], [*DataType][8:])]  # fmt: skip
"""The types that ``DATA_TYPES_LOW`` and ``DATA_TYPES_HIGH`` tell of, the lowest bits first."""

_BUILD_TEXTS = {
    "CORE": "What the core was built for.",
    "CAPACITY": "How large numbers may be, and how many commands wait.",
    "DATA_TYPES_LOW": "Four bits for each type, the lowest for the first of "
    f"{', '.join(_TYPES_OF_WORDS[0])}: 0 if it is not built in, else one more than the value of "
    "the job register data_type that selects it.",
    "DATA_TYPES_HIGH": f"The same for {' and '.join(_TYPES_OF_WORDS[1])}.",
    "MAX_WINDOW": "Largest window that the core slides.",
    "MAX_DILATION_DEPTH": "Largest dilation of the storage.",
    "MAX_DILATION_HEIGHT": "Largest dilation of the storage.",
    "MAX_DILATION_WIDTH": "Largest dilation of the storage.",
    "MAX_LINE": "Longest line of windows that the storage holds.",
    "MAX_PLANE": "Largest plane of windows that the storage holds.",
    "JOB_REGISTERS_LOW": "A bit for each of the first 32 job registers: 1 if it is written.",
    "JOB_REGISTERS_HIGH": "The same for the job registers after these.",
    "FIXED_REGISTERS_LOW": "A bit for each of the first 32 job registers: 1 if the configuration "
    "fixes it; its constant is read at its address.",
    "FIXED_REGISTERS_HIGH": "The same for the job registers after these.",
}
"""What the words of :func:`_build` tell."""


def command_queue_depth(config: CoreConfig) -> int:
    """Return how many commands the queue holds: all that a job may need, at least 16."""
    return max(16, 1 << len(written_bits(config)).bit_length())


def _commands(config: CoreConfig) -> Iterator[Register]:
    fixed, written = dict(config.fixed), written_bits(config)
    for name, bits in all_bits(config).items():
        title, address = name.replace(".", "_").upper(), command_address(command_number(name))
        if name in written:
            text = f"{job_text(name)} It keeps its value from job to job."
            yield Register(title, address, (_job_field(name, bits),), text)
        elif name in fixed:
            word = word_of(name, bits, fixed[name])
            constant = _whole(Access.CONSTANT, _job_field(name, bits).text, word)
            text = f"{job_text(name)} It is fixed in this core."
            yield Register(title, address, constant, text)
    yield Register(
        "START", command_address(START_COMMAND), _whole(Access.STROBE, "Any value."),
        "A write starts a job with the job registers as they were written before.",
    )  # fmt: skip


def _job_field(name: str, bits: Bits) -> Field:
    low, high = word_range(name, bits)
    if is_position(name):
        meaning = f"A position or a part of one, modulo 2^{bits.width}."
    else:
        signed = ", in two's complement" if bits.signed else ""
        less_one = "The number less one: " if is_less_one(name) else ""
        meaning = f"{less_one}{low} to {high}{signed}."
    return Field("value", 0, WORD_BITS, Access.WRITE, 0, meaning)
