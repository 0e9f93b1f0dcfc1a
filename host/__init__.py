"""From an operator on a tensor to jobs of the core, and the backends that run them.

What is public is loaded when it is asked for, so that the command line can say what is missing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from extremum.host.errors import SimulationError, ToolError

if TYPE_CHECKING:
    from extremum.host.accelerator import Accelerator, Report

__all__ = ["Accelerator", "Report", "SimulationError", "ToolError"]


def __getattr__(name: str) -> Any:
    if name in ("Accelerator", "Report"):
        return getattr(import_module("extremum.host.accelerator"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
