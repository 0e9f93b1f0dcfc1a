"""The fold: the winner of all lanes in each lane, or the lanes as they are."""

from __future__ import annotations

from functools import partial

from amaranth.hdl import Array, Mux, Value
from amaranth.lib import data

from extremum.hdl.config import CoreConfig
from extremum.hdl.fold import Fold, latency
from extremum.model import DataType
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.job import Job
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.proofs.winner import ABSENT, TIE, better, equal, nans_lie_apart
from extremum.tb.formal.property import Property


def fold(config: CoreConfig, p: Property) -> None:
    """State what every lane carries, in a job that folds and in one that does not."""
    block, clocks, lanes = Fold(config, {}), latency(config), config.lanes
    inside = p.add("fold", block)
    job = Job(p, block.job, block.i.token, clocks)
    job.is_in(p, inside, config, ("tail", "decreasing"), 0)
    job.is_in(p, inside, config, ("fold",), clocks - 1)
    nans_lie_apart(p, [block.i.lanes[lane] for lane in range(lanes)], p.constant("ignore_nan"))
    folds, decreasing, tail = (
        job.of(p, config, name, clocks) for name in ("fold", "decreasing", "tail")
    )
    known = p.late(job.begun, clocks) & (tail >= 1) & (tail <= lanes)
    last = p.late(block.i.control.last, clocks)
    given = [
        data.View(block.i_layout, p.late(Value.cast(block.i.lanes[lane]), clocks))
        for lane in range(lanes)
    ]
    present = [~last | (tail > lane) for lane in range(lanes)]
    # Any lane that is looked at, and any lane whose element may not be better.
    here, rival = (p.constant(name, range(lanes)) for name in ("here", "rival"))
    shown = data.View(
        block.o_layout, Array(Value.cast(block.o.lanes[n]) for n in range(lanes))[here]
    )
    size = block.i_layout.size
    fields, number = Value.cast(shown)[:size], shown.tap_lane
    plain = Array(Value.cast(each) for each in given)
    other, is_present = data.View(block.i_layout, plain[rival]), Array(present)[rival]
    folded, rivals = known & folds, known & folds & is_present
    p.claim("a job that does not fold passes the lanes on",
            ~(known & ~folds) | ((fields == plain[here]) & (number == 0)))  # fmt: skip
    p.claim("a winner is the element of its lane", ~folded | (fields == plain[number]))
    p.claim("a winner is present", ~folded | Array(present)[number])
    p.claim("no element that is present is better", ~rivals | ~better(other, shown))
    p.claim(
        "it is the first of equals, or the last",
        ~(rivals & equal(other, shown)) | Mux(decreasing, number >= rival, number <= rival),
    )
    control = p.late(Value.cast(block.i.control), clocks)
    p.claim("the control goes with the word",
            (p.age(clocks) < clocks) | (control == Value.cast(block.o.control)))  # fmt: skip
    p.reached("an absent lane that would have won", folded & ~is_present & better(other, shown))
    p.reached("a job that does not fold", known & ~folds & (fields != plain[0]))


MODULE = "extremum.hdl.fold"
TAIL = Fault("one lane too many is present", MODULE, "[tail > lane", "[tail >= lane")
STALE = Fault("fold changes with the token, not with the word", MODULE,
              'words.token, won.clock, count', "words.token, 0, count")  # fmt: skip


def _proof(built: DataType, lanes: int, *faults: Fault) -> Proof:
    config = CoreConfig((built,), lanes=lanes, index_width=8)
    clocks = latency(config)
    return Proof(
        f"fold-{built.name.lower()}-{lanes}", "hdl/fold.py",
        f"With {lanes} lanes of {built.name}, a job that folds gets the winner of the lanes that "
        "are present in each lane, the first or the last of equals; another job gets its lanes as "
        "they are.",
        partial(fold, config), depth=clocks + 2, search=clocks + 4, faults=faults,
        quick=lanes == 2,
    )  # fmt: skip


PROOFS = (
    _proof(DataType.INT8, 2, TAIL, STALE),
    _proof(DataType.FLOAT16, 4, TIE, STALE),
    _proof(DataType.INT8, 8, TAIL, ABSENT),
)
