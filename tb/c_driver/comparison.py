"""The C driver compared with the Python plan on random operators.

``python -m extremum.tb.c_driver.comparison LIBRARY COMPARISON COUNT SEED`` compares many. It is a
process of its own because AddressSanitizer must be loaded before everything else.
"""

import collections
import ctypes
import math
import random
import re
import sys
from ctypes import c_int64
from dataclasses import fields
from typing import Any

import numpy as np

from extremum.hdl.job import JobRegisters
from extremum.hdl.registers import job_shapes
from extremum.host.plan import plan
from extremum.host.plan.results import Results
from extremum.host.plan.sliding_jobs import SlidingJob
from extremum.model import Pooling, Reduction
from extremum.tb.c_driver.anything import survive
from extremum.tb.c_driver.operators import (
    huge_configs,
    huge_pooling,
    huge_reduction,
    random_configs,
    random_pooling,
    random_reduction,
)
from extremum.tb.c_driver.structures import (
    ERRORS,
    NAMES,
    Core,
    JobStruct,
    PlanStruct,
    load,
    pooling_struct,
    reduction_struct,
    used,
)

REFUSALS = {
    "BAD_RANK": r"rank must be 1 to 8",
    "BAD_SIZE": r"sizes must be at least 1",
    "TOO_MANY_ELEMENTS": r"tensor must have fewer than",
    "BAD_DATA_TYPE": r"data type must be one of",
    "BAD_INDEX_TYPE": r"index_type must be one of",
    "BAD_NAN": r"nan must be",
    "BAD_FUNCTION": r"function must be one of",
    "NO_AXES": r"axes must name at least one",
    "AXIS_OUT_OF_RANGE": r"axes must be in",
    "AXIS_REPEATED": r"axes must not repeat",
    "BAD_AXIS_DIRECTION": r"axis_direction must be",
    "DIRECTION_OF_VALUES": r"axis_direction of",
    "INDEX_TYPE_OF_VALUES": r"index_type is for",
    "INDEX_TOO_NARROW": r"an int32 index needs",
    "BAD_POOLING_RANK": r"rank for pooling",
    "BAD_WINDOW": r"window must be at least 1",
    "BAD_STRIDES": r"strides must be at least 1",
    "BAD_DILATIONS": r"dilations must be at least 1",
    "BAD_INDEX_LAYOUT": r"index_layout must be one of",
    "WINDOW_TOO_LARGE": r"window extent must not exceed",
    "TOO_MUCH_PADDING": r"padded tensor must have fewer than",
    "DATA_TYPE_NOT_BUILT": r".*add it to data_types",
    "NEEDS_GATHERING": r".*the host gathers the windows",
    "OPERATOR_NOT_BUILT": r".*the host wants a (max pooling|reduction)",
    "VALUES_NOT_BUILT": r".*the host wants values",
    "POSITIONS_NOT_BUILT": r"the core was built without positions",
    "POSITIONS_TOO_LARGE": r"positions to",
    "REGISTER_FIXED": r"the core was built with the job register",
}
"""How the messages of the Python package begin, by the error that the driver gives instead."""

MOST_ELEMENTS = 20_000
"""The elements of larger tensors are not laid out, but looked at one by one."""

UNREACHED = {"OK", "BAD_CORE", "STRIDES_TOO_LARGE"} | set(ERRORS[ERRORS.index("OTHER_LANES") :])
"""The errors that a plan in Python cannot meet, among them those of the block, and none."""


def refusal(error):
    """The driver's name for an error of the Python package."""
    for name, pattern in REFUSALS.items():
        if re.match(pattern, str(error)):
            return name
    raise AssertionError(f"no error of the driver corresponds to: {error}") from error


def plan_in_python(arguments, config):
    """Return the plan, or the driver's name for the error, and the operator if it is right."""
    problem = None
    try:
        make = Reduction.of if "function" in arguments else Pooling.of
        problem = make(**arguments)
        todo = plan(problem, config)
    except (TypeError, ValueError) as error:
        return refusal(error), problem
    if todo.notes and todo.notes[0].startswith("gathered"):
        return "NEEDS_GATHERING", problem
    return todo, problem


def flat_registers(registers: JobRegisters):
    """The values of all registers in their order, without a look at their bits."""
    flat = []
    for member in fields(registers):
        value = getattr(registers, member.name)
        inner = [value] if isinstance(value, bool | int) else vars(value).values()
        flat += [int(one) for one in inner]
    return flat


