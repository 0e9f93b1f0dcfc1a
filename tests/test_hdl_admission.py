"""The admission lets in as much as the result queue holds, never more and never less.

That is tested for every kind of job. The pipeline behind the admission is modelled as a list of
what will come when: a result is known some clocks after its slot, and is in the queue some clocks
later. A wrong credit of any kind is found here: a limit that is one too large or too small, a
credit that is never returned, or returned twice.
"""

import random
from collections import Counter
from dataclasses import dataclass, field, replace

import pytest
from amounts import mostly_slow
from gateware import bits, run

from extremum.hdl import window_schedule
from extremum.hdl.admission import Admission, credit_delay
from extremum.hdl.config import CoreConfig
from extremum.hdl.job import JobRegisters
from extremum.hdl.job_kinds import EndlessJobs, PlaneJobs, QueuedJobs, job_kind
from extremum.hdl.ports import JobError
from extremum.hdl.timing import Credits
from extremum.model import DataType

QUEUED = CoreConfig((DataType.INT8,), max_window=(1, 1, 1), operators=("argmax",))
ENDLESS = replace(QUEUED, fixed=(("length", 1), ("slots", 1), ("decreasing", 0)))
PLANES = CoreConfig(
    (DataType.INT8,), max_window=(1, 2, 2), max_dilation=(1, 1, 1), operators=("max-pool",),
    index_width=0, padding=False, fixed=(("groups", 1),),
)  # fmt: skip
CONFIGS = {"queued": QUEUED, "endless": ENDLESS, "planes": PLANES}
KINDS = {"queued": QueuedJobs, "endless": EndlessJobs, "planes": PlaneJobs}

AT_PACKER, AT_QUEUE = 18, 20
"""Clocks from a slot to the packer, where its result may share a beat, and to the queue."""


@dataclass
class Pipeline:
    """Runs an admission with a model of source, pipeline, queue and sink, and notes what happens.

    Parameters
    ----------
    config
        Configuration of the core.
    depth
        Beats that the queue holds.
    seed
        Seed of all that is random.
    gives
        How likely a slot gives a result, or the numbers of the slots that do.
    shares
        How likely a result shares its beat with the next one.
    ready
        How likely the sink takes a beat in a clock, or the clocks in which it does.
    here
        How likely the source has a beat in a clock.
    slots
        Number of slots of the only job, if slots are counted. Other kinds of jobs never end here.
    """

    config: CoreConfig
    depth: int = 32
    seed: int | str = 1
    gives: float | range = 1
    shares: float = 0
    ready: float | range = 1
    here: float = 1
    slots: int = 1 << 20
    entered: list[int] = field(default_factory=list)
    """The clock of every slot that was let in."""
    left: list[int] = field(default_factory=list)
    """The clock of every beat that left."""
    busy: list[bool] = field(default_factory=list)
    """Whether the status says in each clock that the core is busy."""
    under_way: list[int] = field(default_factory=list)
    """How many beats are to come of the results that were let in and have not left, by clock."""

    def run(self, clocks):
        # Every slot may give a result.
        admission = Admission(self.config, self.depth, credit_delay(self.config))
        rng, known = random.Random(self.seed), window_schedule.latency(self.config) + 2
        coming: dict[str, Counter[int]] = {name: Counter() for name in ("known", "shared", "queue")}
        counted = isinstance(job_kind(self.config), QueuedJobs)
        job = JobRegisters(slots=self.slots if counted else 1).to_bits(self.config)
        queued = under_way = 0

        async def bench(context):
            nonlocal queued, under_way
            context.set(bits(admission.job), job)
            for clock in range(clocks):
                queued += coming["queue"][clock]
                assert queued <= self.depth, "a beat too many for the queue"
                ready = rng.random() < (
                    clock in self.ready if isinstance(self.ready, range) else self.ready
                )
                leaves = ready and queued > 0
                here = rng.random() < self.here
                context.set(admission.beat_here, here)
                context.set(admission.result_known, coming["known"][clock])
                context.set(admission.beat_shared, coming["shared"][clock])
                context.set(admission.beat_left, leaves)
                context.set(admission.job_valid, not self.entered)
                # The token is a clock ahead of the first slot.
                at_end = self.entered[:1] == [clock + 1 - AT_QUEUE]
                context.set(admission.job_entered, at_end)
                self.busy.append(bool(context.get(admission.status.busy)))
                self.under_way.append(under_way)
                under_way -= coming["shared"][clock] + leaves
                if leaves:
                    queued -= 1
                    self.left.append(clock)
                if context.get(admission.slot):
                    assert here, "a slot without its beat"
                    self.entered.append(clock)
                    number = len(self.entered) - 1
                    if rng.random() < (
                        number in self.gives if isinstance(self.gives, range) else self.gives
                    ):
                        under_way += 1
                        coming["known"][clock + known] += 1
                        shares = rng.random() < self.shares
                        coming["shared"][clock + AT_PACKER] += shares
                        coming["queue"][clock + AT_QUEUE] += not shares
                await context.tick()

        run(admission, bench)
        return self


