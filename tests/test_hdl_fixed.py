"""Which registers may be fixed to which values: those that some job of the core asks for."""

import dataclasses
import random
import re
from typing import Any

import pytest

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.job import DimensionRegisters, JobRegisters
from extremum.hdl.register_table import (
    absent_registers,
    all_bits,
    is_indifferent,
    is_position,
    register_names,
)
from extremum.model import DataType
from extremum.tb.cores import CORES
from extremum.tb.sequences import jobs

INT8 = (DataType.INT8,)
SMALL = {"max_window": (2, 3, 3), "max_dilation": (2, 2, 2), "coordinate_width": 7}
EVERYTHING = CoreConfig((DataType.FLOAT32, DataType.INT8), lanes=4, **SMALL)
POOLING = CoreConfig(INT8, max_window=(1, 2, 2), operators=("max-pool",))
INSIDE = dataclasses.replace(POOLING, padding=False)
ARGMAX = CoreConfig(INT8, max_window=(1, 1, 1), operators=("argmax",))


def refused(config, error, message, **fixed):
    """Check that fixing registers is an error; a dot in a name is written as two underscores."""
    pairs = tuple((name.replace("__", "."), value) for name, value in fixed.items())
    with pytest.raises(error, match=f"^fixed: {re.escape(message)}"):
        dataclasses.replace(config, fixed=pairs)


@pytest.mark.parametrize(
    ("fixed", "error", "message"),
    [
        ((("width.lag", 1),), ValueError, "there is no job register 'width.lag': it must be one"),
        (((3, 1),), ValueError, "there is no job register 3: it must be one of data_type, "),
        ((("fold", True),), TypeError, "fold must be an integer, not True"),
        ((("slots", 2.0),), TypeError, "slots must be an integer, not 2.0"),
        ((("slots", [2]),), TypeError, "slots must be an integer, not [2]"),
        (
            (("slots", 1), ("fold", 0), ("slots", 2)), ValueError,
            "slots must be given once, not as 1 and as 2",
        ),
        ((("slots", 1), ("slots", 1)), ValueError, "slots must be given once, not as 1 and as 1"),
    ],
)  # fmt: skip
def test_what_is_not_a_register_and_a_value(fixed, error, message):
    with pytest.raises(error, match=f"^fixed: {re.escape(message)}"):
        dataclasses.replace(EVERYTHING, fixed=fixed)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("slots", 1, 1 << 32),
        ("fold", 0, 1),
        ("tail", 1, 4),
        ("data_type", 0, 1),
        ("width__size", 1, 128),
        ("width__head", -128, 127),
        ("width__window", 1, 3),
        ("depth__shift", 0, 1),
        ("width__dilation", 1, 2),
        ("height__dilation", 1, 512),
        ("height__spacing", 1, 512),
    ],
)
def test_what_is_out_of_range(name, low, high):
    for value in (low, high):
        dataclasses.replace(EVERYTHING, fixed=((name.replace("__", "."), value),))
    for value in (low - 1, high + 1):
        message = f"{name.replace('__', '.')} must be from {low} to {high}, not {value}"
        refused(EVERYTHING, ValueError, message, **{name: value})


