"""The C driver drives the gateware: random operators, from memory to memory, on simulated blocks.

Nothing of the Python package but the simulation and the golden model takes part. What a DMA would
do is done here by the loops that the driver gives.
"""

import collections
import math
import random

import numpy as np
import pytest
from amounts import mostly_slow, some
from c_block import READ, WRITE, Block, Bus, Counters, load_block_driver
from c_compiler import compiler, run
from equal_bits import assert_equal_bits

from extremum.hdl.axi.streams import INDICES, INPUT, VALUES, port_widths
from extremum.host.simulation.native_block import NativeBlock
from extremum.model import Pooling
from extremum.tb.c_driver.comparison import Comparison, offsets_of, plan_in_python, table_of
from extremum.tb.c_driver.operators import random_pooling, random_reduction
from extremum.tb.c_driver.structures import (
    ERRORS,
    FOLDER,
    JobStruct,
    PlanStruct,
    pooling_struct,
    reduction_struct,
)
from extremum.tb.cores import CORES
from extremum.tb.regression.tensors import FILLS, tensor

POLLS = 100_000
GARBAGE = 0xA5
"""What stands in memory where no element is."""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("c_driver_on_block") / "extremum.so"
    run(compiler(), *["-std=c99", "-O1", "-shared", "-fPIC"], FOLDER / "extremum.c", "-o", path)
    return load_block_driver(path)


class System:
    """A block, the driver, and a memory between them."""

    def __init__(self, library, config):
        self.library, self.config = library, config
        self.device = NativeBlock(config)
        self.lane_bytes = {
            name: width // 8 // config.lanes for name, width in port_widths(config).items() if width
        }
        self.block = Block()
        bus = Bus(
            None,
            READ(lambda _, address: self.device.read(address)),
            WRITE(lambda _, address, word: self.device.write(address, word)),
            None,
        )
        self.bus = bus  # kept, since the block calls its functions
        assert ERRORS[library.extremum_open(self.block, bus)] == "OK"

    def compute(self, problem, arguments, memory, strides):
        """Carry out an operator; return its values and positions, or the driver's error.

        The tensors lie in memory by the strides, or packed.
        """
        kind, make = ("pooling", pooling_struct)
        if "function" in arguments:
            kind, make = ("reduction", reduction_struct)
        plan, job = PlanStruct(), JobStruct()
        prepare = getattr(self.library, f"extremum_plan_{kind}")
        if error := prepare(plan, self.block.core, make(arguments, *strides)):
            return ERRORS[error]
        places = offsets_of(problem.output_sizes, table_of(problem.output_sizes, strides[1], 1))
        results = _Results(problem, places)
        waiting = collections.deque()
        while self.library.extremum_next_job(plan, job):
            error = self.library.extremum_start(self.block, job)
            while ERRORS[error] == "QUEUE_FULL":
                self.device.wait()
                error = self.library.extremum_start(self.block, job)
            assert ERRORS[error] == "OK"
            waiting.append(self._stream(job, memory, results))
        while any(packet.missing for packet in waiting):
            self.device.wait()
        assert ERRORS[self.library.extremum_wait(self.block, POLLS)] == "OK"
        return results.values[places - results.first], results.positions[places - results.first]

    def _stream(self, job, memory, results):
        """Do what a DMA does for a job: send its input, and receive its results."""
        offsets, there = job.input.expanded()
        beats = np.full((*offsets.shape, self.lane_bytes[INPUT]), GARBAGE, np.uint8)
        beats[there, : memory.size] = memory.read(offsets[there])
        packet = _Packet()
        offsets, there = job.output.expanded()
        for name in (VALUES, INDICES):
            if name in self.lane_bytes:
                take = packet.taker(offsets[there], self.lane_bytes[name], results, name)
                self.device.receive(name, int(there.sum()) * self.lane_bytes[name], take)
        self.device.send([beats.reshape(-1)], beats.size)
        return packet


