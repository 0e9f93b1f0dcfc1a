"""What `extremum plan --registers` prints of a job: registers, packed payload, words on AXI."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from extremum.hdl.axi.register_map import START_COMMAND, command_address, register_map
from extremum.hdl.registers import job_shapes
from extremum.host.driver.words import job_words
from extremum.host.plan.jobs import Job

__all__ = ["registers_dict", "registers_text"]


def registers_dict(job: Job) -> dict[str, Any]:
    """Return the registers of a job as plain data for JSON.

    Returns
    -------
    dict
        ``registers``: the value of each register that the core has, by name. ``payload``: the bits
        of the core's job port in hexadecimal, and ``payload_bits``, how many they are. ``words``:
        what is written to the AXI block, in order, each with ``address``, ``register`` and
        ``value``; the last one starts the job. All are empty, and ``payload`` is null, if the core
        has no job port.

    Raises
    ------
    ValueError, OverflowError
        The core cannot run the job: a register is fixed to another value, or too narrow.
    """
    config = job.config
    payload = job.registers.to_bits(config)
    shapes = job_shapes(config)
    if not shapes:
        return {"registers": {}, "payload": None, "payload_bits": 0, "words": []}
    values = job.registers.values_in(config)
    names = {register.address: register.name for register in register_map(config)}
    words = {**job_words(job), command_address(START_COMMAND): 1}
    bits = sum(shape.width for shape in shapes.values())
    return {
        "registers": {name: values[name] for name in shapes},
        "payload": f"0x{payload:0{-(-bits // 4)}x}",
        "payload_bits": bits,
        "words": [
            {"address": address, "register": names[address], "value": word}
            for address, word in words.items()
        ],
    }


def registers_text(number: int, job: Job) -> Iterator[str]:
    """Yield the registers of a job in lines for people; ``number`` counts the jobs from 1."""
    told = registers_dict(job)
    if not told["registers"]:
        yield f"job {number}: all registers are fixed"
        return
    yield f"job {number}: registers"
    width = max(map(len, told["registers"]))
    for name, value in told["registers"].items():
        yield f"  {name:<{width}}  {value}"
    yield f"job {number}: payload, {told['payload_bits']} bits"
    yield f"  {told['payload']}"
    yield f"job {number}: words on AXI4-Lite"
    for word in told["words"]:
        yield f"  0x{word['address']:03x}  0x{word['value']:08x}  {word['register']}"
