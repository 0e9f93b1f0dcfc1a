"""Job registers: where each of them stands, and what does not fit."""

import dataclasses
import random
from typing import Any

import pytest

from extremum.hdl.config import CoreConfig
from extremum.hdl.job import AXES, DimensionRegisters, JobRegisters, job_layout

CONFIG = CoreConfig(lanes=5, coordinate_width=7)


def fields(layout, word, prefix=""):
    """Every register of a payload, by its dotted name."""
    values = {}
    for name, field in layout:
        part = word >> field.offset & ((1 << field.width) - 1)
        if name in AXES:
            values |= fields(field.shape, part, f"{name}.")
        elif getattr(field.shape, "signed", False) and part >> field.width - 1:
            values[prefix + name] = part - (1 << field.width)
        else:
            values[prefix + name] = part
    return values


def test_every_register_stands_in_its_place():
    rng = random.Random(1)
    layout = job_layout(CONFIG)
    for _ in range(50):
        dimensions: Any = {
            name: DimensionRegisters(
                **{f.name: rng.randrange(1) for f in dataclasses.fields(DimensionRegisters)}
                | {
                    "window": rng.randrange(128),
                    "head": rng.randrange(-128, 128),
                    "period": rng.randrange(128),
                    "spacing": rng.getrandbits(32),
                    "tap_step": rng.getrandbits(32),
                }
            )
            for name in AXES
        }
        registers = JobRegisters(
            data_type=rng.randrange(16),
            minimum=rng.random() < 0.5,
            decreasing=rng.random() < 0.5,
            ignore_nan=rng.random() < 0.5,
            slots=rng.getrandbits(32),
            tail=rng.randrange(8),
            origin=rng.getrandbits(32),
            **dimensions,
        )
        found = fields(layout, registers.to_bits(CONFIG))
        for field in dataclasses.fields(JobRegisters):
            value = getattr(registers, field.name)
            if isinstance(value, DimensionRegisters):
                for inner in dataclasses.fields(DimensionRegisters):
                    assert found[f"{field.name}.{inner.name}"] == getattr(value, inner.name)
            else:
                assert found[field.name] == value


@pytest.mark.parametrize(
    ("name", "value", "bits"),
    [
        ("slots", 1 << 32, 32),
        ("slots", -1, 32),
        ("data_type", 16, 4),
        ("tail", 8, 3),
        ("origin", -5, 32),
        ("width.size", 128, 7),
        ("width.head", 128, 8),
        ("width.head", -129, 8),
        ("height.inner", 128, 7),
        ("depth.inner", 1 << 14, 14),
        ("width.inner", 2, 1),
    ],
)
def test_what_does_not_fit_is_refused(name, value, bits):
    *axis, field = name.split(".")
    changes: Any = {field: value}
    if axis:
        changes = {axis[0]: DimensionRegisters(**changes)}
    registers = JobRegisters(**changes)
    message = rf"^job register {name} has {bits} bits, too few for {value}$"
    with pytest.raises(OverflowError, match=message):
        registers.to_bits(CONFIG)


def test_extremes_fit():
    registers = JobRegisters(slots=2**32 - 1, width=DimensionRegisters(head=-128, size=127))
    found = fields(job_layout(CONFIG), registers.to_bits(CONFIG))
    assert (found["slots"], found["width.head"], found["width.size"]) == (2**32 - 1, -128, 127)


def test_lead_and_lag():
    assert (DimensionRegisters(head=3).lead, DimensionRegisters(head=3).lag) == (0, 3)
    assert (DimensionRegisters(head=-3).lead, DimensionRegisters(head=-3).lag) == (3, 0)