@pytest.mark.parametrize(
    ("config", "name", "value", "message"),
    [
        (POOLING, "minimum", 1, "operators leaves no choice of minimum or maximum"),
        (POOLING, "length", 5, "operators has neither argmin nor argmax"),
        (POOLING, "decreasing", 1, "operators has neither argmin nor argmax"),
        (POOLING, "tail", 2, "the core has one lane"),
        (POOLING, "data_type", 1, "the core has one type"),
        (POOLING, "ignore_nan", 1, "no type of the core has NaN"),
        (POOLING, "depth__stride", 2, "max_window is 1 in depth"),
        (POOLING, "depth__size", 2, "max_window is 1 in depth"),
        (dataclasses.replace(POOLING, max_dilation=(1, 1, 1)), "width__dilation", 2,
         "max_dilation is 1 in width"),
        (INSIDE, "width__shift", 1, "padding is False"),
        (dataclasses.replace(ARGMAX, lanes=3), "fold", 1,
         "folding needs argmin or argmax, and lanes a power of two above 1"),
        (ARGMAX, "minimum", 1, "operators leaves no choice of minimum or maximum"),
        (dataclasses.replace(ARGMAX, operators=("argmin",)), "minimum", 0,
         "operators leaves no choice of minimum or maximum"),
        (ARGMAX, "width__window", 2, "max_window is 1 in width"),
    ],
)  # fmt: skip
def test_what_the_core_does_not_have(config, name, value, message):
    """A register that the core lacks may be fixed to the one value that it has, and to no other."""
    dotted = name.replace("__", ".")
    constant = absent_registers(config)[dotted]
    dataclasses.replace(config, fixed=((dotted, constant),))
    told = (
        f"{dotted} must be {constant}, not {value}, since {message}: change that, or leave the "
        "register out"
    )
    refused(config, ValueError, told, **{name: value})


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (ARGMAX, "volumes"),
        (ARGMAX, "groups"),
        (ARGMAX, "origin"),
        (ARGMAX, "lane_step"),
        (ARGMAX, "width__tap_step"),
        (POOLING, "lane_step"),
        (INSIDE, "volumes"),
        (INSIDE, "width__regular"),
    ],
)
def test_registers_that_the_core_does_not_use(config, name):
    """To fix such a register would exclude jobs that the core can run, and save nothing."""
    message = f"this core has no use for {name.replace('__', '.')}, and takes jobs of any value"
    for value in (0, 1):
        refused(config, ValueError, message, **{name: value})


def test_what_another_fixed_register_makes_superfluous():
    """Jobs that end with their plane need no `slots`; a fixed stride may make `final` needless."""
    message = "this core has no use for slots, and takes jobs of any value: leave it out"
    refused(INSIDE, ValueError, message, groups=1, slots=1)
    message = "this core has no use for width.final"
    refused(INSIDE, ValueError, message, width__window=2, width__stride=2, width__final=3)


@pytest.mark.parametrize(
    ("config", "fixed", "message"),
    [
        (ARGMAX, {"slots": 10, "length": 4}, "slots must be a multiple of length, not slots 10, "),
        (EVERYTHING, {"slots": 10, "length": 4}, "slots must be a multiple of length"),
        (EVERYTHING, {"slots": 12, "length": 4, "groups": 2}, "slots must be length times groups"),
        (EVERYTHING, {"slots": 12, "length": 4, "volumes": 3}, "volumes must equal slots in a"),
        (POOLING, {"volumes": 2, "groups": 3}, "volumes must equal groups in a max pooling, not 2"),
        (EVERYTHING, {"volumes": 2, "groups": 3, "width__window": 2}, "volumes must equal groups"),
        (EVERYTHING, {"width__window": 2, "length": 4},
         "length must be 1 beside a width.window of 2, not 4: a window of more than one tap is a "),
        (EVERYTHING, {"height__window": 3, "fold": 1}, "fold must be 0 beside a height.window of"),
        (EVERYTHING, {"width__window": 2, "minimum": 1}, "minimum must be 0 beside a width.window"),
        (EVERYTHING, {"width__window": 2, "decreasing": 1}, "decreasing must be 0 beside a width"),
        (EVERYTHING, {"height__window": 1, "height__spacing": 2}, "spacing must be 1 for a window"),
        (EVERYTHING, {"width__window": 2, "width__shift": 2}, "shift must be smaller than window"),
        (EVERYTHING, {"width__window": 2, "width__dilation": 2, "width__head": 3},
         "head must be at most (window - 1) * dilation"),
        (EVERYTHING, {"height__window": 3, "height__dilation": 2, "height__spacing": 5},
         "spacing must be a multiple of dilation, not height.window 3, height.dilation 2, height"),
        (EVERYTHING, {"height__size": 9, "height__period": 8}, "period must be at least size"),
        (EVERYTHING, {"height__regular": 9, "height__final": 8}, "final must be at least regular"),
        (INSIDE, {"width__window": 2, "width__dilation": 1, "width__head": 0},
         "head must be (window - 1) * dilation in a core without padding"),
        (INSIDE, {"width__size": 9, "width__period": 10}, "period must equal size in a core"),
    ],
)  # fmt: skip
def test_values_that_contradict_each_other(config, fixed, message):
    refused(config, ValueError, message, **fixed)