@pytest.mark.parametrize("kind", CONFIGS)
def test_the_kinds_of_jobs(kind):
    """Each configuration has the kind of its name, and knows its results before the packer does."""
    assert isinstance(job_kind(CONFIGS[kind]), KINDS[kind])
    assert window_schedule.latency(CONFIGS[kind]) + 2 < AT_PACKER


@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.parametrize("depth", [16, 32, 64])
def test_a_queue_whose_sink_stalls_is_filled_to_the_last_beat(kind, depth):
    """One slot more would lose a result, and one fewer would waste a beat."""
    pipeline = Pipeline(CONFIGS[kind], depth, ready=0).run(depth + 80)
    assert len(pipeline.entered) == depth


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_slot_enters_for_each_beat_that_leaves(kind):
    """After many beats have left, the queue is full again: each credit was returned once."""
    depth, begins, ends = 32, 150, 450
    pipeline = Pipeline(CONFIGS[kind], depth, ready=range(begins, ends)).run(ends + 120)
    before = sum(clock < begins for clock in pipeline.entered)
    assert before == depth
    assert len(pipeline.left) > 100
    # The sink stalls again: as many beats have entered as have left, beside those in the queue.
    assert len(pipeline.entered) - len(pipeline.left) == depth


@pytest.mark.parametrize("kind", CONFIGS)
def test_slots_that_give_no_result_take_no_credit(kind):
    pipeline = Pipeline(CONFIGS[kind], 16, gives=0, ready=0).run(300)
    # From the first on, a slot enters in each clock.
    first = pipeline.entered[0]
    assert pipeline.entered == list(range(first, 300))


@pytest.mark.parametrize("kind", CONFIGS)
def test_results_that_share_a_beat_take_one_credit(kind):
    """While the sink stalls, many more results enter than there are beats.

    Until a result is known to share its beat it holds a credit of its own. So slots stop entering
    when the limit is met, and the queue may be left with space for those that were not known yet.
    """
    depth = 32
    pipeline = Pipeline(CONFIGS[kind], depth, shares=0.9, ready=0).run(1500)
    beats = pipeline.under_way[-1]
    assert depth - credit_delay(CONFIGS[kind]) < beats <= depth
    assert len(pipeline.entered) > 4 * depth


@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.parametrize(
    ("gives", "shares"), mostly_slow([(1, 0), (0.5, 0), (1, 0.5), (0.2, 0.2)], [(1, 0.5)])
)
@pytest.mark.parametrize(("ready", "here"), [(0.3, 1), (0.5, 0.6), (0.05, 1), (1, 0.5)])
def test_the_queue_never_holds_more_than_its_depth(kind, gives, shares, ready, here):
    """With any mix of results, beats and stalls, nothing overflows, and slots go on entering."""
    pipeline = Pipeline(
        CONFIGS[kind], 16, seed=f"{gives} {shares} {ready}", gives=gives, shares=shares,
        ready=ready, here=here,
    )  # fmt: skip
    pipeline.run(1200)
    late = [clock for clock in pipeline.entered if clock > 1100]
    assert late, "no slot has entered for a long time"


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_slot_in_each_clock_while_the_sink_takes_every_beat(kind):
    """A queue a few beats deeper than the pipeline is long is enough for the full rate."""
    pipeline = Pipeline(CONFIGS[kind], AT_QUEUE + Credits.LATENCY + 8).run(400)
    first = pipeline.entered[0]
    assert pipeline.entered == list(range(first, 400))