class _Memory:
    """Bytes in which a tensor lies by its strides; the rest is garbage.

    Where a stride is zero, elements share a place, and the one that is written last stays.
    """

    def __init__(self, x, strides):
        self.size = x.itemsize
        self.offsets = offsets_of(x.shape, table_of(x.shape, strides, x.itemsize))
        self._first = int(self.offsets.min())
        count = int(self.offsets.max()) - self._first + self.size
        self._bytes = np.full(count, GARBAGE, np.uint8)
        elements = np.ascontiguousarray(x).view(np.uint8).reshape(-1, self.size)
        self._bytes[self._places(self.offsets)] = elements

    def read(self, offsets):
        """Return the bytes of the elements at some offsets."""
        return self._bytes[self._places(offsets)]

    def _places(self, offsets):
        return (offsets - self._first)[:, None] + np.arange(self.size)


class _Packet:
    """The streams on which the results of a job have still to come."""

    def __init__(self):
        self.missing = 0

    def taker(self, offsets, lane_bytes, results, name):
        """Return what takes the parts of a packet."""
        parts = []
        self.missing += 1

        def take(part, is_last):
            parts.append(part.copy())
            if is_last:
                lanes = np.concatenate(parts).reshape(-1, lane_bytes)
                assert len(lanes) == len(offsets)
                results.put(name, offsets, lanes)
                self.missing -= 1

        return take


class _Results:
    """Values and positions in memory, filled as the header asks for."""

    def __init__(self, problem, places):
        dtype = np.dtype(problem.data_type.dtype)
        self.first = int(places.min())
        size = int(places.max()) - self.first + 1
        lowest = -np.inf if dtype.kind == "f" else np.iinfo(dtype).min
        self.values = np.full(size, lowest, dtype)
        self.positions = np.full(size, 0xFFFFFFFF, np.uint32)

    def put(self, name, offsets, lanes):
        """Write what the lanes of a packet hold, an element each."""
        if name == VALUES:
            size = self.values.itemsize
            found = np.ascontiguousarray(lanes[:, :size]).view(self.values.dtype)[:, 0]
            self.values[offsets - self.first] = found
            return
        wide = np.zeros((len(lanes), 4), np.uint8)
        wide[:, : lanes.shape[1]] = lanes
        self.positions[offsets - self.first] = wide.view(np.uint32)[:, 0]


def golden(problem, x):
    """The values and positions that the golden model gives; None for what it does not."""
    if isinstance(problem, Pooling):
        given = problem.evaluate(x)
        return given if problem.return_indices else (given, None)
    given = problem.evaluate(x)
    return (None, given) if problem.function.gives_index else (given, None)


@pytest.mark.filterwarnings("ignore::extremum.model.EmptyWindowWarning")
@pytest.mark.parametrize("core", mostly_slow(list(CORES), ["image"]))
def test_operators_from_memory_to_memory(library, core):
    config, source = CORES[core], random.Random(core)
    system, strides_of = System(library, config), Comparison(library, source).random_strides
    seen = collections.Counter()
    for _ in range(some(300)):
        arguments = source.choice((random_reduction, random_pooling))(source, config)
        expected, problem = plan_in_python(arguments, config)
        if problem is None or math.prod(problem.sizes) > 20_000:
            continue
        fill, seed = source.choice(sorted(FILLS)), source.getrandbits(30)
        x = tensor(fill, seed, problem.data_type, problem.sizes)
        strides = strides_of(problem)
        memory = _Memory(x, strides[0])
        x = memory.read(memory.offsets).view(x.dtype).reshape(x.shape)
        done = system.compute(problem, arguments, memory, strides)
        seen[done if isinstance(done, str) else "OK"] += 1
        if isinstance(done, str):
            assert done == expected
            continue
        for given, wanted in zip(done, golden(problem, x), strict=True):
            if wanted is not None:
                # Positions are of 32 bits; all ones, which are no position, are so in any type.
                found = given if wanted.dtype == given.dtype else given.view(np.int32)
                assert_equal_bits(found.astype(wanted.dtype).reshape(wanted.shape), wanted)
    assert seen["OK"] > 10
    counters = Counters()
    library.extremum_read_counters(system.block, counters)
    assert counters.jobs >= seen["OK"]
    system.device.close()
