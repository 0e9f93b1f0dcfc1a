"""From an operator on a tensor of any size to the jobs of a core.

:func:`plan` is the entry: it gives the jobs (:mod:`extremum.host.plan.jobs`), each with the values
of its registers (:mod:`extremum.host.plan.registers`), and predicts their clocks.
"""

from extremum.host.plan.planner import Plan, plan

__all__ = ["Plan", "plan"]
