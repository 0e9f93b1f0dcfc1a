"""The storage of the windows: each word is shown again after so many words, and unchanged."""

from __future__ import annotations

from functools import partial

from amaranth.hdl import Mux, Signal, Value

from extremum.hdl.storage import DelayLine
from extremum.hdl.timing import TimingParameters
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Inside, Property

NEAR = 4
"""Largest distance of taps that are kept in registers here."""

PARAMETERS = TimingParameters(register_spacing=NEAR)

ONE_JOB = TimingParameters(
    register_spacing=NEAR, holds_one_job=True, precomputed_clocks=0, memory_clocks=1
)
"""The storage of a small core: the job stays on the port, and the memory has no output register."""

BITS = 2
"""Bits of a word: each bit is stored like any other."""

STAYS = 4
"""Clocks for which a job's spacing stays on the port behind its token."""


def storage(taps: int, furthest: int, parameters: TimingParameters, p: Property) -> None:
    """State what is shown, by any one word of a job that is watched."""
    block, m = DelayLine(BITS, taps, furthest, parameters=parameters), p.m
    inside = p.add("line", block, driven=("step", "last_row", "go"))
    given = block.spacing_less_one
    recent = Signal(STAYS, name="recent")
    m.d.sync += recent.eq(Value.cast(recent << 1) | block.token)
    if parameters.holds_one_job:
        # The next job comes to the port when the last word of the one before has been shown.
        changed, is_new = given != p.before(given), Signal(name="is_new_job")
        m.d.sync += is_new.eq((is_new | changed) & ~block.token)
        p.assume(~(changed & p.before(block.valid)))
        p.assume(~(block.valid & (is_new | changed)))
        m.d.comb += block.go.eq(1)
    p.assume(~recent.any() | (~block.token & (given == p.before(given))))
    p.assume(~block.token | (p.age(2) == 2) & (given == p.before(given)) & (given < furthest))
    # The spacing of the job at hand, and the row of its next word.
    begun, spacing_less_one = Signal(name="begun"), Signal(len(given), name="own_spacing")
    row = Signal(len(given) + 1, name="own_row")
    is_last = row == spacing_less_one
    # A job ends in any clock, and until the next one there may be any steps.
    ends = p.input("ends")
    steps = block.token | block.valid | (~begun & p.input("steps"))
    m.d.comb += [block.step.eq(steps), block.last_row.eq(is_last)]
    with m.If(block.token):
        m.d.sync += [begun.eq(1), spacing_less_one.eq(given), row.eq(0)]
    with m.Else():
        with m.If(ends):
            m.d.sync += begun.eq(0)
        with m.If(block.valid):
            m.d.sync += row.eq(Mux(is_last, 0, row + 1))
    p.assume(~block.valid | begun)
    p.invariant("the spacing is one that is stored", spacing_less_one < furthest)
    # Any one word of the job, and the words since.
    most = taps * furthest
    chosen, watched = p.input("chosen"), Signal(BITS, name="watched")
    words = Signal(range(most + 2), name="words_since")
    with m.If(block.token | ends):
        m.d.sync += words.eq(0)
    with m.Elif(block.valid):
        with m.If((words == 0) & chosen):
            m.d.sync += [words.eq(1), watched.eq(block.i)]
        with m.Elif((words != 0) & (words != most + 1)):
            m.d.sync += words.eq(words + 1)
    for tap in range(1, taps + 1):
        due = block.valid & (words == tap * (spacing_less_one + 1)) & (words != 0)
        shown = block.o.word_select(tap - 1, BITS)
        late_due, late_word = p.late(due, block.latency), p.late(watched, block.latency)
        p.claim(f"tap {tap} shows the word of as many words ago",
                ~late_due | (shown == late_word))  # fmt: skip
        p.reached(f"tap {tap} at the largest distance",
                  late_due & p.late(spacing_less_one == furthest - 1, block.latency))  # fmt: skip
    if not block.latency:
        _help(p, inside, most, words=words, watched=watched, begun=begun,
              spacing_less_one=spacing_less_one)  # fmt: skip


def _help(
    p: Property, inside: Inside, most: int, *, words: Value, watched: Value, begun: Value,
    spacing_less_one: Value,
) -> None:  # fmt: skip
    """State where in the shift register the word is."""
    p.invariant("the words since are counted", words <= most + 1)
    p.invariant("a word is that of a job", (words == 0) | begun)
    if inside.has("spacing_register"):
        is_own = inside.signal("spacing_register") == spacing_less_one
        p.invariant("the spacing is the job's", ~begun | is_own)
    for age, word in enumerate(inside.signals("word"), start=1):
        p.invariant(f"the word of {age} words ago", (words != age) | (word == watched))


MODULE = "extremum.hdl.storage"
CHOICE = Fault("a tap is a word too near", MODULE,
               "words[tap * distance - 1]", "words[tap * distance - (tap > 1) - 1]")  # fmt: skip
NEAR_ROW = Fault("a row is read from the memory while it is written", MODULE,
                 "given >> (shown - 1) != 0", "given != 0")  # fmt: skip
ONE_ROW = Fault("a single row is taken for two", MODULE,
                "Mux(is_one_row, moved_on, other)", "other")  # fmt: skip

NEVER_NEAR = Fault("a row is read from the memory while it is written", MODULE,
                   "Mux(is_far, memory.read_data, near)", "memory.read_data")  # fmt: skip

PROOFS = (
    Proof(
        "storage-registers", "hdl/storage.py",
        "In a line of two taps up to 4 words apart, each word of a job is shown again exactly as "
        "many words later as the taps are apart, and twice as many, whatever pauses there are.",
        partial(storage, 2, 4, PARAMETERS), depth=4, search=14, faults=(CHOICE,), quick=True,
    ),
    Proof(
        "storage-memory", "hdl/storage.py",
        "The same of taps up to 6 words apart, which a memory holds.",
        partial(storage, 2, 6, PARAMETERS), depth=22, search=22, faults=(NEAR_ROW, ONE_ROW),
        bounded=True,
    ),
    Proof(
        "storage-memory-small", "hdl/storage.py",
        "The same in a small core, while its pipeline moves: the job's registers are on the port, "
        "and the memory shows its words a clock earlier.",
        partial(storage, 2, 6, ONE_JOB), depth=20, search=20, faults=(NEVER_NEAR,), bounded=True,
    ),
)  # fmt: skip
