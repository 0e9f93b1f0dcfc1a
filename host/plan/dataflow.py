"""Cores of one operator: each job register is fixed to what the only job of the operator needs.

Such a core has no job port, and the AXI block around it streams alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from extremum.hdl.config import (
    LEAST_COORDINATE_WIDTH,
    MOST_COORDINATE_WIDTH,
    OPERATORS,
    CoreConfig,
)
from extremum.hdl.register_table import absent_registers, all_bits, is_position
from extremum.host.plan.jobs import Job
from extremum.host.plan.planner import check_is_operator, plan, volume_of
from extremum.host.plan.results import last_position
from extremum.model import Pooling, Reduction

__all__ = ["dataflow_core", "fixed_to"]

COORDINATE_WIDTHS = range(LEAST_COORDINATE_WIDTH, MOST_COORDINATE_WIDTH + 1)
"""The widths that the coordinates of a core can have."""


def dataflow_core(
    problem: Reduction | Pooling, *, lanes: int = 1, pipelining: str = "fast"
) -> CoreConfig:
    """Return the smallest core that carries out an operator, and nothing else.

    It gives positions if the operator does, as wide as they need to be, and otherwise none.

    Parameters
    ----------
    problem
        The operator, with the sizes and the type of its tensor.
    lanes, pipelining
        What the operator leaves open, as :class:`extremum.hdl.CoreConfig` has it.

    Raises
    ------
    TypeError, ValueError
        A parameter is wrong, or no core carries out the operator in one job.

    Examples
    --------
    >>> core = dataflow_core(Pooling.of((1, 1, 28, 28), "int8", 2, strides=2))
    >>> core.max_window, core.max_line, core.padding, dict(core.fixed)["height.period"]
    ((1, 2, 2), 14, False, 28)
    """
    check_is_operator(problem)
    reason = ""
    for parameters in _narrowest_first(problem):
        core = CoreConfig((problem.data_type,), lanes=lanes, pipelining=pipelining, **parameters)
        # On a core that reduces as well, the plan of a pooling that cannot slide says why.
        planned = plan(problem, replace(core, operators=OPERATORS))
        # Notes tell that it is cut or gathered. What is cut may be one job too, if all other tiles
        # lie in padding: these have no results then, and a stream must have all.
        if not planned.notes:
            (job,) = plan(problem, core).jobs
            return fixed_to(job)
        reason = planned.notes[0]
    raise ValueError(
        f"no core carries out this operator in one job, as a dataflow core must: {reason}"
    )


def _narrowest_first(problem: Reduction | Pooling) -> Iterator[dict[str, Any]]:
    """Yield the parameters of cores that may do, those that cost least first."""
    index_width = (last_position(problem) + 1).bit_length()
    least = {"max_dilation": (1, 1, 1), "max_line": 1, "max_plane": 1, "coordinate_width": 4}
    if isinstance(problem, Reduction):
        name = "argmin" if problem.function.is_minimum else "argmax"
        gives_index = problem.function.gives_index
        yield least | {
            "max_window": (1, 1, 1),
            "operators": (name,) if gives_index else (name, "max-pool"),
            "index_width": index_width if gives_index else 0,
        }
        return
    depth, height, width = dimensions = volume_of(problem)
    # A window of one tap slides as well, if the core has a stage: a deep one for a deep tensor.
    widest = max(width.window, 1 + (height.window == depth.window == 1))
    for padding, deepest, coordinate_width in itertools.product(
        (False, True), dict.fromkeys((depth.window, max(depth.window, 2))), COORDINATE_WIDTHS
    ):
        yield least | {
            "max_window": (deepest, height.window, widest),
            "max_dilation": tuple(d.dilation if d.window > 1 else 1 for d in dimensions),
            "max_line": width.outputs if height.window > 1 else 1,
            "max_plane": height.outputs * width.outputs if depth.window > 1 else 1,
            "coordinate_width": coordinate_width,
            "operators": ("max-pool",),
            "index_width": index_width if problem.return_indices else 0,
            "padding": padding,
        }


def fixed_to(job: Job) -> CoreConfig:
    """Return the core of a job with every register fixed to the job's: it has no job port.

    Raises
    ------
    ValueError
        There is no such core: a register cannot be fixed to the job's value.
    """
    core, values = replace(job.config, fixed=()), job.registers.values()
    bits = all_bits(core)
    # What some registers are fixed to may make others superfluous, and these cannot be fixed then.
    for names in ([name for name in bits if not _may_follow(name)], filter(_may_follow, bits)):
        absent = absent_registers(core)
        fixed = {
            # A position is told modulo 2 to the power of its bits.
            name: values[name] % (1 << bits[name].width) if is_position(name) else values[name]
            for name in names
            if bits[name].width and name not in absent
        }
        core = replace(core, fixed=(*core.fixed, *fixed.items()))
    return core


def _may_follow(name: str) -> bool:
    """Return whether a register may be superfluous where others are fixed."""
    return name.rpartition(".")[2] in ("slots", "final")
