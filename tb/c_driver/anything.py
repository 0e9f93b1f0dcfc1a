"""The C driver with any numbers at all, right or wrong, so that the sanitizers see them."""

import collections
import ctypes
from ctypes import c_bool, c_int64

from extremum.tb.c_driver.operators import huge_configs
from extremum.tb.c_driver.structures import (
    ERRORS,
    NAMES,
    Core,
    JobStruct,
    PlanStruct,
    PoolingStruct,
    ReductionStruct,
    load,
    strides_of,
)


def anything(source, struct):
    """Fill a structure with numbers of which many are at some limit, others small, others any."""
    edges = [0, 1, 2, 8, 9, 64, 255, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1]
    for name, kind in struct._fields_:
        if kind is c_bool:
            setattr(struct, name, source.random() < 0.5)
        elif issubclass(kind, ctypes.Array):
            signed = kind._type_ is c_int64
            reach = [0, 1, -1, 3, 2**32, 2**58, -(2**59), 2**63 - 1, -(2**63)] if signed else edges
            few = [1, 1, 1, 2, 3] if source.random() < 0.8 else reach
            array = getattr(struct, name)
            for place in range(len(array)):
                array[place] = source.choice(reach if source.random() < 0.1 else few)
        elif issubclass(kind, ctypes._Pointer):
            values = [
                source.choice((0, 1, -1, 2**40, -(2**58), 2**63 - 1, -(2**63))) for _ in range(8)
            ]
            setattr(struct, name, strides_of(source.choice((None, None, values))))
        else:
            few = [4, 5] if name == "rank" else [0, 1]
            setattr(struct, name, source.choice(edges if source.random() < 0.05 else few))
    return struct


def survive(library, count, source):
    """Give the driver any numbers at all: the sanitizers find no fault. Return what it said."""
    driver, seen = load(library), collections.Counter()
    configs = huge_configs(source)
    planned, job, offset = PlanStruct(), JobStruct(), c_int64()
    for _ in range(count):
        core = (
            anything(source, Core()) if source.random() < 0.1 else Core.of(source.choice(configs))
        )
        if source.random() < 0.3:
            core.fixed = source.getrandbits(64)
            core.fixed_values[:] = [source.choice((0, 1, 2**32, -(2**63))) for _ in NAMES]
        prepare, struct = source.choice(
            (
                (driver.extremum_plan_reduction, ReductionStruct()),
                (driver.extremum_plan_pooling, PoolingStruct()),
            )
        )
        error = ERRORS[prepare(planned, core, anything(source, struct))]
        seen[error] += 1
        if error != "OK":
            continue
        for which in {0, planned.jobs // 2, max(1, planned.jobs) - 1, planned.jobs, 2**64 - 1}:
            planned.next = which
            if driver.extremum_next_job(planned, job):
                for stream in (job.input, job.output):
                    for beat in (0, stream.beats - 1, 2**32 - 1):
                        driver.extremum_find_element(stream, beat, stream.lanes - 1, offset)
                driver.extremum_check_job(core, job)
                for name in range(len(NAMES)):
                    driver.extremum_register_word(core, job, name)
    return seen
