"""Cores drawn at random: configurations that nobody has chosen, with a few short cases of each.

The cores of the pool are compiled once and run millions of beats; these are compiled for a dozen
cases, and met again by nobody but who repeats a failure. The same number is the same core on every
machine.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from functools import lru_cache
from typing import Any

from extremum.hdl.config import OPERATORS, PIPELINING, CoreConfig
from extremum.hdl.register_table import DIMENSIONS
from extremum.host.plan import plan
from extremum.host.plan.dataflow import dataflow_core, fixed_to
from extremum.model import DataType
from extremum.tb.regression.case import Item
from extremum.tb.regression.operators import drawn_operator
from extremum.tb.regression.target import Target

RANDOM = "random"
"""The name of all these cores together; each has its number behind it."""

CASES = 12
"""Cases of a core: its compilation takes as long as they do."""

OF_ONE_OPERATOR = 0.15
"""The share of cores that are built for one operator."""
PARTLY_FIXED, FIXED_SHARES = 0.4, (0.1, 0.3, 0.6, 0.9)
"""The share of these that have a job port, and what part of their registers is fixed then."""
TRIES = 40
"""Operators that are drawn for such a core, until one is a single job on it."""

LANES = (1, 1, 1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 12, 16)
WIDTHS = (2, 3, 3, 4, 2, 3, 4, 17)
"""Widths of the largest window. The last one is more than coordinates of four bits count."""
MOST_FIXED_WIDTH = 4
"""The widest window that is fixed: wider ones fit few lines."""
OPERATOR_SETS = (
    OPERATORS,
    OPERATORS,
    ("argmin", "max-pool"),
    ("argmax", "max-pool"),
    ("max-pool",),
    ("argmin", "argmax"),
    ("argmin",),
    ("argmax",),
)


def number_of(seed: int) -> int:
    """Return the number of the core of a seed, which is negative."""
    return (-1 - seed) // CASES


def seeds_of(number: int) -> list[int]:
    """Return the seeds of all cases of a core."""
    return [-1 - CASES * number - each for each in range(CASES)]


def number_named(name: str) -> int | None:
    """Return the number in the name of a random core; None if it is no such name."""
    found = re.fullmatch(rf"(?:axi-)?{RANDOM}-([0-9]{{1,30}})", name)
    return None if found is None or random_target(int(found[1])).name != name else int(found[1])


@lru_cache
def random_target(number: int) -> Target:
    """Return the core, or the block around it, that has a number."""
    source = random.Random(f"core {number}")
    bus = source.choice(("none", "axi"))
    name = f"axi-{RANDOM}-{number}" if bus == "axi" else f"{RANDOM}-{number}"
    while True:
        try:
            config = _config(source)
            break
        except ValueError:  # two choices are at odds with each other
            continue
    if random.Random(f"operator {number}").random() < OF_ONE_OPERATOR:
        for _ in range(TRIES):
            if (target := _of_one_operator(source, name, config, bus)) is not None:
                return target
    return Target(name, config, bus)


def _of_one_operator(
    source: random.Random, name: str, config: CoreConfig, bus: str
) -> Target | None:
    """Return a core for an operator that is drawn; None if that is several jobs, or cannot be.

    It is the smallest one, or a larger one whose registers, all or some, are fixed to those of the
    operator.
    """
    try:
        operator, arguments = drawn_operator(source, config, source.choice((None, 300)))
        problem = Item(operator, arguments).problem
        (job,) = plan(problem, config).jobs
        if source.getrandbits(1):
            fixed = dataflow_core(problem, lanes=config.lanes, pipelining=config.pipelining)
        else:
            fixed = fixed_to(job)
            if source.random() < PARTLY_FIXED:
                share = source.choice(FIXED_SHARES)
                some = tuple(pair for pair in fixed.fixed if source.random() < share)
                fixed = replace(fixed, fixed=some)
    except (ValueError, RuntimeError):  # several jobs, or registers that cannot be fixed
        return None
    return Target(name, fixed, bus, (operator, json.dumps(arguments)))


def _config(source: random.Random) -> CoreConfig:
    """Draw a configuration.

    Raises
    ------
    ValueError
        There is no such core: one without positions that gives nothing else, for example.
    """
    types = tuple(source.sample(list(DataType), source.choice((1, 1, 1, 2, 3))))
    operators = source.choice(OPERATOR_SETS)
    slides = "max-pool" in operators and (operators == ("max-pool",) or source.random() < 0.7)
    window = (
        (source.choice((1, 1, 1, 2, 3)), source.choice((1, 2, 3, 5)), source.choice(WIDTHS))
        if slides
        else (1, 1, 1)
    )
    chosen: dict[str, Any] = {
        "data_types": types,
        "lanes": source.choice(LANES),
        "max_window": window,
        "max_dilation": tuple(source.choice((1, 1, 2, 3)) for _ in DIMENSIONS),
        "max_line": source.choice((1, 3, 8, 17, 40)),
        "max_plane": source.choice((1, 7, 30, 96)),
        "coordinate_width": source.choice((5, 4, 7, 9)),
        "operators": operators,
        "index_width": source.choice((32, 32, 32, 0, 9, 16)),
        "padding": source.random() < 0.75,
        "pipelining": source.choice(PIPELINING),
    }
    if source.random() < 0.3:
        chosen |= _fixed(source, **chosen)
    return CoreConfig(**chosen)


def _fixed(source: random.Random, **chosen: Any) -> dict[str, Any]:
    """Return parameters in addition to those chosen, with which some registers are fixed."""
    _, height, width = chosen["max_window"]
    if width > 1:
        # A fixed window cannot be cut into tiles, so every line that is drawn must fit.
        most = min(width, MOST_FIXED_WIDTH)
        fixed = _fixed_window(source, "width", most, padding=chosen["padding"])
        if height > 1:
            fixed |= _fixed_window(source, "height", height, padding=chosen["padding"])
        room = {"max_window": (1, height, width), "max_line": 40, "max_dilation": (1, 1, 1)}
        return room | {"fixed": tuple(fixed.items())}
    # Without positions, it does not matter which of equal elements wins, and operators say so.
    fixed = {"decreasing": source.getrandbits(1) if chosen["index_width"] else 0}
    if any(data_type.format.is_float for data_type in chosen["data_types"]):
        fixed["ignore_nan"] = source.getrandbits(1)
    return {"fixed": tuple(fixed.items())}


def _fixed_window(source: random.Random, name: str, most: int, *, padding: bool) -> dict[str, int]:
    """Return the fixed registers of one dimension of a pooling without dilation."""
    window = source.randint(1, most)
    head = source.randint(0, window - 1) if padding else window - 1
    stride = source.choice((1, 2, 3, window))
    return {f"{name}.window": window, f"{name}.stride": stride, f"{name}.head": head}
