"""Tables of which only some rows are given, against these rows."""

import random

import pytest
from gateware import Circuit, watch

from extremum.hdl.axi.tables import is_one_of, look_up


@pytest.mark.parametrize("bits", [1, 3, 6])
@pytest.mark.parametrize("share", [0.2, 0.6, 1])
def test_each_given_row_is_found(bits, share):
    """Whatever the rows are: equal ones, none that differ, all different."""
    rng = random.Random(f"{bits} {share}")
    count = max(1, round(share * (1 << bits)))
    tables = [
        {at: rng.choice(values) for at in rng.sample(range(1 << bits), count)}
        for values in ([0], [15], [0, 1], [3, 12], range(16))
        for _ in range(4)
    ]

    def logic(m, circuit):
        return {f"found_{n}": look_up(circuit.index, rows, 4) for n, rows in enumerate(tables)}

    circuit = Circuit({"index": bits}, logic)
    clocks = [{"index": index} for index in range(1 << bits)]
    seen = watch(circuit, clocks, circuit.outputs)
    for index, found in enumerate(seen):
        for number, rows in enumerate(tables):
            assert found[f"found_{number}"] == rows.get(index, found[f"found_{number}"])


def test_indices_that_never_come_cost_nothing():
    """Numbers that one bit tells apart are told apart by this bit alone."""
    members, others = [0b0010, 0b0111], [0b0000, 0b1101]

    def logic(m, circuit):
        return {"found": is_one_of(circuit.index, members, members + others)}

    circuit = Circuit({"index": 4}, logic)
    seen = watch(circuit, [{"index": index} for index in range(16)], circuit.outputs)
    assert [clock["found"] for clock in seen] == [index >> 1 & 1 for index in range(16)]


def test_a_number_is_one_of_some():
    """With every number among those that may come, all others are told from the members."""
    members = [0, 5, 6, 31]

    def logic(m, circuit):
        return {"found": is_one_of(circuit.index, members, range(32))}

    circuit = Circuit({"index": 5}, logic)
    seen = watch(circuit, [{"index": index} for index in range(32)], circuit.outputs)
    assert [clock["found"] for clock in seen] == [int(index in members) for index in range(32)]
