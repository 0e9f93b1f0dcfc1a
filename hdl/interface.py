"""The interface of a core's Verilog: its ports, the bits of their fields, its latency."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from amaranth import Shape
from amaranth.hdl import Fragment, Value
from amaranth.lib import data
from amaranth.lib.wiring import In

from extremum.hdl.config import CoreConfig
from extremum.hdl.core import Core
from extremum.hdl.latency import latency
from extremum.hdl.register_table import is_less_one
from extremum.hdl.registers import job_shapes
from extremum.hdl.verilog import TOP


def parameters(config: CoreConfig) -> dict[str, Any]:
    """Return the parameters of a core as plain data for JSON."""
    types = [data_type.value for data_type in config.data_types]
    return asdict(config) | {"data_types": types, "fixed": dict(config.fixed)}


def interface(config: CoreConfig) -> dict[str, Any]:
    """Return the module's name, parameters, latency and ports as plain data for JSON.

    Each port has a name, a direction and a width in bits. If it is a structure, it also has a list
    of fields: for each a name, its lowest bit, its width, and whether it is signed. The field of a
    job register also tells (``less_one``) whether the port carries the value less one.
    """
    core = Core(config)
    Fragment.get(core, None)  # Amaranth warns about a component that nobody elaborates.
    ports = [
        {"name": "clk", "direction": "input", "width": 1},
        {"name": "rst", "direction": "input", "width": 1},
    ]
    for path, member, port in core.signature.flatten(core):
        name = "__".join(map(str, path))
        direction = "input" if member.flow is In else "output"
        found = {"name": name, "direction": direction, "width": len(Value.cast(port))}
        fields = list(_fields(member.shape))
        if path[0] == "job" and path[-1] == "payload":
            for field, register in zip(fields, job_shapes(config), strict=True):
                field |= {"name": register, "less_one": is_less_one(register)}
        ports.append(found | ({"fields": fields} if isinstance(member.shape, data.Layout) else {}))
    return {
        "module": TOP,
        "parameters": parameters(config),
        "clock": "clk, rising edge",
        "reset": "rst, synchronous, active high",
        "streams": "a word moves in each clock in which valid and ready are both high",
        "latency": latency(config),
        "ports": ports,
    }


def _fields(shape: Any, name: str = "", lowest: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the fields of a layout, down to plain integers: ``value[0]``, ``width.size``."""
    if not isinstance(shape, data.Layout):
        cast = Shape.cast(shape)
        yield {"name": name, "lowest": lowest, "width": cast.width, "signed": cast.signed}
        return
    for key, field in shape:
        part = f"{name}[{key}]" if isinstance(key, int) else f"{name}.{key}".lstrip(".")
        yield from _fields(field.shape, part, lowest + field.offset)
