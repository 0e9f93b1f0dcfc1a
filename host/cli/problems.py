"""From options to the problem and the accelerator that they describe.

Options that do not go together are refused here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from extremum.hdl.config import FASTEST_TO_SIMULATE, CoreConfig
from extremum.host.checks import MOST_CLOCKS
from extremum.host.cli.core_options import base_of
from extremum.host.cli.parameter_options import (
    LIMITS,
    NO_WINDOWS,
    PARAMETERS,
    given_parameters,
)
from extremum.host.cli.shared_options import OPERATORS
from extremum.host.cli.tensor_files import bad_input, flag, load, refuse_other_suffix
from extremum.model import Pooling, ReduceFunction, Reduction

__all__ = [
    "accelerator_settings", "core_for", "open_parameters", "planned_tensor", "problem_of",
    "refuse_misfits",
]  # fmt: skip

ARGS = ("argmin", "argmax")
REDUCTIONS = {
    "argmin": ReduceFunction.ARGMIN,
    "argmax": ReduceFunction.ARGMAX,
    "reduce-min": ReduceFunction.MIN,
    "reduce-max": ReduceFunction.MAX,
}
POOL = ("max-pool",)

ARGUMENTS = {
    "axes": tuple(REDUCTIONS),
    "axis_direction": ARGS,
    "window": POOL,
    "strides": POOL,
    "start_padding": POOL,
    "end_padding": POOL,
    "dilations": POOL,
    "index_type": (*ARGS, *POOL),
    "index_layout": POOL,
    "nan": OPERATORS,
}
"""Options that are arguments of the model, and the operators that have them."""

HARDWARE = (
    "bus", *PARAMETERS, "input_stalls", "output_stalls", "seed", "watchdog", "waves",
    "wave_window",
)  # fmt: skip
"""Options that mean nothing without a core."""


def refuse_misfits(operator: str, options: Mapping[str, Any]) -> None:
    """Refuse options that the operator or the backend does not have.

    Raises
    ------
    click.UsageError
        An option would be ignored, or one is missing.
    """
    for name, operators in ARGUMENTS.items():
        if options[name] is not None and operator not in operators:
            raise click.UsageError(f"{flag(name)} does not apply to {operator}")
    if operator in POOL:
        if options["window"] is None:
            raise click.UsageError(f"{operator} needs --window")
        for name in ("index_type", "index_layout"):
            if options[name] is not None and options["indices"] is None:
                raise click.UsageError(f"{flag(name)} of {operator} needs --indices")
    elif options["indices"] is not None:
        raise click.UsageError(f"--indices does not apply to {operator}")
    if options["backend"] == "model":
        for name in HARDWARE:
            if options[name] is not None:
                raise click.UsageError(f"{flag(name)} does not apply to --backend model")
    if (waves := options["waves"]) is not None:
        refuse_other_suffix("waves", waves, ".vcd")
    window = options["wave_window"]
    if window is not None:
        if options["backend"] != "native":
            raise click.UsageError(
                f"--wave-window does not apply to --backend {options['backend']}"
            )
        if waves is None:
            raise click.UsageError("--wave-window needs --waves")
        if isinstance(window, int) or len(window) != 2 or not 0 <= window[0] <= window[1]:
            raise click.UsageError("--wave-window must be the first and the last clock: 1000,2000")
        if window[1] > MOST_CLOCKS:
            raise click.UsageError(f"--wave-window must end at clock {MOST_CLOCKS} or before")


def planned_tensor(options: Mapping[str, Any]) -> tuple[tuple[int, ...], Any]:
    """Return the sizes and the type of the tensor that a plan is for.

    Raises
    ------
    click.UsageError
        Neither an input nor sizes and type are given, or both.
    """
    sizes, data_type = options["sizes"], options["data_type"]
    if options["input"] is not None:
        if sizes is not None or data_type is not None:
            raise click.UsageError("plan takes --input, or --sizes and --type, not both")
        x = load(options["input"])
        return x.shape, x.dtype
    if sizes is None or data_type is None:
        raise click.UsageError("plan needs --input, or --sizes and --type")
    return (sizes,) if isinstance(sizes, int) else sizes, data_type


def problem_of(
    operator: str, options: Mapping[str, Any], sizes: tuple[int, ...], data_type: Any
) -> Reduction | Pooling:
    """Return the problem that the options describe.

    Raises
    ------
    click.ClickException
        It breaks a rule of the operator.
    """
    given = {name: options[name] for name in ARGUMENTS if options[name] is not None}
    with bad_input():
        if operator in POOL:
            return_indices = options["indices"] is not None
            return Pooling.of(sizes, data_type, **given, return_indices=return_indices)
        return Reduction.of(REDUCTIONS[operator], sizes, data_type, **given)


def core_for(problem: Reduction | Pooling, options: Mapping[str, Any]) -> CoreConfig:
    """Return the configuration of the core that the options ask for.

    It is that of ``--preset`` or ``--config``, if one is given, with other lanes and limits.

    Raises
    ------
    click.ClickException
        A limit is out of range.
    """
    if options.get("preset") or options.get("config") is not None:
        with bad_input():
            return replace(base_of(options).config, **given_parameters(options))
    with bad_input():
        return CoreConfig((problem.data_type,), **_core_options(problem, options))


def open_parameters(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that an operator leaves open, of the core that is made for it alone.

    Raises
    ------
    click.UsageError
        A parameter is given that the operator decides.
    """
    decided = ("preset", "config", *LIMITS)
    for name in decided:
        if options[name] is not None:
            raise click.UsageError(
                f"{flag(name)} does not apply with --dataflow: the operator decides the core"
            )
    return {"pipelining": FASTEST_TO_SIMULATE} | given_parameters(options)


def _core_options(problem: Reduction | Pooling, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lanes and limits of the core: those of the smallest if it need only reduce."""
    given = {"pipelining": FASTEST_TO_SIMULATE} | given_parameters(options)
    if isinstance(problem, Reduction) and not any(name in given for name in LIMITS):
        given["max_window"] = NO_WINDOWS
    return given


def accelerator_settings(
    problem: Reduction | Pooling, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of `Accelerator`.

    Raises
    ------
    click.ClickException
        A limit is out of range.
    """
    core_for(problem, options)
    given = {name: options[name] for name in HARDWARE if options[name] is not None}
    return {
        "data_types": (problem.data_type.value,),
        "backend": options["backend"],
        **_core_options(problem, options),
        **given,
    }
