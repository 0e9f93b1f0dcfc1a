"""The winner of two candidates and of many: the best that is present, and the first of equals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value, unsigned
from amaranth.lib import data

from extremum.hdl.timing import Timed, TimingParameters
from extremum.hdl.winner import Tap, cell_latency, tree, tree_latency, winner
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Property

NARROW = TimingParameters(order_bits=2)
"""Keys of more than two bits are compared in halves, as those of more than 16 are otherwise."""

AT_ONCE = TimingParameters(order_bits=64, compare_clocks=0, choose_clocks=0)
"""The winner is known in the clock in which the candidates come, as in a small core."""


def candidate(p: Property, name: str, key_bits: int, number: Value, has_nan: bool) -> data.View:
    """Return a candidate that may be anything, but for its number."""
    members = {"key": unsigned(key_bits)} | ({"nan": unsigned(1)} if has_nan else {})
    layout = data.StructLayout(members | {"number": unsigned(len(number)), "present": unsigned(1)})
    free = p.input(name, key_bits + has_nan + 1)
    shaped = data.View(layout, Signal(layout.size, name=f"{name}_candidate"))
    p.m.d.comb += [
        shaped.key.eq(free[:key_bits]), shaped.number.eq(number), shaped.present.eq(free[-1]),
    ]  # fmt: skip
    if has_nan:
        p.m.d.comb += shaped.nan.eq(free[key_bits])
    return shaped


def nans_lie_apart(p: Property, given: Sequence[data.View], ignore: Value) -> None:
    """Assume what is proved of the keys: a NaN's lies beyond those of all numbers."""
    if "nan" not in given[0].shape().members:
        return
    # One border serves for all: every NaN lies on one side of it, and every number on the other.
    border = p.input("border", len(given[0].key))
    for each in given:
        beyond = Mux(ignore, each.key < border, each.key > border)
        within = Mux(ignore, each.key >= border, each.key <= border)
        p.assume(Mux(each.nan, beyond, within))


def tap(p: Property, given: data.View) -> Tap:
    """Return a candidate as the hardware takes it."""
    plain = Value.cast(given)
    return Tap(Timed(p.m, given.present), given.shape(), [Timed(p.m, plain)])


def better(a: data.View, b: data.View) -> Value:
    """Return whether ``a`` is better than ``b``, both being present."""
    greater = a.key > b.key
    return greater & ~(a.nan & b.nan) if "nan" in a.shape().members else greater


def equal(a: data.View, b: data.View) -> Value:
    """Return whether neither is better."""
    return ~better(a, b) & ~better(b, a)


def _view(like: data.View, value: Value) -> data.View:
    return data.View(like.shape(), value)


def cell(key_bits: int, has_nan: bool, parameters: TimingParameters, p: Property) -> None:
    """State which of two candidates wins."""
    a, b = (candidate(p, name, key_bits, Const(n, 1), has_nan) for n, name in enumerate("ab"))
    take_last = p.input("take_last")
    won = winner(p.m, parameters, tap(p, a), tap(p, b), take_last)
    given, present = won.lanes[0].value, won.present.value
    clocks = cell_latency(parameters)
    older, newer = (_view(a, p.late(Value.cast(x), clocks)) for x in (a, b))
    last = p.late(take_last, clocks)
    takes_newer = newer.present & (
        ~older.present | better(newer, older) | (last & equal(newer, older))
    )
    known = p.age(clocks) == clocks
    expected = Mux(takes_newer, Value.cast(newer), Value.cast(older))
    p.claim(
        "there is a winner if one is present", ~known | (present == (older.present | newer.present))
    )
    p.claim("the winner is the right one", ~(known & present) | (given == expected))
    p.reached("a tie that the older one wins", known & present & equal(newer, older) & ~takes_newer)
    p.reached(
        "an absent one that is better loses",
        known & ~newer.present & older.present & better(newer, older),
    )


def associative(key_bits: int, has_nan: bool, p: Property) -> None:
    """State that it does not matter which two of three candidates are compared first."""
    given = [candidate(p, name, key_bits, Const(n, 2), has_nan) for n, name in enumerate("abc")]
    nans_lie_apart(p, given, p.constant("ignore_nan"))
    take_last = p.constant("take_last")
    a, b, c = (tap(p, each) for each in given)
    parameters = TimingParameters()
    pair, clocks = partial(winner, p.m, parameters), cell_latency(parameters)
    left = pair(pair(a, b, take_last), c.moved_to(clocks), take_last)
    right = pair(a.moved_to(clocks), pair(b, c, take_last), take_last)
    present = left.present.value
    known = p.age(2 * clocks) == 2 * clocks
    p.claim("both tell whether one is present", ~known | (present == right.present.value))
    p.claim(
        "both give the same candidate",
        ~(known & present) | (left.lanes[0].value == right.lanes[0].value),
    )
    p.reached(
        "the second one wins", known & present & (_view(given[0], left.lanes[0].value).number == 1)
    )


