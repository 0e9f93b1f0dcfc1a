"""The reducer: in a row of any length no element beats the result, the first or last of equals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from amaranth.hdl import Cat, Const, Mux, Signal, Value
from amaranth.lib import data

from extremum.hdl.config import CoreConfig
from extremum.hdl.reduction import Reducer, is_ordinal_given, latency
from extremum.hdl.timing import timing_parameters
from extremum.model import DataType
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.job import Job
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Inside, Property

POSITIONS_ALONE = ("argmin", "argmax")


class _Row:
    """A row of any length, in which any one element is remembered: the rival.

    Attributes
    ----------
    number
        The ordinal of the newest word, and so the length of the row so far less one.
    following
        The ordinal of the next word.
    begun
        There has been a word.
    seen, rival
        The rival has come; it.
    decreasing, folds
        Registers of the job that the row belongs to.
    """

    def __init__(self, p: Property, block: Reducer, job: Job, place: Signal, lane: int):
        config, word = block.config, block.i
        bits = config.index_width
        self.number, self.begun, self.seen = (
            Signal(width, name=name)
            for name, width in (("number", bits), ("begun_row", 1), ("seen", 1))
        )
        self.decreasing, self.folds = Signal(name="row_decreasing"), Signal(name="row_folds")
        self.rival = data.View(block.i_layout, Signal(block.i_layout.size, name="rival"))
        is_open, step = Signal(name="is_open"), 1
        if config.can_fold:
            step = Mux(job.registers.fold, config.lanes, 1)
            p.m.d.sync += [self.folds.eq(Mux(word.valid, job.registers.fold, self.folds))]
        after = self.number + step
        self.following = Mux(is_open, after[:bits], 0)
        # Rows follow each other; a job begins behind a row. A row is as long as its ordinals fit.
        p.assume(~word.valid | job.begun)
        p.assume(~word.valid | (word.control.first == ~is_open))
        p.assume(~word.token | Mux(word.valid, word.control.last, ~is_open))
        p.assume(~(word.valid & is_open) | (after < 1 << bits))
        with p.m.If(word.valid):
            p.m.d.sync += [
                is_open.eq(~word.control.last),
                self.begun.eq(1),
                self.number.eq(self.following),
                self.decreasing.eq(job.registers.decreasing),
                self.seen.eq((self.seen & is_open) | (self.following == place)),
            ]
            with p.m.If(self.following == place):
                p.m.d.sync += Value.cast(self.rival).eq(Value.cast(word.lanes[lane]))
        low = (config.lanes - 1).bit_length()
        is_step = ~self.folds | ~place[:low].any()
        p.invariant(
            "the rival has come if the row is that long",
            ~self.begun | (self.seen == ((place <= self.number) & is_step)),
        )
        p.invariant("a fold counts in steps", ~self.folds | ~self.number[:low].any())
        p.invariant("an open row has a word", ~is_open | self.begun)
        p.invariant("a row has a job", ~self.begun | job.begun)
        p.invariant(
            "a row belongs to one job",
            ~is_open | (self.decreasing == job.registers.decreasing),
        )
        if config.can_fold:
            p.invariant("a row folds or not", ~is_open | (self.folds == job.registers.fold))


def _effective(candidate: data.View, ignore: Value) -> Value:
    """Return the key as the reducer compares it: that of all NaNs is the same."""
    key = Value.cast(candidate.key)
    if "nan" not in candidate.shape().members:
        return key
    return Mux(candidate.nan, (~ignore).replicate(len(key)), key)


def reduction(config: CoreConfig, p: Property) -> None:
    """State what the running winner of a row is, whenever a word has passed."""
    block, clocks = Reducer(config, {}), latency(config)
    lane = config.lanes - 1
    given = is_ordinal_given(config)
    inside = p.add("reducer", block, driven=("number",) if given else ())
    job = Job(p, block.job, block.i.token, clocks)
    if _is_at_once(config):
        # The job stays on its port until its last word has come.
        p.assume(~block.i.valid | (Value.cast(block.job) == Value.cast(job.registers)))
    job.is_in(p, inside, config, ("decreasing", "ignore_nan", "fold"), 0)
    # The mode of NaN is that of all jobs here: it moves the key of NaN, which is proved elsewhere.
    ignore = p.constant("ignore_nan")
    if config.has_floats and config.has_values:
        p.assume(block.job.ignore_nan == ignore)
        mode = job.registers.ignore_nan
        p.invariant("all jobs have one mode of NaN", ~job.begun | (mode == ignore))
    apart = _nans_apart(p, config, ignore)
    p.assume(apart(block.i.lanes[lane]))
    place = p.constant("place", config.index_width)
    row = _Row(p, block, job, place, lane)
    if given:
        low = (config.lanes - 1).bit_length()
        folds = job.registers.fold if config.can_fold else 0
        p.m.d.comb += block.number.eq(Mux(folds, row.following >> low, row.following))
    result = block.o.lanes[lane]
    number, begun, seen, decreasing = (
        p.late(value, clocks - 1) for value in (row.number, row.begun, row.seen, row.decreasing)
    )
    rival = data.View(block.i_layout, p.late(Value.cast(row.rival), clocks - 1))
    rival_key, rivals = _effective(rival, ignore), begun & seen
    # The key that is best of all: it leaves the core only with values.
    best, aligned = _best(p, inside, block, lane, ignore)
    compared = p.late(best, clocks - aligned)
    known = block.o.valid
    p.claim(
        "a result comes for each row, and for nothing else",
        known == p.late(block.i.valid & block.i.control.last, clocks),
    )
    p.claim("the ordinal is in the row", ~begun | (result.ordinal <= number))
    p.claim("no element of the row is better", ~rivals | (rival_key <= compared))
    p.claim(
        "it is the first of equals, or the last",
        ~(rivals & (rival_key == compared))
        | Mux(decreasing, result.ordinal >= place, result.ordinal <= place),
    )
    p.claim("the result is the element at its ordinal",
            ~(rivals & (result.ordinal == place)) | (compared == rival_key))  # fmt: skip
    if config.has_values:
        fields = [name for name in ("key", "nan", "sign") if name in result.shape().members]
        same = Cat(Value.cast(result[name]) == Value.cast(rival[name]) for name in fields).all()
        p.claim("its bits are those of that element", ~(rivals & (result.ordinal == place)) | same)
    p.reached("the last of several equals",
              known & rivals & (rival_key == compared) & (result.ordinal == number)
              & (place != number))  # fmt: skip
    p.reached(
        "the second of three words wins",
        known & rivals & (number == 2) & (result.ordinal == 1),
    )
    own = _effective(row.rival, ignore)
    if not _is_at_once(config):
        _help(p, inside, config, row, own)
        return
    p.invariant("the best so far is not beaten", ~(row.begun & row.seen) | (own <= best))
    kept = _whole_best(inside, block, lane)
    p.invariant("NaN is apart", ~row.begun | (apart(kept) & (~row.seen | apart(row.rival))))
    if config.has_values:
        names = kept.shape().members
        same = Cat(Value.cast(kept[name]) == Value.cast(result[name]) for name in names)
        p.invariant("what is compared is what is kept", ~row.begun | same.all())


def _is_at_once(config: CoreConfig) -> bool:
    """Return whether words are compared in the clock in which they come."""
    return not timing_parameters(config).reducer_clocks


def _nans_apart(p: Property, config: CoreConfig, ignore: Value) -> Callable[[data.View], Value]:
    """Return what is proved of the encoder: whether a key is that of NaN, or beside all those."""
    if not (config.has_floats and config.has_values):
        return lambda _: Const(1, 1)
    if not _is_at_once(config):
        # All NaNs get one key, of all ones or all zeros, which no number has.
        return lambda word: word.nan | (Value.cast(word.key).any() & ~Value.cast(word.key).all())
    edge = p.constant("edge", config.element_width)
    p.assume(edge.any() & ~edge.all())

    def apart(word: data.View) -> Value:
        key = Value.cast(word.key)
        low, high = Mux(word.nan, key < edge, key >= edge), Mux(word.nan, key > edge, key <= edge)
        return Mux(ignore, low, high)

    return apart


def _best(
    p: Property, inside: Inside, block: Reducer, lane: int, ignore: Value
) -> tuple[Value, int]:
    """Return the running winner's key, and the clocks behind a word in which it is known."""
    if _is_at_once(block.config):
        return _effective(_whole_best(inside, block, lane), ignore), 1
    digits = _digits(block.config)
    start = int(block.config.has_floats and block.config.has_values)
    parts = [
        p.late(inside.signal(f"best{digit}_{lane}"), digit)[: _width(block.config, digit)]
        for digit in range(digits)
    ]
    return Cat(parts), start + digits


