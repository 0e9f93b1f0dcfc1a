"""One dimension of a job: its registers and their rules, and what the counter of a line holds."""

from __future__ import annotations

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
        rules = follows_rules(self.on_port, config)
        p.assume(~advance.token | rules)
        p.invariant("the job at hand follows the rules",
                    ~self.job.begun | follows_rules(self.own, config))  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        return self.own[name]


def lead(registers: Any) -> Value:
    """Return the slots of a line in front of coordinate 0."""
    head = registers["head"]
    return Mux(head < 0, -head, 0)


def follows_rules(registers: dict[str, Any], config: CoreConfig) -> Value:
    """Return whether registers of a dimension follow the rules of ``extremum.hdl.job``."""
    r, most = registers, 1 << config.coordinate_width
    taps = config.max_window[WIDTH]
    if config.padding:
        within = [
            r["final"] < r["head"] + r["period"],
            r["head"] <= r["regular"],
            r["regular"] <= r["final"],
        ]
    else:
        within = [
            r["head"] == (r["window"] - 1) * r["dilation"],
            r["size"] == r["period"],
            r["head"] <= r["final"],
            r["final"] < r["period"],
        ]
    return Cat(
        *within,
        lead(r) + r["size"] <= r["period"],
        r["size"] < most,
        lead(r) < most,
        Mux(r["head"] < 0, 0, r["head"]) + r["period"] < most,
        r["window"] >= 1,
        r["window"] <= taps,
        r["shift"] < r["window"],
        r["dilation"] >= 1,
        (r["window"] - 1) * r["dilation"] < most,
    ).all()


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
