"""Job registers: their places on the port, values that do not fit, and registers not on it."""

import dataclasses
import random
import re
from typing import Any

import pytest
from amaranth.hdl import Const, Signal

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.job import DimensionRegisters, JobRegisters
from extremum.hdl.ports import job_layout
from extremum.hdl.register_table import LESS_ONE, constant_registers
from extremum.hdl.registers import job_shapes, register
from extremum.model import DataType

CONFIG = CoreConfig(
    (DataType.FLOAT32, DataType.INT8), lanes=4, max_dilation=(2, 2, 2), coordinate_width=7
)
POSITIONS = ("origin", "group_step", "lane_step", "position_step", "tap_step")
ARGMAX = CoreConfig((DataType.INT8,), max_window=(1, 1, 1), operators=("argmax",))
MAX_POOL = CoreConfig(
    (DataType.INT8,), max_window=(1, 2, 2), operators=("max-pool",), index_width=0, padding=False
)


def fields(layout, word):
    """Return every register of a payload, by its name on the port."""
    values = {}
    for name, field in layout:
        part = word >> field.offset & ((1 << field.width) - 1)
        signed = getattr(field.shape, "signed", False) and part >> field.width - 1
        values[name] = part - (1 << field.width) if signed else part
    return values


def flat(registers):
    """Return every register of a job, by its dotted name."""
    values = {}
    for field in dataclasses.fields(registers):
        value = getattr(registers, field.name)
        if isinstance(value, DimensionRegisters):
            values |= {f"{field.name}.{name}": inner for name, inner in vars(value).items()}
        else:
            values[field.name] = int(value)
    return values


def assembled(values):
    """Return the job of these registers: the opposite of :func:`flat`."""
    dimensions: dict[str, dict[str, int]] = {name: {} for name in DIMENSIONS}
    others: dict[str, Any] = {}
    for name, value in values.items():
        axis, _, inner = name.rpartition(".")
        (dimensions[axis] if axis else others)[inner] = value
    sizes: Any = {name: DimensionRegisters(**inner) for name, inner in dimensions.items()}
    return JobRegisters(**others, **sizes)


def changed(name, value):
    """Return the registers of the smallest job, with one of them changed."""
    return assembled(flat(JobRegisters()) | {name: value})


def is_one_of(name, names):
    return name.rpartition(".")[2] in names


def test_every_register_stands_in_its_place():
    rng = random.Random(1)
    shapes = job_shapes(CONFIG)
    assert len(shapes) == len(flat(JobRegisters()))
    layout = job_layout(CONFIG)
    assert layout.size == sum(shape.width for shape in shapes.values())
    for _ in range(50):
        values = {}
        for name, shape in shapes.items():
            least = -(1 << shape.width - 1) if shape.signed else 0
            values[name] = least + rng.getrandbits(shape.width) + is_one_of(name, LESS_ONE)
        found = fields(layout, assembled(values).to_bits(CONFIG))
        assert found == {
            name.replace(".", "_"): value - is_one_of(name, LESS_ONE)
            for name, value in values.items()
        }


@pytest.mark.parametrize("name", ["slots", "volumes", "length", "groups", "tail"])
def test_the_port_counts_from_where_it_is_said_to(name):
    """A count that stands on the port as one less cannot be zero; the core refuses other zeros."""
    if name in LESS_ONE:
        with pytest.raises(OverflowError, match=rf"^job register {name} has \d+ bits, too few for"):
            changed(name, 0).to_bits(CONFIG)
    else:
        assert fields(job_layout(CONFIG), changed(name, 0).to_bits(CONFIG))[name] == 0


@pytest.mark.parametrize("axis", DIMENSIONS)
@pytest.mark.parametrize("inner", ["size", "stride", "period", "spacing"])
def test_no_dimension_is_of_zero(axis, inner):
    message = rf"^job register {axis}\.{inner} has \d+ bits, too few for 0$"
    with pytest.raises(OverflowError, match=message):
        changed(f"{axis}.{inner}", 0).to_bits(CONFIG)


@pytest.mark.parametrize(
    ("name", "value", "bits"),
    [
        ("slots", (1 << 32) + 1, 32),
        ("slots", -1, 32),
        ("data_type", 16, 4),
        ("tail", 8, 3),
        ("fold", 2, 1),
        ("width.size", 129, 7),
        ("width.window", 128, 7),
        ("width.head", 128, 8),
        ("width.head", -129, 8),
        ("height.final", 128, 8),
        ("height.regular", -129, 8),
        ("depth.shift", 4, 2),
        ("depth.spacing", (1 << 13) + 1, 13),
        ("width.spacing", 5, 2),
    ],
)
def test_what_does_not_fit_is_refused(name, value, bits):
    message = rf"^job register {re.escape(name)} has {bits} bits, too few for {value}$"
    with pytest.raises(OverflowError, match=message):
        changed(name, value).to_bits(CONFIG)


@pytest.mark.parametrize(("name", "value"), [("slots", 1 << 32), ("width.size", 128)])
def test_a_power_of_two_fits_less_one(name, value):
    found = fields(job_layout(CONFIG), changed(name, value).to_bits(CONFIG))
    assert found[name.replace(".", "_")] == value - 1