def _whole_best(inside: Inside, block: Reducer, lane: int) -> data.View:
    """Return the running winner of a reducer that compares a key at once."""
    shapes = {str(name): field.shape for name, field in block.i_layout if name in ("key", "nan")}
    return data.View(data.StructLayout(shapes), inside.signal(f"best{lane}"))


def _digits(config: CoreConfig) -> int:
    return -(-config.element_width // timing_parameters(config).reducer_digit)


def _width(config: CoreConfig, digit: int) -> int:
    size = timing_parameters(config).reducer_digit
    return min(size, config.element_width - digit * size)


def _help(p: Property, inside: Inside, config: CoreConfig, row: _Row, own: Value) -> None:
    """State what holds in the pipeline, digit by digit, while a word passes."""
    lane = config.lanes - 1
    digits, size = _digits(config), timing_parameters(config).reducer_digit
    start = int(config.has_floats and config.has_values)
    for digit in reversed(range(digits)):
        # Digits from the highest to this one, in the clock in which this one's register is known.
        behind = start + digits - 1 - digit
        prefix = Cat(
            p.late(inside.signal(f"best{n}_{lane}"), n - digit)[: _width(config, n)]
            for n in range(digit, digits)
        )
        seen = p.late(row.begun & row.seen, behind)
        rival = p.late(own, behind)[digit * size :]
        p.invariant(f"digits down to {digit} are not beaten", ~seen | (rival <= prefix))
    decided = start + digits + timing_parameters(config).take_clocks
    parts, low = [], 0
    while inside.has(f"ordinal_part_{low}"):
        part = inside.signal(f"ordinal_part_{low}")
        behind = decided + 2 * len(parts)
        p.invariant(
            f"the ordinal counts words, from bit {low}",
            part == p.late(row.following, behind)[low : low + len(part)],
        )
        parts.append(part)
        low += len(part)


MODULE = "extremum.hdl.reduction"
FIRST = Fault("a row's first word does not always win", MODULE,
              "valid.at(clock) & first.at(clock)).rep",
              "valid.at(clock) & first.at(clock) & ~first.at(clock + 1)).rep")  # fmt: skip
TIES = Fault(
    "ties go the other way",
    MODULE,
    "ties.at(compared) & self",
    "ties.at(compared) & ~self",
)
DIGIT = Fault("a digit that is smaller counts as tied", MODULE,
              "tied & Cat(digit == best for", "tied & Cat(digit <= best for")  # fmt: skip
ORDINAL = Fault("the ordinal begins again a word late", MODULE, "load=load, start",
                "load=Timed(m, load).at(1), start")  # fmt: skip
STEP = Fault("a fold counts words, not elements", MODULE, "config.lanes, 1)", "1, 1)")
NANS = Fault(
    "NaNs keep their keys",
    MODULE,
    "Mux(candidate.nan, (~ignore_nan)",
    "Mux(Const(0), (~ignore_nan)",
)
KEPT = Fault("the value is kept a clock late", MODULE, "candidate[name]).at(decided)",
             "candidate[name]).at(decided + 1)")  # fmt: skip


AT_ONCE = Fault("ties go the other way in a small core", MODULE,
                "is_better(m, parameters, candidate, best, decreasing)",
                "is_better(m, parameters, candidate, best, ~decreasing)")  # fmt: skip
FIRST_AT_ONCE = Fault("a row's first word does not always win in a small core", MODULE,
                      "(self.i.control.first | better)", "better")  # fmt: skip
NUMBER = Fault("a fold counts words, not elements, in a small core", MODULE,
               "Mux(self._shadow(m, \"fold\").value, in_fold, number)", "number")  # fmt: skip
GROWN = Fault("the ordinal is that of the word before", MODULE,
              "[Timed(m, number, clock)]",
              "[Timed(m, Timed(m, number).at(1), clock)]")  # fmt: skip


def _config(built: DataType, **options: Any) -> CoreConfig:
    return CoreConfig((built,), max_window=(1, 1, 1), **options)


def _proof(name: str, what: str, config: CoreConfig, *faults: Fault, quick: bool = False) -> Proof:
    clocks = latency(config)
    return Proof(
        f"reducer-{name}", "hdl/reduction.py",
        f"For rows of any length up to 2**{config.index_width} words, every position and both "
        f"directions, {what}: no element beats the result, it is the first or the last of equals, "
        "and ordinal and bits are those of one element of the row.",
        partial(reduction, config), depth=clocks, search=clocks + 6, faults=faults,
        quick=quick,
    )  # fmt: skip


PROOFS = (
    _proof("uint8", "with digits of 4 bits", _config(DataType.UINT8, index_width=8),
           FIRST, TIES, DIGIT, KEPT, quick=True),
    _proof("uint8-positions", "with digits of 1 bit",
           _config(DataType.UINT8, operators=POSITIONS_ALONE, index_width=8),
           FIRST, TIES, ORDINAL),
    _proof("float16", "with NaNs", _config(DataType.FLOAT16, index_width=8), NANS, TIES),
    _proof("uint8-long", "with an ordinal of four segments",
           _config(DataType.UINT8, index_width=32), ORDINAL),
    _proof("uint8-lanes", "in the last of two lanes, in a job that folds and in one that does not",
           _config(DataType.UINT8, lanes=2, index_width=8), DIGIT, STEP),
    _proof("uint8-wide", "in the last of sixteen lanes, whose registers take a word a clock later",
           _config(DataType.UINT8, lanes=16, index_width=8), DIGIT),
    _proof("int32", "with keys of 32 bits", _config(DataType.INT32, index_width=32), DIGIT),
    _proof("float32-positions", "with keys of 32 bits in digits of 1 bit",
           _config(DataType.FLOAT32, operators=POSITIONS_ALONE, index_width=32), DIGIT),
    _proof("small", "with keys of 32 bits at once, as in a small core",
           _config(DataType.INT32, index_width=32, pipelining="small"),
           AT_ONCE, FIRST_AT_ONCE, GROWN, quick=True),
    _proof("small-float16", "with NaNs, at once as in a small core",
           _config(DataType.FLOAT16, index_width=8, pipelining="small"), AT_ONCE),
    _proof("small-lanes", "at once, in the last of two lanes, in jobs that fold and that do not",
           _config(DataType.UINT8, lanes=2, index_width=8, pipelining="small"), NUMBER),
)  # fmt: skip
