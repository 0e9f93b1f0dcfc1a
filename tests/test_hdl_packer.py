"""The end of the pipeline: the packer, which puts results into beats, and the queue behind it."""

import itertools
import random
from dataclasses import replace

import pytest
from amaranth.lib import data
from amounts import mostly_slow
from gateware import pack, run, unpack, watch
from stimulus import Job, stimulus

from extremum.hdl import queue as queues
from extremum.hdl.config import MAX_LANES, CoreConfig
from extremum.hdl.job import JobRegisters
from extremum.hdl.packer import Packer, clocks_ahead
from extremum.hdl.ports import output_layout
from extremum.hdl.queue import Queue, QueueInParts, result_queue
from extremum.hdl.timing import TimingParameters
from extremum.model import DataType

FOUR = CoreConfig((DataType.INT8,), lanes=4, index_width=6)
CONFIGS = {
    "four lanes": FOUR,
    "three lanes": replace(FOUR, lanes=3),
    "one lane": replace(FOUR, lanes=1),
    "sixteen lanes": replace(FOUR, lanes=16),
    "values only": replace(FOUR, index_width=0),
    "indices only": replace(FOUR, operators=("argmax",)),
    "never folds": replace(FOUR, operators=("max-pool",)),
}


def draw_results(rng, config, fields):
    return [
        {name: rng.getrandbits(8 if name == "value" else config.index_width) for name in fields}
        for _ in range(config.lanes)
    ]


@pytest.mark.parametrize("marks", [False, True])
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("gaps", [0, 0.3])
def test_results_are_put_into_beats(name, gaps, marks):
    """Beats are full but for the last of a job, whose unused lanes are 0; jobs may fold or not.

    If a beat marks its lanes, those are marked that hold a result, and no others.
    """
    check_packing(CONFIGS[name], gaps, marks=marks)


def test_results_of_as_many_lanes_as_there_can_be():
    """Few jobs fold, since it takes 64 results then to fill a beat."""
    check_packing(replace(FOUR, lanes=MAX_LANES), gaps=0.3, marks=True, jobs=30, folds=0.1)


def check_packing(config, gaps, *, marks, jobs=80, folds=0.6):
    """Compare the beats of random jobs with their results in rows; some of the jobs fold."""
    rng = random.Random(f"{config} {gaps}")
    packer, lanes = Packer(config, marks_lanes=marks), config.lanes
    copies = len(packer.o_valid)
    fields = packer.fields
    layout = data.StructLayout(fields)
    given_jobs, wanted = [], []
    for _ in range(jobs):
        fold, tail = config.can_fold and rng.random() < folds, rng.randint(1, lanes)
        registers = JobRegisters(fold=fold, tail=tail)
        count = rng.randint(1, 3 * lanes if fold else 12)
        given, row = [], []
        for number in range(count):
            results, done = draw_results(rng, config, fields), number == count - 1
            if fold:
                results = results[:1] * lanes
            last_group = number >= count // 2
            word = sum(pack(layout, r) << layout.size * n for n, r in enumerate(results))
            given.append({"results": word, "done": done, "last_group": last_group})
            if fold:
                row.append(results[0])
            else:
                row = results[: tail if last_group else None]
            if not fold or done or len(row) == lanes:
                filled = (1 << len(row)) - 1
                wanted.append((row + [dict.fromkeys(fields, 0)] * (lanes - len(row)), filled, done))
                row = []
            else:
                wanted.append(None)
        given_jobs.append(Job({"job": registers.to_bits(config)}, given))
    # What is known of a result comes some clocks before it.
    early = clocks_ahead(config)
    # Copies of the registers are taken in the clock behind the token.
    laid = stimulus(
        packer, given_jobs, rng, stay=int(copies > 1), gaps=gaps, meets=0.7, after=early + 2
    )
    noise = [rng.getrandbits(layout.size * lanes) for _ in range(early)]
    words = [*noise, *(clock["results"] for clock in laid.clocks)]
    clocks = [clock | {"results": word} for clock, word in zip(laid.clocks, words, strict=False)]
    told = dict(zip(itertools.chain(*laid.words), wanted, strict=True))
    beats = {clock: beat for clock, beat in told.items() if beat}
    packed = told.keys() - beats.keys()
    outputs = {"packed": packer.packed, "valid": packer.o_valid, "o": packer.o}
    seen = watch(packer, clocks, outputs)
    assert [n for n, clock in enumerate(seen) if clock["packed"]] == sorted(packed)
    for number, (clock, following) in enumerate(itertools.pairwise(seen[early:])):
        if number not in told:
            # A beat stays until the next result.
            assert following["o"] == clock["o"]
        assert following["valid"] == ((1 << copies) - 1 if number in beats else 0)
        if number in beats:
            row, filled, done = beats[number]
            found = unpack(output_layout(config, marks_lanes=marks), following["o"])
            assert found.pop("last") == done
            assert not marks or found.pop("filled") == filled
            for field, width in ((f, 8 if f == "value" else config.index_width) for f in fields):
                want = sum(lane[field] << width * n for n, lane in enumerate(row))
                assert found[field] == want, (number, field)
    assert bool(packed) == config.can_fold
    assert set(dict(iter(packer.o.shape()))) == {*fields, "last"} | ({"filled"} if marks else set())


