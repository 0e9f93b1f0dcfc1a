"""A configuration as a TOML file: read strictly, and written so that it is read back equal."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from extremum.hdl.config import BUSES, CoreConfig
from extremum.hdl.job import JobRegisters
from extremum.host.package.names import check_name
from extremum.host.package.settings import Settings
from extremum.model import DataType

__all__ = ["Configuration", "flat_registers", "parse", "toml_text"]

PACKAGE = ("name", "bus", "device")
"""Keys of the table ``package``: they are no parameters of the core."""

TUPLES = ("max_window", "max_dilation", "operators")
"""Parameters that are lists in TOML and tuples in Python."""


@dataclass(frozen=True)
class Configuration:
    """What a TOML file says.

    Parameters
    ----------
    config
        The core.
    name, bus, device
        The entries of the table ``package``; None if they are left out.
    """

    config: CoreConfig
    name: str | None = None
    bus: str | None = None
    device: str | None = None


def parse(text: str) -> Configuration:
    """Return the configuration that a TOML file describes.

    The keys are the parameters of :class:`extremum.hdl.config.CoreConfig`; those that are left out
    have its defaults. The table ``fixed`` holds job registers that never change, with a table for
    each dimension. The table ``package`` has the ``name``, the ``bus`` and the ``device``.

    Raises
    ------
    tomllib.TOMLDecodeError
        It is no TOML.
    TypeError, ValueError
        A key is unknown, or a value is wrong.
    """
    table = tomllib.loads(text)
    package = table.pop("package", {})
    if not isinstance(package, dict):
        raise TypeError(f"package must be a table, not {package!r}")
    _refuse_unknown("", table, [*(field.name for field in fields(CoreConfig)), "package"])
    _refuse_unknown("package.", package, PACKAGE)
    for name, value in package.items():
        if not isinstance(value, str):
            raise TypeError(f"package.{name} must be a string, not {value!r}")
    if "name" in package:
        check_name(package["name"])
    if package.get("bus", "axi") not in BUSES:
        raise ValueError(f"package.bus must be {' or '.join(BUSES)}, not {package['bus']!r}")
    given = dict(table)
    if "data_types" in given:
        names = _list("data_types", given["data_types"])
        given["data_types"] = tuple(map(DataType.from_dtype, names))
    if not isinstance(given.get("padding", True), bool):
        raise TypeError(f"padding must be true or false, not {given['padding']!r}")
    for name in TUPLES:
        if name in given:
            given[name] = tuple(_list(name, given[name]))
    if "fixed" in given:
        if not isinstance(given["fixed"], dict):
            raise TypeError(f"fixed must be a table of job registers, not {given['fixed']!r}")
        given["fixed"] = tuple(flat_registers(given["fixed"]))
    return Configuration(CoreConfig(**given), **package)


FLAGS = {each.name for each in fields(JobRegisters) if isinstance(each.default, bool)}
"""Job registers that are true or false."""


def flat_registers(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, int]]:
    """Yield the job registers of a TOML table, in which each dimension is a table.

    Raises
    ------
    TypeError
        A value is no integer.
    """
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from flat_registers(value, f"{prefix}{name}.")
        elif isinstance(value, int) and (prefix + name in FLAGS or not isinstance(value, bool)):
            yield prefix + name, int(value)
        else:
            raise TypeError(f"job register {prefix}{name} must be an integer, not {value!r}")


def toml_text(settings: Settings, about: Sequence[str] | None = None) -> str:
    """Return the TOML file that repeats a package: :func:`parse` reads the same from it.

    It begins with the lines ``about``, or with how the package is repeated.
    """
    about = about or (
        "The configuration of this package. With the same version of extremum,",
        "",
        f"  extremum verilog --config {settings.name}.toml --output DIR"
        + (" --source" if settings.source else ""),
        "",
        "writes the same package again.",
    )
    package = {"name": settings.name, "bus": settings.bus, "device": settings.device}
    core = asdict(settings.config) | {
        "data_types": [data_type.value for data_type in settings.config.data_types]
    }
    fixed = core.pop("fixed")
    lines = [
        *(f"# {line}".rstrip() for line in about),
        *(f"{name} = {_value(value)}" for name, value in core.items()),
        "",
        "[package]",
        *(f"{name} = {_value(value)}" for name, value in package.items() if value is not None),
    ]
    if fixed:
        # A name with a dot is a register of a dimension: dotted keys are tables.
        lines += ["", "[fixed]", *(f"{name} = {value}" for name, value in fixed)]
    return "\n".join(lines) + "\n"


def _refuse_unknown(prefix: str, table: Mapping[str, Any], known: Any) -> None:
    for name in table:
        if name not in known:
            raise ValueError(
                f"there is no parameter {prefix}{name}: it must be one of {', '.join(known)}"
            )


def _list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{name} must be a list, not {value!r}")
    return value


def _value(value: Any) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)
