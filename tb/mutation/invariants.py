"""Finds flip-flops that never change, by ternary simulation from the state after power-up.

Each bit may be 0, may be 1, or may be both; inputs may be both. A clock widens what the flip-flops
may be, until nothing is new. What may be one value alone then is constant in every state that the
design can reach. No relation between bits is seen, so not every constant is found.
"""

from __future__ import annotations

import numpy as np

from extremum.tb.mutation.aig import Netlist
from extremum.tb.mutation.columns import Columns


def constants(netlist: Netlist, columns: Columns, fixed: dict[int, int]) -> dict[int, int]:
    """Return the flip-flops that are constant, by node, with their values.

    Parameters
    ----------
    netlist, columns
        The circuit.
    fixed
        The values of inputs that do not change, by node.
    """
    # Column 0 says whether a node may be 1, column 1 whether it may be 0.
    may = np.zeros((columns.nodes, 2), bool)
    may[:1] = may[columns.states] = (False, True)
    may[[literal // 2 for literal in netlist.inputs.values()]] = True
    for node, value in fixed.items():
        may[node] = (bool(value), not value)
    while True:
        for nodes, ones, others in columns.levels:
            one, other = _literals(may, ones), _literals(may, others)
            may[nodes, 0] = one[:, 0] & other[:, 0]
            may[nodes, 1] = one[:, 1] | other[:, 1]
        following = may[columns.states] | _literals(may, columns.following)
        if (following == may[columns.states]).all():
            single = following[:, 0] != following[:, 1]
            return {
                int(node): int(one)
                for node, one in zip(columns.states[single], following[single, 0], strict=True)
            }
        may[columns.states] = following


def _literals(may: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    rows = may[chosen // 2]
    return np.where((chosen & 1)[:, None] == 1, rows[:, ::-1], rows)
