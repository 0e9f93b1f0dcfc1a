"""From an operator on a tensor of any size to the jobs of a core.

:func:`plan` is the entry: it gives the jobs (:mod:`extremum.host.plan.jobs`), each with the values
of its registers (:mod:`extremum.host.plan.registers`), and predicts their clocks.
:func:`dataflow_core` gives the smallest core that carries out one operator and nothing else.
"""

from extremum.host.plan.dataflow import dataflow_core
from extremum.host.plan.planner import Plan, plan

__all__ = ["Plan", "dataflow_core", "plan"]