class Comparison:
    """A driver, and how many operators it was compared on, by what came of them."""

    def __init__(self, library, source: random.Random):
        self.driver = library if isinstance(library, ctypes.CDLL) else load(library)
        self.source = source
        self.seen = collections.Counter()
        self.jobs = 0

    def compare(self, arguments, config):
        """Compare the plans of both languages; look at the elements unless there are too many."""
        expected, problem = plan_in_python(arguments, config)
        strides = self.random_strides(problem) if problem else (None, None)
        core = Core.of(config)
        is_reduction = "function" in arguments
        struct = (reduction_struct if is_reduction else pooling_struct)(arguments, *strides)
        prepare = getattr(
            self.driver, f"extremum_plan_{'reduction' if is_reduction else 'pooling'}"
        )
        planned, job = used(PlanStruct), used(JobStruct)
        error = ERRORS[prepare(planned, core, struct)]
        self.seen["reduction" if is_reduction else "pooling"] += 1
        if isinstance(expected, str):
            self.seen[expected] += 1
            assert error == expected, f"{error}, not {expected}"
            return
        assert problem is not None
        self.seen["OK"] += 1
        assert error == "OK", error
        assert planned.jobs == len(expected.jobs), (planned.jobs, len(expected.jobs))
        self.seen["many jobs"] += planned.jobs > 1
        self.seen["no jobs"] += planned.jobs == 0
        size = max(math.prod(problem.sizes), math.prod(problem.output_sizes))
        few = size <= MOST_ELEMENTS and planned.jobs <= 30
        numbers = range(planned.jobs) if few else self.some_of(planned.jobs)
        for which in numbers:
            planned.next = which
            assert self.driver.extremum_next_job(planned, job)
            self.jobs += 1
            self.compare_job(job, expected.jobs[which], strides, few)
            self.compare_words(job, expected.jobs[which], core)
        planned.next = planned.jobs
        assert not self.driver.extremum_next_job(planned, job)

    def some_of(self, count):
        """The first, the last and some other numbers below a count."""
        return sorted({0, count // 2, count - 1, self.source.randrange(count)}) if count else []

    def random_strides(self, problem):
        """Strides of the input in bytes and of the output in elements, None if it is packed."""
        size = np.dtype(problem.data_type.dtype).itemsize
        drawn: list[Any] = [None, None]
        for which, (shape, unit) in enumerate(((problem.sizes, size), (problem.output_sizes, 1))):
            if self.source.random() < 0.5:
                continue
            strides, step = [0] * len(shape), unit
            for axis in self.source.sample(range(len(shape)), len(shape)):
                strides[axis] = step * self.source.choice((1, 1, 1, -1))
                step *= shape[axis] + self.source.choice((0, 0, 0, 1))
            # A broadcast axis of the input has all its elements in one place.
            if which == 0 and self.source.random() < 0.2:
                strides[self.source.randrange(len(shape))] = 0
            drawn[which] = strides
        return tuple(drawn)

    def compare_job(self, job, expected, strides, elements):
        """Compare the registers of a job, and where the elements of its beats lie."""
        registers = flat_registers(expected.registers)
        for name, given, wanted in zip(NAMES, job.registers, registers, strict=True):
            assert given == wanted, f"{name} is {given}, not {wanted}"
        assert job.input.beats == expected.beats_in
        assert job.output.beats == expected.beats_out
        assert job.input.fold == expected.rows.fold
        assert job.input.tail == expected.rows.tail
        assert job.input.lanes == job.output.lanes == expected.config.lanes
        problem = expected.problem
        shapes = problem.sizes, problem.output_sizes
        units = np.dtype(problem.data_type.dtype).itemsize, 1
        tables = [
            table_of(shape, given, unit)
            for shape, given, unit in zip(shapes, strides, units, strict=True)
        ]
        if not elements:
            self.compare_places(job.input, expected, tables[0], output=False)
            self.compare_places(job.output, expected, tables[1], output=True)
            return
        self.compare_input(job.input, expected, tables[0])
        self.compare_output(job.output, expected, tables[1])

    def compare_words(self, job, expected, core):
        """Compare what is written into registers with the bits on the core's job port."""
        error = ERRORS[self.driver.extremum_check_job(core, job)]
        try:
            bits, wanted = expected.registers.to_bits(expected.config), "OK"
        except ValueError as refused:
            bits, wanted = 0, refusal(refused)
            self.seen[wanted] += 1
        assert error == wanted
        if error != "OK":
            return
        for name, shape in job_shapes(expected.config).items():
            word = self.driver.extremum_register_word(core, job, NAMES.index(name))
            wanted = bits & ((1 << shape.width) - 1)
            if shape.signed and wanted >> (shape.width - 1):
                wanted += 2**32 - (1 << shape.width)
            assert word == wanted, f"the word of {name} is {word}, not {wanted}"
            bits >>= shape.width

    def compare_input(self, stream, expected, strides):
        """Compare where the element of each lane of each input beat lies."""
        sizes = expected.problem.sizes
        # Every element has its number, from 1 on; 0 is what a lane without an element carries.
        beats = expected.gather(np.arange(1, math.prod(sizes) + 1).reshape(sizes))
        given, there = stream.expanded()
        wanted = offsets_of(sizes, strides)[beats - 1]
        assert np.array_equal(there, beats > 0)
        assert np.array_equal(given[there], wanted[there])
        self.compare_found(stream, given, there)

    def compare_output(self, stream, expected, strides):
        """Compare where the result in each lane of each output beat is written."""
        problem = expected.problem
        shape = stream.beats, stream.lanes
        numbers = np.arange(1, math.prod(shape) + 1).reshape(shape)
        # What is written is told by its place among the beats, and 0 is where nothing is written.
        written = np.zeros(problem.output_sizes, np.int64)
        expected.scatter(numbers, numbers, Results(problem, written, None))
        written = written.reshape(-1)
        given, there = stream.expanded()
        places = zip(written, offsets_of(problem.output_sizes, strides), strict=True)
        wanted = {number: place for number, place in places if number}
        assert dict(zip(numbers[there], given[there], strict=True)) == wanted
        self.compare_found(stream, given, there)

    def compare_found(self, stream, given, there):
        """Ask for some elements one by one."""
        offset = c_int64()
        for _ in range(3):
            beat = self.source.randrange(stream.beats + 1)
            lane = self.source.randrange(stream.lanes + 1)
            found = self.driver.extremum_find_element(stream, beat, lane, offset)
            inside = beat < stream.beats and lane < stream.lanes and there[beat, lane]
            assert found == bool(inside)
            assert not inside or offset.value == given[beat, lane]

    def compare_places(self, stream, expected, strides, *, output):
        """Compare some elements of streams that are too long to be expanded."""
        offset = c_int64()
        lanes = stream.lanes
        for beat in {0, stream.beats - 1, self.source.randrange(stream.beats)}:
            for lane in {0, lanes - 1, self.source.randrange(lanes)}:
                place = place_of(expected, beat, lane, output)
                found = self.driver.extremum_find_element(stream, beat, lane, offset)
                assert found == (place is not None)
                if place is not None:
                    pairs = zip(place, strides, strict=True)
                    assert offset.value == sum(where * stride for where, stride in pairs)


def table_of(shape, strides, unit):
    """The strides of a tensor that is packed unless they are given."""
    if strides is not None:
        return strides
    return [unit * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


def offsets_of(shape, strides):
    """The offset of every element, by its number in row-major order."""
    offsets = np.zeros(1, np.int64)
    for count, stride in zip(shape, strides, strict=True):
        offsets = (offsets[:, None] + np.arange(count, dtype=np.int64) * stride).reshape(-1)
    return offsets


def unravel(place, shape):
    """The coordinates of a number in row-major order, as plain integers."""
    coordinates = []
    for count in reversed(shape):
        place, coordinate = divmod(place, count)
        coordinates.insert(0, coordinate)
    return coordinates


def place_of(job, beat, lane, output):
    """The coordinates of what a beat carries in a lane, or None: ``gather`` without the tensor."""
    problem, lanes = job.problem, job.config.lanes
    if isinstance(job, SlidingJob):
        tiles = job.tiles[3 - len(problem.spatial) :]
        counts = [t.dimension.outputs if output else t.dimension.size for t in tiles]
        starts = [t.first if output else t.offset for t in tiles]
        group, element = divmod(beat, math.prod(counts))
        number = job.first + group * lanes + lane
        if number >= job.stop:
            return None
        inner = zip(unravel(element, counts), starts, strict=True)
        return [*unravel(number, problem.sizes[:2]), *(c + start for c, start in inner)]
    row, element = beat * lanes + lane, 0
    if not output:
        group, element = divmod(beat, job.rows.beats_each)
        row = group if job.rows.fold else group * lanes + lane
        element = element * lanes + lane if job.rows.fold else element
    if row >= job.stop or element >= problem.count:
        return None
    kept = unravel(row, problem.output_sizes)
    within = iter(unravel(element, [problem.sizes[axis] for axis in problem.axes]))
    if output:
        return kept
    return [next(within) if axis in problem.axes else c for axis, c in enumerate(kept)]


def main(library, comparison, count, seed):
    """Compare random operators, and print how many there were of every kind."""
    source = random.Random(int(seed))
    if comparison == "anything":
        for what, times in survive(library, int(count), source).items():
            print(what, times)
        return
    huge = comparison == "huge"
    configs = huge_configs(source) if huge else random_configs(source)
    makers = (huge_reduction, huge_pooling) if huge else (random_reduction, random_pooling)
    run = Comparison(library, source)
    for _ in range(int(count)):
        config = source.choice(configs)
        arguments = source.choices(makers, (1, 4))[0](source, config)
        try:
            run.compare(arguments, config)
        except AssertionError:
            print(f"{arguments}\n{config}", file=sys.stderr)
            raise
    for what, times in sorted(run.seen.items()):
        print(what, times)
    print("jobs", run.jobs)


if __name__ == "__main__":
    main(*sys.argv[1:])
