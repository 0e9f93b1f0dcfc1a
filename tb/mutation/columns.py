"""Simulates an And-Inverter Graph in many columns at once, 64 of them in a word of NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from extremum.tb.mutation.aig import Netlist
from extremum.tb.mutation.compiled_design import Port, Trial

ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


def unpacked(words: np.ndarray) -> np.ndarray:
    """Return the bits of rows of words, uint64, as rows of columns, bool."""
    octets = np.ascontiguousarray(words).view(np.uint8)
    return np.unpackbits(octets, axis=-1, bitorder="little").astype(bool)


def packed(bits: np.ndarray) -> np.ndarray:
    """Return rows of columns, bool, as rows of words, uint64; there are 64 columns in a word."""
    return np.ascontiguousarray(np.packbits(bits, axis=-1, bitorder="little")).view(np.uint64)


class Columns:
    """The gates of a netlist by levels, so that those of a level are one operation.

    Parameters
    ----------
    netlist
        The circuit.
    """

    def __init__(self, netlist: Netlist) -> None:
        self.nodes = 1 + max((*netlist.gates, *(s // 2 for s, _ in netlist.latches)), default=0)
        self.states = np.array([state // 2 for state, _ in netlist.latches], int)
        self.following = np.array([literal for _, literal in netlist.latches], int)
        level: dict[int, int] = {}
        levels: list[list[tuple[int, int, int]]] = []
        for node, (one, other) in netlist.gates.items():
            mine = level[node] = 1 + max(level.get(one // 2, 0), level.get(other // 2, 0))
            if mine > len(levels):
                levels.append([])
            levels[mine - 1].append((node, one, other))
        self.levels = [np.array(rows, int).T for rows in levels]

    def evaluate(self, values: np.ndarray) -> None:
        """Compute all gates in place, given the rows of the inputs and the states, uint64."""
        for nodes, ones, others in self.levels:
            values[nodes] = literals(values, ones) & literals(values, others)

    def next_states(self, values: np.ndarray) -> np.ndarray:
        """Return the rows of the next states, in the order of the latches."""
        return literals(values, self.following)


def literals(values: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the rows of literals, uint64."""
    inverted = np.where(chosen & 1, ONES, np.uint64(0))
    return values[chosen // 2] ^ inverted[:, None]


MOST_TRIALS = 64
"""Trials that are evaluated side by side."""


def reached(
    netlist: Netlist,
    columns: Columns,
    ports: dict[str, Port],
    trials: Sequence[Trial],
    samples: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and states that occur together in trials, drawn from them at random.

    Parameters
    ----------
    netlist, columns
        The circuit.
    ports
        Where each input stands in a row of a trial.
    trials
        At most :data:`MOST_TRIALS`: each is a bit of a word.
    samples
        About how many.

    Returns
    -------
    nodes : ndarray
        Those of the inputs, then those of the states.
    bits : ndarray
        bool, a row for each of these nodes and a column for each sample; the first is the state
        after power-up.
    """
    wired = [
        (literal // 2, 32 * ports[port].word + int(bit.rstrip("]") or 0))
        for name, literal in netlist.inputs.items()
        for port, _, bit in [name.partition("[")]
        if port in ports
    ]
    inputs, places = np.array(wired, int).T
    clocks = max(len(trial.inputs) for trial in trials)
    given = np.zeros((clocks, len(inputs), MOST_TRIALS), bool)
    alive = np.zeros((clocks, MOST_TRIALS), bool)
    for column, trial in enumerate(trials):
        octets = np.ascontiguousarray(trial.inputs).view(np.uint8)
        bits = np.unpackbits(octets, axis=1, bitorder="little")
        given[: len(bits), :, column] = bits[:, places]
        alive[: len(bits), column] = True
    rng = np.random.default_rng(0)
    taken = rng.random(alive.shape) * alive.sum() < samples
    taken[0] = True
    taken &= alive
    nodes = np.concatenate([inputs, columns.states])
    values = np.zeros((columns.nodes, 1), np.uint64)
    found = []
    for clock in range(clocks):
        values[inputs] = packed(given[clock])
        if taken[clock].any():
            found.append(unpacked(values[nodes])[:, taken[clock]])
        columns.evaluate(values)
        values[columns.states] = columns.next_states(values)
    return nodes, np.concatenate(found, axis=1)
