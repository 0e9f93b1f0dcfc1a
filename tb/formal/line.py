"""One dimension of a job: its registers and their rules, and what the counter of a line holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Cat, Mux, Value

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.register_table import NEUTRAL_DIMENSION, is_less_one
from extremum.hdl.registers import register
from extremum.tb.formal.job import Job
from extremum.tb.formal.property import Inside, Property

WIDTH = DIMENSIONS.index("width")

SETTLED = 3
"""Clocks for which a job's registers are on the port before its token comes."""


class LineJob:
    """The registers of one line of the job at hand, as signed numbers with room for sums."""

    def __init__(self, p: Property, config: CoreConfig, block: Any, clocks: int):
        advance, port = block.advance, Value.cast(block.job)
        p.assume(advance.begin == advance.token)
        p.assume(advance.restart == advance.token)
        p.assume(~advance.token | advance.step)
        p.assume(~advance.token | (p.age(SETTLED) == SETTLED))
        for clock in range(1, SETTLED + 1):
            p.assume(~advance.token | (port == p.late(port, clock)))
        self.job = Job(p, block.job, advance.token, clocks)
        self.on_port, self.own = (
            {
                name: register(config, job, f"width.{name}") + is_less_one(name)
                for name in NEUTRAL_DIMENSION
            }
            for job in (block.job, self.job.registers)
        )
        on_port, own = (Cat(rules(r, config, WIDTH)).all() for r in (self.on_port, self.own))
        p.assume(~advance.token | on_port)
        p.invariant("the job at hand follows the rules", ~self.job.begun | own)

    def __getattr__(self, name: str) -> Any:
        return self.own[name]


def lead(head: Any) -> Any:
    """Return the slots of a line in front of coordinate 0, of a number or of a signal."""
    return max(-head, 0) if isinstance(head, int) else Mux(head < 0, -head, 0)


def rules(registers: Mapping[str, Any], config: CoreConfig, axis: int) -> list[Any]:
    """Return for each rule whether the registers of a dimension follow it, as those of a plan do.

    Parameters
    ----------
    registers
        The registers of one dimension by name: numbers, or signals with room for sums.
    config
        Configuration of the core.
    axis
        The dimension, by its place in a triple.

    Returns
    -------
    list
        A truth value, or a signal of one bit, for each rule.
    """
    r, most = registers, 1 << config.coordinate_width
    before, reach = lead(r["head"]), (r["window"] - 1) * r["dilation"]
    if config.padding:
        within = [
            r["final"] < r["head"] + r["period"],
            r["head"] <= r["regular"],
            r["regular"] <= r["final"],
        ]
    else:
        within = [
            r["head"] == reach,
            r["size"] == r["period"],
            r["head"] <= r["final"],
            r["final"] < r["period"],
        ]
    return [
        *within,
        before + r["size"] <= r["period"],
        r["size"] < most,
        before < most,
        r["head"] + before + r["period"] < most,
        r["window"] >= 1,
        r["window"] <= config.max_window[axis],
        r["shift"] < r["window"],
        r["dilation"] >= 1,
        reach < most,
    ]


def help_line(
    p: Property,
    inside: Inside,
    *,
    begun: Value,
    place: Value,
    goals: dict[str, Value],
    in_first: Value | None = None,
    head: Value | None = None,
) -> None:
    """State what the counter of a line holds, and what it is compared with.

    If ``in_first``, the line is the job's first, and longer or shorter by what lies in front of
    ``head``.
    """
    number, following, is_first = (
        inside.signal(f"slot_{name}") for name in ("number", "next", "first")
    )
    p.invariant("the number", ~begun | (number == (place + 1)[: len(number)]))
    p.invariant("the number to come", ~begun | (following == (place + 2)[: len(number)]))
    p.invariant("the first slot", ~begun | (is_first == (place == 0)))
    for (name, goal), met in zip(goals.items(), inside.named("slot_met"), strict=True):
        present = goal
        if in_first is not None and head is not None:
            first_goal = goal + Mux(head < 0, 0, head)
            present = Mux(in_first, first_goal, goal)
            for part, value in (("at_first_second", first_goal == 1), ("first_number", first_goal)):
                p.invariant(f"{name}: {part}",
                            ~begun | (inside.signal(f"{name}_{part}") == value))  # fmt: skip
            is_in_first = inside.signal("slot_line_first")
            p.invariant("the first line", ~begun | (is_in_first == in_first))
        p.invariant(f"{name}: its flag", ~begun | (inside.signal(name) == (place == present)))
        for part, value in (("at_once", goal == 0), ("at_second", goal == 1), ("number", goal)):
            p.invariant(f"{name}: {part}",
                        ~begun | (inside.signal(f"{name}_{part}") == value))  # fmt: skip
        p.invariant(f"{name}: is met", ~begun | is_first | (met.all() == (number == present)))