PARAMETERS = TimingParameters()
SMALL = PARAMETERS.lookup_queue
WIDTH = 8

DEPTHS = [queues.depth(results) for results in (1, 3, 5, 16, 17, 50)]
QUEUES = [(1, depth) for depth in DEPTHS] + [(3, depth) for depth in (2, 8, 64)]


def test_the_queues_are_of_three_kinds():
    assert [2, 4, 8, SMALL, 2 * SMALL, 64] == DEPTHS
    assert [queues.latency(depth, PARAMETERS) for depth in DEPTHS] == [1, 2, 2, 2, 3, 3]


def make_queue(parts, depth):
    """Return a queue of eight bits in some parts, which are not of the same width."""
    queue = result_queue(WIDTH, depth, replace(PARAMETERS, queue_parts=parts))
    assert isinstance(queue, Queue if parts == 1 else QueueInParts)
    return queue


@pytest.mark.parametrize(("parts", "depth"), QUEUES)
@pytest.mark.parametrize(
    ("stalls", "gaps"),
    mostly_slow(
        [(0, 0), (0, 0.5), (0.5, 0), (0.5, 0.5), (0.9, 0), (0.1, 0.9)], [(0, 0), (0.5, 0.5)]
    ),
)
def test_a_queue_keeps_order_and_rate(parts, depth, stalls, gaps):
    """The queue is often full and often empty, and never given more than it holds.

    Beats come out in order and after its latency, and one that is offered stays until it is taken.
    """
    queue = make_queue(parts, depth)
    rng = random.Random(f"{parts} {depth} {stalls} {gaps}")
    words = [rng.getrandbits(WIDTH) for _ in range(400)]
    given: list[tuple[int, int]] = []
    taken: list[tuple[int, int]] = []
    full = 0

    async def bench(context):
        nonlocal full
        clock, offered = 0, None
        while len(taken) < len(words):
            # In between the sink stalls for long, so that the queue is full.
            stalled = clock % (6 * depth) < 2 * depth and stalls > 0
            ready = not stalled and rng.random() >= stalls
            stored = len(given) - len(taken)
            write = len(given) < len(words) and stored < queue.depth and rng.random() >= gaps
            full += stored == queue.depth
            context.set(queue.ready, ready)
            context.set(queue.write, write)
            if write:
                # The beat stays on the port until the next one.
                context.set(queue.i, words[len(given)])
                given.append((clock, words[len(given)]))
            valid = context.get(queue.valid)
            if offered is not None:
                assert valid
                assert context.get(queue.o) == offered
            offered = context.get(queue.o) if valid and not ready else None
            if valid and ready:
                taken.append((clock, context.get(queue.o)))
            await context.tick()
            clock += 1
            assert clock < 20_000
        for _ in range(20):
            assert not context.get(queue.valid)
            await context.tick()

    run(queue, bench)
    assert [word for _, word in taken] == words
    late = [out - into for (out, _), (into, _) in zip(taken, given, strict=True)]
    assert min(late) >= queues.latency(depth, PARAMETERS)
    if not stalls:
        assert set(late) == {queues.latency(depth, PARAMETERS)}
    elif gaps < stalls:
        assert full


@pytest.mark.parametrize(("parts", "depth"), QUEUES)
def test_a_queue_that_was_full_gives_a_beat_in_each_clock(parts, depth):
    queue = make_queue(parts, depth)
    many = 3 * queue.depth
    clocks = [{"write": 1, "i": n, "ready": 0} for n in range(queue.depth)]
    clocks += [{"write": 0}] * 12
    clocks += [{"ready": 1}]
    # From here on a beat goes in for each that comes out.
    clocks += [{"write": 1, "i": n} for n in range(queue.depth, many)] + [{"write": 0}]
    seen = watch(queue, clocks, {"valid": queue.valid, "o": queue.o}, settle=queue.depth + 6)
    out = [clock["o"] for clock in seen[queue.depth + 12 :] if clock["valid"]]
    assert out == [n % (1 << WIDTH) for n in range(many)]
    assert all(clock["valid"] for clock in seen[queue.depth + 12 :][:many])
