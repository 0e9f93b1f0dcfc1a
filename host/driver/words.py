"""What the registers of the AXI block hold for a job of a plan."""

from __future__ import annotations

from extremum.hdl.axi.register_map import (
    command_address,
    command_number,
    word_of,
    written_bits,
)
from extremum.hdl.config import CoreConfig
from extremum.host.plan.jobs import Job


def job_values(job: Job) -> dict[str, int]:
    """Return the value of every register that is written for a job, by name.

    Positions are modulo ``2**index_width``.
    """
    values = job.registers.values_in(job.config)
    return {name: values[name] for name in written_bits(job.config)}


def job_words(job: Job) -> dict[int, int]:
    """Return the words that are written for a job, by address, before it is started."""
    bits = written_bits(job.config)
    return {
        command_address(command_number(name)): word_of(name, bits[name], value)
        for name, value in job_values(job).items()
    }


def register_of(number: int, config: CoreConfig) -> str:
    """Return the name of the register that is written for a job under a number.

    If the core has none of that number, the number itself is returned.
    """
    names = (name for name in written_bits(config) if command_number(name) == number)
    return next(names, str(number))
