"""The block's registers in Python, for the C driver to read and write, its structures, and jobs.

Whatever the register map says comes from :mod:`extremum.hdl.axi.register_map`. A read or a write
that the block would answer with SLVERR is an error of the driver.
"""

import ctypes
import random
from collections import deque
from ctypes import CFUNCTYPE, POINTER, c_bool, c_uint8, c_uint32, c_void_p
from typing import ClassVar

from c_compiler import compiler, run

from extremum.hdl.axi import register_map as regs
from extremum.hdl.config import CoreConfig
from extremum.model import DataType
from extremum.tb.c_driver.comparison import plan_in_python
from extremum.tb.c_driver.operators import random_pooling, random_reduction
from extremum.tb.c_driver.structures import (
    ERRORS,
    FOLDER,
    NAMES,
    Core,
    JobStruct,
    PlanStruct,
    load,
    pooling_struct,
    reduction_struct,
    used,
)

CONFIG = CoreConfig((DataType.INT8, DataType.FLOAT32), lanes=4)

READ = CFUNCTYPE(c_uint32, c_void_p, c_uint32)
WRITE = CFUNCTYPE(None, c_void_p, c_uint32, c_uint32)

COMMANDS = len(NAMES)


class Bus(ctypes.Structure):
    _fields_: ClassVar = [
        ("base", c_void_p),
        ("read", READ),
        ("write", WRITE),
        ("context", c_void_p),
    ]


class Block(ctypes.Structure):
    _fields_: ClassVar = [
        ("core", Core),
        ("bus", Bus),
        ("commands", c_uint32),
        ("numbers", c_uint8 * COMMANDS),
        ("words", c_uint32 * COMMANDS),
        ("is_known", c_bool * COMMANDS),
        ("queue_free", c_uint32),
    ]


class Events(ctypes.Structure):
    _fields_: ClassVar = [(name, c_uint32) for name in ("events", "error", "job", "command")]


class Counters(ctypes.Structure):
    _fields_: ClassVar = [(name.lower(), c_uint32) for name, _ in regs.COUNTERS]


def load_block_driver(path):
    """Load a driver with the functions that touch the block."""
    library = load(path)
    block = POINTER(Block)
    library.extremum_open.argtypes = [block, POINTER(Bus)]
    library.extremum_start.argtypes = [block, POINTER(JobStruct)]
    library.extremum_is_busy.argtypes = [block]
    library.extremum_is_busy.restype = c_bool
    library.extremum_wait.argtypes = [block, c_uint32]
    library.extremum_enable_interrupts.argtypes = [block, c_uint32]
    library.extremum_enable_interrupts.restype = None
    library.extremum_take_events.argtypes = [block, POINTER(Events)]
    library.extremum_take_events.restype = None
    library.extremum_read_counters.argtypes = [block, POINTER(Counters)]
    library.extremum_read_counters.restype = None
    for name in ("clear_counters", "reset"):
        getattr(library, f"extremum_{name}").argtypes = [block]
        getattr(library, f"extremum_{name}").restype = None
    return library


def built_block_driver(folder):
    """The driver as a library that ends this process at any undefined behaviour."""
    path = folder / "extremum.so"
    flags = ["-std=c99", "-O1", "-shared", "-fPIC"]
    flags += ["-fsanitize=undefined", "-fno-sanitize-recover=all"]
    run(compiler(), *flags, FOLDER / "extremum.c", "-o", path)
    return load_block_driver(path)


class FakeBlock:
    """Registers that behave as those of the block, without a core behind them.

    Attributes
    ----------
    accesses : list of tuple
        The addresses that were read (``("r", address)``) and what was written (``("w", address,
        word)``).
    registers : dict of int to int
        The job registers that commands have reached, by address.
    started : list of dict
        The job registers at each start that was carried out.
    """

    def __init__(self, config):
        self.config = config
        self.map = {register.address: register for register in regs.register_map(config)}
        self.words = {address: register.reset for address, register in self.map.items()}
        self.depth = regs.command_queue_depth(config)
        self.queue = deque()
        self.busy_reads = 0
        self.accesses = []
        self.registers = {}
        self.started = []
        self._read = READ(lambda context, address: self.read(address))
        self._write = WRITE(lambda context, address, word: self.write(address, word))
        self.bus = Bus(None, self._read, self._write, None)

    def named(self, name):
        """The address of a register."""
        return next(address for address, register in self.map.items() if register.name == name)

    def set_field(self, register, /, **values):
        """Give fields of a register another value."""
        address = self.named(register)
        for name, value in values.items():
            field = self.map[address].field(name)
            self.words[address] &= ~field.mask
            self.words[address] |= value << field.lowest

    def read(self, address):
        assert self.map[address].is_readable, f"{address:#x} was read"
        self.accesses.append(("r", address))
        if address == regs.STATUS:
            free = self.depth - len(self.queue)
            busy = self.busy_reads > 0
            self.busy_reads -= busy
            self.set_field("STATUS", busy=int(busy), can_start=int(free > 0), queue_free=free)
        return self.words[address]

    def write(self, address, word):
        assert self.map[address].is_writable, f"{address:#x} was written"
        self.accesses.append(("w", address, word))
        if address >= regs.COMMAND_BASE:
            assert len(self.queue) < self.depth, "a command was written into a full queue"
            self.queue.append((address, word))
        elif address == regs.IRQ_STATUS:
            self.words[address] &= ~word
        elif address == regs.CONTROL:
            if word & self.map[address].field("soft_reset").mask:
                self.queue.clear()
                self.registers.clear()
        else:
            self.words[address] = word

    def carry_out(self):
        """Let the commands reach the job registers."""
        while self.queue:
            address, word = self.queue.popleft()
            if address == regs.command_address(regs.START_COMMAND):
                self.started.append(dict(self.registers))
            else:
                self.registers[address] = word

    def fail(self, code, register=0, job=0):
        """Let a job fail."""
        self.set_field("ERROR", code=code, register=register, job=job)
        self.set_field("IRQ_STATUS", done=1, error=1)


def opened(driver, config=CONFIG):
    fake, block = FakeBlock(config), used(Block)
    assert ERRORS[driver.extremum_open(block, fake.bus)] == "OK"
    return fake, block


def operators(source, config, count):
    """Some of so many random operators: those that the core takes, with their Python plans."""
    for _ in range(count):
        arguments = source.choice((random_reduction, random_pooling))(source, config)
        expected, _ = plan_in_python(arguments, config)
        if not isinstance(expected, str) and len(expected.jobs):
            yield arguments, expected


def planned_in_c(driver, core, arguments):
    """The jobs of an operator, as the driver plans them."""
    kind = "reduction" if "function" in arguments else "pooling"
    struct = {"reduction": reduction_struct, "pooling": pooling_struct}[kind](arguments)
    planned = used(PlanStruct)
    assert not getattr(driver, f"extremum_plan_{kind}")(planned, core, struct)
    job = JobStruct()
    while driver.extremum_next_job(planned, job):
        yield job


def some_job(driver, core, seed=1, config=CONFIG):
    arguments, _ = next(operators(random.Random(seed), config, 100))
    return next(planned_in_c(driver, core, arguments))
