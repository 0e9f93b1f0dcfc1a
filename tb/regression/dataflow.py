"""Cores of one operator: each job register is fixed to what the only job of the operator needs."""

from __future__ import annotations

from dataclasses import replace

from extremum.hdl.config import CoreConfig
from extremum.hdl.register_table import absent_registers, all_bits, is_position
from extremum.host.plan.jobs import Job


def fixed_to(job: Job) -> CoreConfig:
    """Return the core of a job with every register fixed to the job's: it has no job port.

    Raises
    ------
    ValueError
        There is no such core: a register cannot be fixed to the job's value.
    """
    config, values = job.config, job.registers.values()
    absent = absent_registers(config)
    fixed = {
        # A position is told modulo 2 to the power of its bits.
        name: values[name] % (1 << bits.width) if is_position(name) else values[name]
        for name, bits in all_bits(config).items()
        if bits.width and name not in absent
    }
    return replace(config, fixed=tuple(fixed.items()))
