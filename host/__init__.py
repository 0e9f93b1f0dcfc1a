"""From an operator on a tensor to jobs of the core, and the backends that run them.

What is public is loaded when it is asked for, so that the command line can say what is missing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from extremum.host.errors import SimulationError, ToolError
from extremum.host.tools import SIM

if TYPE_CHECKING:
    from extremum.host.accelerator import Accelerator
    from extremum.host.progress import Progress
    from extremum.host.report import Report

__all__ = ["Accelerator", "Progress", "Report", "SimulationError", "ToolError"]

_HOMES = {"Accelerator": "accelerator", "Progress": "progress", "Report": "report"}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:  # a checker would take any name for one of this module's

    def __getattr__(name: str) -> Any:
        if name in _HOMES:
            try:
                return getattr(import_module(f"extremum.host.{_HOMES[name]}"), name)
            except ModuleNotFoundError as error:
                if (error.name or "").startswith("extremum"):
                    raise
                raise ModuleNotFoundError(f"{error}; install: {SIM}", name=error.name) from error
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