@pytest.mark.parametrize(
    ("config", "longest", "fold"),
    [(ARGMAX, 255, 0), (dataclasses.replace(ARGMAX, lanes=2), 128, 1)],
)
def test_rows_whose_positions_do_not_fit(config, longest, fold):
    """All ones mark an empty window, so of 8 bits 254 is the last position."""
    narrow = dataclasses.replace(config, index_width=8)
    more = {"fold": 1} if fold else {}
    pairs = lambda length: (("length", length), *more.items())  # noqa: E731
    dataclasses.replace(narrow, fixed=pairs(longest))
    last = longest * (2 if fold else 1)
    message = f"length {longest + 1} gives positions to {last} at least, which must be less than"
    refused(narrow, ValueError, message, length=longest + 1, **more)
    # A core that gives values has rows of any length.
    values = dataclasses.replace(narrow, operators=("argmax", "max-pool"))
    dataclasses.replace(values, fixed=pairs(longest + 1))


def flat(registers: JobRegisters | DimensionRegisters, prefix: str = "") -> dict[str, int]:
    """Return every register of a job, by its dotted name."""
    values: dict[str, int] = {}
    for field in dataclasses.fields(registers):
        value: Any = getattr(registers, field.name)
        if isinstance(value, DimensionRegisters):
            values |= flat(value, f"{field.name}.")
        else:
            values[prefix + field.name] = int(value)
    return values


FINALS = tuple(f"{name}.final" for name in DIMENSIONS)
UNPADDED = CoreConfig(INT8, lanes=2, max_window=(2, 3, 3), max_plane=64, padding=False)


@pytest.mark.parametrize(
    "config", [*CORES.values(), EVERYTHING, UNPADDED], ids=[*CORES, "everything", "no padding"]
)
def test_what_a_job_asks_for_is_accepted(config):
    """Fix some or all registers to those of a job: the job runs on that core."""
    rng = random.Random(8)
    absent, bits = absent_registers(config), all_bits(config)
    accepted = 0
    for job, _ in jobs(rng, dataclasses.replace(config, padding=True), 150):
        line_ends = all(line.final < line.size for line in job.registers.dimensions)
        heads = (
            line.head == (line.window - 1) * line.dilation for line in job.registers.dimensions
        )
        if not config.padding and not (line_ends and all(heads)):
            continue
        values = flat(job.registers)
        values |= {n: v % (1 << bits[n].width) for n, v in values.items() if is_position(n)}
        names = [name for name in values if name not in absent or not is_indifferent(name)]
        if not config.padding:
            # If others are fixed, the core may have no use for these.
            names = [name for name in names if name not in ("slots", *FINALS)]
        for some in (names, rng.sample(names, 5), rng.sample(names, 12)):
            fixed = tuple((name, values[name]) for name in some)
            job.registers.to_bits(dataclasses.replace(config, fixed=fixed))
            accepted += 1
    assert accepted > 100


def test_the_table_has_the_registers_of_a_job():
    assert register_names() == tuple(flat(JobRegisters()))
    assert tuple(all_bits(EVERYTHING)) == register_names()
    assert {name.rpartition(".")[0] for name in register_names()} == {"", *DIMENSIONS}
