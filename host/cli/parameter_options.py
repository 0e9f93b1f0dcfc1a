"""The options for parameters of a core, as all commands that make a core spell them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from extremum.hdl.config import MAX_LANES, PIPELINING
from extremum.host.cli.option_types import PerAxis, options_of

__all__ = ["LIMITS", "NO_WINDOWS", "PARAMETERS", "given_parameters", "parameter_options"]

LIMITS = ("max_window", "max_dilation", "max_line", "max_plane", "coordinate_width")
"""Options that bound what windows a core slides, and over what planes."""

NO_WINDOWS = (1, 1, 1)
"""The largest window of a core that needs none: it is smaller, and compiles faster."""

PARAMETERS = ("lanes", "pipelining", *LIMITS)
"""All options here, by the names of the parameters of a core."""


def parameter_options(defaults: Mapping[str, Any], limits: str = "") -> Callable[[Any], Any]:
    """Return a decorator that adds the options of :data:`PARAMETERS` to a command.

    The command is given None for what the user leaves out.

    Parameters
    ----------
    defaults
        What the command then takes for the lanes and the pipelining, for ``--help``; nothing is
        shown of what is left out.
    limits
        What the command then takes for the limits, in words for ``--help``.
    """
    shown = {name: str(value) for name, value in defaults.items()}

    def limit(name: str, kind: Any, words: str) -> Callable[[Any], Any]:
        return click.option(name, type=kind, help=f"{words}{limits}.")

    return options_of(
        click.option(
            "--lanes",
            type=click.IntRange(1, MAX_LANES),
            show_default=shown.get("lanes"),
            help="Elements per beat.",
        ),
        click.option(
            "--pipelining",
            type=click.Choice(PIPELINING),
            show_default=shown.get("pipelining"),
            help="From the fewest registers to the highest clock; what has fewer simulates faster.",
        ),
        limit("--max-window", PerAxis(), "Largest window that slides: D,H,W or H,W or W"),
        limit("--max-dilation", PerAxis(), "Largest dilation of such a window: D,H,W or H,W or W"),
        limit("--max-line", int, "Longest line kept on chip, in outputs"),
        limit("--max-plane", int, "Largest plane kept on chip, in outputs"),
        limit("--coordinate-width", int, "Bits of a spatial coordinate"),
    )


def given_parameters(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of :data:`PARAMETERS` that the user gave."""
    return {name: options[name] for name in PARAMETERS if options[name] is not None}