def test_extremes_fit():
    for head in (-128, 127):
        word = changed("width.head", head).to_bits(CONFIG)
        assert fields(job_layout(CONFIG), word)["width_head"] == head


@pytest.mark.parametrize("width", [0, 1, 8, 20, 32])
def test_positions_are_modulo_the_width_of_an_index(width):
    config = dataclasses.replace(CONFIG, index_width=width)
    rng = random.Random(width)
    for name in ("origin", "group_step", "lane_step", "width.position_step", "depth.tap_step"):
        for value in (-5, 5, rng.getrandbits(40)):
            found = fields(job_layout(config), changed(name, value).to_bits(config))
            if width:
                assert found[name.replace(".", "_")] == value % (1 << width)
            else:
                assert name.replace(".", "_") not in found


@pytest.mark.parametrize("value", [-28, -28 + (1 << 9), -28 + (1 << 32)])
def test_fixed_positions_are_modulo_the_width_of_an_index(value):
    """The host counts them modulo 2^32, and a core with as many bits as its index has."""
    fixed = (("height.tap_step", -28 + (1 << 9)),)
    config = dataclasses.replace(CONFIG, index_width=9, fixed=fixed)
    job = changed("height.tap_step", value)
    assert job.values_in(config)["height.tap_step"] == fixed[0][1]
    job.to_bits(config)
    with pytest.raises(ValueError, match=r"fixed to 484, and the job needs 485$"):
        changed("height.tap_step", value + 1).to_bits(config)


def test_lead():
    """A negative head means slots without an element at the start of a line."""
    assert DimensionRegisters(head=3).lead == 0
    assert DimensionRegisters(head=-3).lead == 3


def test_what_a_core_does_not_have_is_not_on_its_port():
    """An argmax of one type needs only the slots, the length and the direction."""
    assert list(job_shapes(ARGMAX)) == ["decreasing", "slots", "length"]
    names = set(job_shapes(MAX_POOL))
    assert not names & {"minimum", "decreasing", "ignore_nan", "fold", "length", "tail", "volumes"}
    assert not any(name.startswith("depth.") or is_one_of(name, POSITIONS) for name in names)
    assert not any(is_one_of(name, ("shift", "regular")) for name in names)
    assert {"width.window", "height.spacing", "slots", "groups"} <= names


def test_a_register_is_a_constant_or_bits_of_the_port():
    config = dataclasses.replace(ARGMAX, fixed=(("length", 300),))
    found = register(config, Signal(job_layout(config)), "length")
    assert isinstance(found, Const)
    assert (found.value, len(found)) == (299, 32)
    assert not isinstance(register(ARGMAX, Signal(job_layout(ARGMAX)), "length"), Const)


@pytest.mark.parametrize(
    ("config", "name", "value"),
    [
        (ARGMAX, "minimum", 1),
        (ARGMAX, "data_type", 1),
        (ARGMAX, "tail", 2),
        (ARGMAX, "fold", 1),
        (dataclasses.replace(ARGMAX, operators=("argmin",)), "minimum", 0),
        (dataclasses.replace(ARGMAX, fixed=(("length", 7),)), "length", 8),
        (dataclasses.replace(ARGMAX, fixed=(("slots", 7),)), "slots", 8),
        (dataclasses.replace(ARGMAX, fixed=(("decreasing", 0),)), "decreasing", 1),
        (MAX_POOL, "length", 2),
        (MAX_POOL, "depth.stride", 2),
        (MAX_POOL, "depth.period", 2),
    ],
)
def test_a_job_that_needs_another_value_is_refused(config, name, value):
    fixed = int(constant_registers(config)[name])
    registers = assembled(flat(JobRegisters()) | constant_registers(config) | {name: value})
    message = (
        f"^the core was built with the job register {re.escape(name)} fixed to {fixed}, and the "
        f"job needs {value}$"
    )
    with pytest.raises(ValueError, match=message):
        registers.to_bits(config)


@pytest.mark.parametrize(
    "name", ["ignore_nan", "volumes", "groups", "group_step", "width.tap_step"]
)
def test_what_a_core_has_no_use_for_may_be_anything(name):
    """Such a register is not on the port, and no value of it is refused."""
    values = flat(JobRegisters()) | constant_registers(ARGMAX)
    word = assembled(values).to_bits(ARGMAX)
    assert assembled(values | {name: 1000}).to_bits(ARGMAX) == word


@pytest.mark.parametrize(
    "changes",
    [{"head": 0}, {"size": 4, "final": 4, "head": 1}, {"head": 1, "dilation": 2, "size": 9}],
    ids=["start", "end", "dilation"],
)
def test_padding_is_refused_by_a_core_without(changes):
    whole = {"window": 2, "head": 1, "final": 3, "size": 4, "period": 4}
    registers = JobRegisters(height=DimensionRegisters(**whole), width=DimensionRegisters(**whole))
    registers.to_bits(MAX_POOL)
    padded = dataclasses.replace(registers, width=DimensionRegisters(**whole | changes))
    message = "^the core was built without padding, and the job's width has it$"
    with pytest.raises(ValueError, match=message):
        padded.to_bits(MAX_POOL)
