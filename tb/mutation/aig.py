"""And-Inverter Graphs: read from AIGER, and evaluated symbolically with shared nodes.

A literal is twice a node, plus one if it is inverted; 0 and 1 are the constants.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Netlist:
    """A sequential circuit.

    Attributes
    ----------
    inputs, outputs
        Names ``port[bit]`` of the ports with their literals.
    latches
        For each flip-flop: the literal of its state, and that of its next state.
    gates
        For each node that is an AND: its two literals. Nodes come behind those that they use.
    """

    inputs: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)
    latches: list[tuple[int, int]] = field(default_factory=list)
    gates: dict[int, tuple[int, int]] = field(default_factory=dict)


def read(text: str) -> Netlist:
    """Return the circuit of an AIGER file in ASCII with a table of symbols."""
    lines = text.splitlines()
    _, inputs, latches, outputs, gates = map(int, lines[0].split()[1:6])
    found, row = Netlist(), 1
    in_literals = [int(line) for line in lines[row : row + inputs]]
    row += inputs
    for line in lines[row : row + latches]:
        state, following = map(int, line.split()[:2])
        found.latches.append((state, following))
    row += latches
    out_literals = [int(line) for line in lines[row : row + outputs]]
    row += outputs
    for line in lines[row : row + gates]:
        gate, one, other = map(int, line.split())
        found.gates[gate // 2] = (one, other)
    for line in lines[row + gates :]:
        if line[:1] == "c":
            break
        place, _, name = line.partition(" ")
        if place[0] == "i":
            found.inputs[name] = in_literals[int(place[1:])]
        elif place[0] == "o":
            found.outputs[name] = out_literals[int(place[1:])]
    # What nothing drives may be anything.
    named = set(found.inputs.values())
    found.inputs |= {f"undriven{lit}": lit for lit in in_literals if lit not in named}
    return found


class Logic:
    """ANDs with equal operands made once, as clauses of a SAT solver where they are asked about.

    Parameters
    ----------
    solver
        A solver of PySAT. Its variable 1 is the constant true.
    """

    def __init__(self, solver: Any) -> None:
        self._solver = solver
        self._gates: list[tuple[int, int] | None] = [None]
        self._known: dict[tuple[int, int], int] = {}
        self._told = {0}
        solver.add_clause([1])

    def free(self) -> int:
        """Return the literal of a new unknown."""
        self._gates.append(None)
        return 2 * (len(self._gates) - 1)

    def both(self, one: int, other: int) -> int:
        """Return the literal of an AND."""
        if one > other:
            one, other = other, one
        if one == 0 or one == other ^ 1:
            return 0
        if one in (1, other):
            return other
        found = self._known.get((one, other))
        if found is None:
            found = self._known[one, other] = 2 * len(self._gates)
            self._gates.append((one, other))
        return found

    def either(self, literals: Iterable[int]) -> int:
        """Return the literal of an OR."""
        found = 1
        for literal in literals:
            found = self.both(found, literal ^ 1)
        return found ^ 1

    def differ(self, one: int, other: int) -> int:
        """Return the literal of an XOR."""
        return self.either((self.both(one, other ^ 1), self.both(one ^ 1, other)))

    def _variable(self, literal: int) -> int:
        """Return the solver's literal. Node 0 is false: the solver's variable 1, inverted."""
        number = literal // 2 + 1
        return -number if bool(literal & 1) != (literal < 2) else number

    def again(self, solver: Any) -> Logic:
        """Return the same gates for another solver, which knows of no clause yet."""
        other = Logic(solver)
        other._gates, other._known = self._gates, self._known
        return other

    def example(self, literal: int) -> list[int] | None:
        """Return the solver's model of an example in which a literal holds; None if there is none.

        :meth:`told` looks literals up in it.
        """
        if literal == 0:
            return None
        self._tell([literal // 2])
        if not self._solver.solve(assumptions=[self._variable(literal)]):
            return None
        return list(self._solver.get_model())

    def _tell(self, nodes: Iterable[int]) -> None:
        """Tell the solver of gates, and of all that they depend on."""
        pending = list(nodes)
        while pending:
            node = pending.pop()
            if node in self._told:
                continue
            self._told.add(node)
            gate = self._gates[node]
            if gate is not None:
                own, (one, other) = self._variable(2 * node), map(self._variable, gate)
                self._solver.add_clause([-own, one])
                self._solver.add_clause([-own, other])
                self._solver.add_clause([own, -one, -other])
                pending += [gate[0] // 2, gate[1] // 2]

    def told(self, literal: int, example: list[int]) -> bool | None:
        """Return whether a literal holds in an example; None if the example is not about it."""
        variable = self._variable(literal)
        if literal // 2 not in self._told or abs(variable) > len(example):
            return None
        return (example[abs(variable) - 1] > 0) == (variable > 0)


class Evaluation:
    """The literals of all nodes of a netlist, given those of its inputs and states.

    Parameters
    ----------
    netlist
        The circuit.
    logic
        Where its gates are made.
    given
        The literals of the nodes that are inputs or states.
    """

    def __init__(self, netlist: Netlist, logic: Logic, given: dict[int, int]) -> None:
        self._netlist, self.logic = netlist, logic
        self._value = {0: 0} | given
        self._users: dict[int, list[int]] = {}
        for node, (one, other) in netlist.gates.items():
            self._users.setdefault(one // 2, []).append(node)
            self._users.setdefault(other // 2, []).append(node)
            self._value[node] = logic.both(self.of(one), self.of(other))

    def of(self, literal: int) -> int:
        """Return what a literal of the netlist has become."""
        return self._value[literal // 2] ^ (literal & 1)

    def changed(self, given: dict[int, int]) -> dict[int, int]:
        """Return the literals of the nodes that are others if some nodes are forced to literals."""
        value, users = self._value, self._users
        new = {node: literal for node, literal in given.items() if value[node] != literal}
        heap = sorted({user for node in new for user in users.get(node, ())})
        queued = set(heap)
        while heap:
            node = heapq.heappop(heap)
            if node in given:
                continue
            one, other = self._netlist.gates[node]
            a = new.get(one // 2, value[one // 2]) ^ (one & 1)
            b = new.get(other // 2, value[other // 2]) ^ (other & 1)
            literal = self.logic.both(a, b)
            if literal != value[node]:
                new[node] = literal
                for user in users.get(node, ()):
                    if user not in queued:
                        queued.add(user)
                        heapq.heappush(heap, user)
        return new


def selected(netlist: Netlist, selector: Sequence[int], count: int) -> dict[int, int]:
    """Return the nodes that depend on a selector alone, each with a bit for each selection.

    Parameters
    ----------
    netlist
        The circuit.
    selector
        Nodes of the selector's bits, the lowest first.
    count
        Selections: 0 to ``count - 1``.
    """
    every = (1 << count) - 1
    bits = {0: 0}
    for place, node in enumerate(selector):
        bits[node] = sum(1 << number for number in range(count) if number >> place & 1)
    for node, (one, other) in netlist.gates.items():
        a, b = bits.get(one // 2), bits.get(other // 2)
        if a is not None and b is not None:
            bits[node] = (a ^ (every if one & 1 else 0)) & (b ^ (every if other & 1 else 0))
    return bits