@pytest.mark.parametrize("kind", ["queued"])
@pytest.mark.parametrize(("gives", "shares"), [(1, 0), (0.3, 0), (1, 0.5)])
def test_busy_from_the_job_to_its_last_beat(kind, gives, shares):
    """A credit that is lost leaves the core busy for ever, one returned twice ends it too early."""
    pipeline = Pipeline(
        CONFIGS[kind], 16, gives=gives, shares=shares, ready=0.2, slots=150, seed=3
    ).run(2500)
    first, last = pipeline.entered[0], pipeline.entered[-1]
    assert len(pipeline.entered) == 150
    assert all(pipeline.busy[first + 1 : last + 1])
    for clock, (busy, under_way) in enumerate(zip(pipeline.busy, pipeline.under_way, strict=True)):
        assert busy or not under_way, clock
    done = max(last + credit_delay(CONFIGS[kind]), pipeline.left[-1] + Credits.LATENCY)
    assert not any(pipeline.busy[done:])
    assert pipeline.under_way[-1] == 0


@pytest.mark.parametrize(("slots", "gives"), [(60, 59), (60, 0), (1, 0), (1, None)])
def test_busy_until_nothing_more_can_come(slots, gives):
    """The core is busy while a token is under way, and while a result may come or has not left."""
    only = range(0) if gives is None else range(gives, gives + 1)
    pipeline = Pipeline(QUEUED, 16, gives=only, slots=slots).run(200)
    first, last = pipeline.entered[0], pipeline.entered[-1]
    # In this clock the token reaches the end of the pipeline, a clock ahead of the first slot.
    entered = first + AT_QUEUE - 1
    ends = [entered + 1, last + credit_delay(QUEUED)]
    ends += [clock + Credits.LATENCY for clock in pipeline.left]
    assert pipeline.busy[first:] == [clock < max(ends) for clock in range(first, 200)]


@pytest.mark.parametrize("config", [QUEUED, PLANES], ids=["queued", "planes"])
def test_a_job_that_is_refused_lets_no_slot_in(config):
    """The job after it, which is right, begins as usual."""
    config = replace(config, lanes=3)
    admission = Admission(config, 32, credit_delay(config))
    bad, good = (JobRegisters(slots=5, tail=tail).to_bits(config) for tail in (0, 3))
    statuses, slots = [], []

    async def bench(context):
        context.set(admission.beat_here, 1)
        context.set(admission.job_valid, 1)
        for word in (bad, good):
            context.set(bits(admission.job), word)
            taken = False
            for _ in range(30):
                slots.append(context.get(admission.slot))
                taken = taken or bool(context.get(admission.job_ready))
                # No plane ends in these few clocks.
                context.set(admission.plane_end, 0)
                await context.tick()
                if taken:
                    break
            statuses.append((context.get(admission.status.refused), taken))
            if word == bad:
                assert not any(slots)
                assert context.get(admission.status.error) == JobError.COUNT

    run(admission, bench)
    # A job that runs stays on the port until its token has left the pipeline, which is not modelled
    # here.
    assert statuses == [(1, True), (0, False)]
    assert any(slots)


def test_what_the_status_tells_of_empty_windows():
    """An empty window sets the flag; the next job's token clears it at the end of the pipeline."""
    admission = Admission(QUEUED, 32, credit_delay(QUEUED))
    seen = []

    async def bench(context):
        for entered, empty in [(0, 0), (0, 1), (0, 0), (1, 0), (0, 0), (1, 1), (0, 0), (0, 0)]:
            context.set(admission.job_entered, entered)
            context.set(admission.empty_given, empty)
            seen.append(context.get(admission.status.empty))
            await context.tick()

    run(admission, bench)
    assert seen == [0, 0, 1, 1, 0, 0, 1, 1]