def of_many(
    counts: Sequence[int], key_bits: int, parameters: TimingParameters, p: Property
) -> None:
    """State which of many candidates wins, for trees of several widths."""
    take_last, ignore = p.input("take_last"), p.constant("ignore_nan")
    for count in counts:
        bits = max(1, (count - 1).bit_length())
        given = [
            candidate(p, f"of{count}_{n}", key_bits, Const(n, bits), True) for n in range(count)
        ]
        nans_lie_apart(p, given, ignore)
        won = tree(p.m, parameters, [tap(p, each) for each in given], take_last)
        clocks = tree_latency(parameters, count)
        known, last = p.age(clocks) == clocks, p.late(take_last, clocks)
        late = [p.late(Value.cast(each), clocks) for each in given]
        winning = _view(given[0], won.lanes[0].value)
        # Any other one, and what was given under the number of the winner.
        number = p.constant(f"rival_of_{count}", bits)
        p.assume(number < count)
        rival = _view(given[0], Array(late)[number])
        p.claim(
            f"of {count}, there is a winner if one is present",
            ~known
            | (won.present.value == Cat(_view(given[0], each).present for each in late).any()),
        )
        p.claim(
            f"of {count}, the winner is one of those given, and present",
            ~(known & won.present.value)
            | ((Array(late)[winning.number] == Value.cast(winning)) & winning.present),
        )
        p.claim(f"of {count}, none that is present is better",
                ~(known & rival.present) | ~better(rival, winning))  # fmt: skip
        p.claim(
            f"of {count}, it is the first of equals, or the last",
            ~(known & rival.present & equal(rival, winning))
            | Mux(last, winning.number >= number, winning.number <= number),
        )
        p.reached(
            f"of {count}, the last one wins against an equal",
            known & rival.present & equal(rival, winning) & (winning.number == count - 1)
            & (number != count - 1),
        )  # fmt: skip


MODULE = "extremum.hdl.winner"
TIE = Fault("a tie goes to the newer one", MODULE, "new_view, old_view, take_last)",
            "new_view, old_view, ~take_last)")  # fmt: skip
ABSENT = Fault("an absent one may win", MODULE, "newer_present & (~older_present | better)",
               "(newer_present & ~older_present) | better")  # fmt: skip
NANS = Fault(
    "NaNs are compared by their payloads",
    MODULE,
    "Mux(tied, delay(m, or_equals, clocks), greater)",
    "greater",
)
HALVES = Fault("the low half decides if the high one differs", "extremum.hdl.timing.comparison",
               "high | (level & low)", "high | low")  # fmt: skip
ODD = Fault("the odd one out is put in front", MODULE,
            "pairs.append(taps[-1].moved_to(clock + cell_latency(parameters)))",
            "pairs.insert(0, taps[-1].moved_to(clock + cell_latency(parameters)))")  # fmt: skip
LATE = Fault("take_last does not wait for the candidates", MODULE,
             "take_last_then = take_last_then.moved_to(taps[0].clock)",
             "take_last_then = Timed(m, take_last, taps[0].clock)")  # fmt: skip

PROOFS = (
    Proof(
        "winner-cell", "hdl/winner.py",
        "Of two candidates with keys of 16 bits the better wins that is present; of equals, and of "
        "two NaNs, the older one, or the newer one if the job says so.",
        partial(cell, 16, True, TimingParameters()), depth=3, search=5, faults=(TIE, ABSENT, NANS),
        quick=True,
    ),
    Proof(
        "winner-cell-wide", "hdl/winner.py",
        "The same of keys of 64 bits, which are compared in two halves.",
        partial(cell, 64, True, TimingParameters()), depth=3, search=5, faults=(TIE, HALVES),
    ),
    Proof(
        "winner-cell-at-once", "hdl/winner.py",
        "The same of keys of 16 bits without any register, as in a small core.",
        partial(cell, 16, True, AT_ONCE), depth=2, search=3, faults=(TIE, ABSENT, NANS),
    ),
    Proof(
        "winner-tree-at-once", "hdl/winner.py",
        "Of 2 to 9 candidates, in trees without any register, the winner is present, none is "
        "better, and it is the first or the last of equals.",
        partial(of_many, range(2, 10), 3, AT_ONCE), depth=2, search=3, faults=(TIE, ODD),
    ),
    Proof(
        "winner-associative", "hdl/winner.py",
        "Of three candidates the same one wins whichever two are compared first.",
        partial(associative, 16, True), depth=5, search=7, faults=(ABSENT,), quick=True,
    ),
    Proof(
        "winner-tree", "hdl/winner.py",
        "Of 2 to 9 candidates with keys of 3 bits, in trees of each width, the winner is present, "
        "none is better, and it is the first or the last of equals.",
        partial(of_many, range(2, 10), 3, TimingParameters()), depth=8, search=11,
        faults=(TIE, ODD, LATE),
    ),
    *(
        Proof(
            f"winner-tree-{count}", "hdl/winner.py", f"The same of {count} candidates.",
            partial(of_many, (count,), 3, TimingParameters()), depth=clocks, search=clocks + 3,
            faults=(TIE, LATE),
        )
        for count, clocks in ((16, 8), (32, 10), (64, 12))
    ),
)  # fmt: skip
