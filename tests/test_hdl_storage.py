"""The delay line that stores older words: every spacing of its taps, gaps, and changing jobs."""

import itertools
import random
from dataclasses import replace

import pytest
from gateware import bits, watch
from stimulus import Job, stimulus

from extremum.hdl.registered_memory import MEMORY_LATENCY, RegisteredMemory
from extremum.hdl.storage import DelayLine, DelayLineInParts
from extremum.hdl.timing import TimingParameters

PARAMETERS = TimingParameters()
MAX_REGISTER_SPACING = PARAMETERS.register_spacing
PLAIN = replace(PARAMETERS, memory_clocks=1)
"""Without the register at the output of a memory."""


def check(line, jobs, gaps, seed):
    """Give a line the words of jobs, each (spacing, number of words), and compare what it shows.

    Returns how many words were compared.
    """
    rng = random.Random(seed)
    width, taps = len(line.i), line.taps
    given, shown = [], []
    for spacing, count in jobs:
        words = [rng.getrandbits(width) for _ in range(count)]
        rows = [not (number + 1) % spacing for number in range(count)]
        given.append(
            Job(
                {"spacing_less_one": spacing - 1},
                [{"i": word, "last_row": row} for word, row in zip(words, rows, strict=True)],
            )
        )
        ages = [tap * spacing for tap in range(1, taps + 1)]
        shown += [
            [words[number - age] if age <= number else None for age in ages]
            for number in range(count)
        ]
    # The register is on the port for a clock before its token, and stays until that has left.
    late = line.latency
    laid = stimulus(line, given, rng, early=1, stay=late, gaps=gaps, after=late)
    # Between the jobs there are steps as well, in cores whose lines tell the end of a job.
    clocks = [
        clock | {"step": clock["token"] | clock["valid"] | (hand is None and rng.getrandbits(1))}
        for clock, hand in zip(laid.clocks, laid.at_hand, strict=True)
    ]
    seen = watch(line, clocks, {"o": bits(line.o)})
    compared = 0
    for clock, expected in zip(itertools.chain(*laid.words), shown, strict=True):
        found = seen[clock + late]["o"]
        for tap, word in enumerate(expected):
            if word is not None:
                assert found >> width * tap & ((1 << width) - 1) == word
                compared += 1
    return compared


@pytest.mark.parametrize("max_spacing", [1, 2, MAX_REGISTER_SPACING, MAX_REGISTER_SPACING + 1, 9])
@pytest.mark.parametrize("taps", [1, 3])
@pytest.mark.parametrize("gaps", [0, 0.5])
@pytest.mark.parametrize("parameters", [PARAMETERS, PLAIN], ids=["registered", "plain"])
def test_every_spacing(max_spacing, taps, gaps, parameters):
    """Words that are too young to be read from the memory come from registers, also with gaps."""
    jobs = [(spacing, 5 * taps * spacing + 3) for spacing in range(1, max_spacing + 1)] * 2
    random.Random(1).shuffle(jobs)
    line = DelayLine(11, taps, max_spacing, parameters=parameters)
    assert line.latency == (parameters.memory_clocks if max_spacing > MAX_REGISTER_SPACING else 0)
    assert check(line, jobs, gaps, seed=7) >= 4 * taps


@pytest.mark.parametrize("max_spacing", [4, 16, 21])
def test_jobs_that_follow_at_once(max_spacing):
    """Some of the jobs are so short that they end before the first tap shows a word of theirs."""
    rng = random.Random(3)
    jobs = [(rng.randint(1, max_spacing), rng.randint(1, 50)) for _ in range(60)]
    assert check(DelayLine(8, 2, max_spacing, parameters=PARAMETERS), jobs, 0.2, seed=9) > 300


@pytest.mark.parametrize(
    ("spacing", "max_spacing"), [(1, 1), (3, 4), (1, 9), (2, 9), (3, 9), (9, 9)]
)
@pytest.mark.parametrize("gaps", [0, 0.5])
def test_a_spacing_that_never_changes(spacing, max_spacing, gaps):
    """If the spacing is fixed, the port is ignored, and a token only begins a new job."""
    line = DelayLine(8, 2, max_spacing, fixed_spacing_less_one=spacing - 1, parameters=PARAMETERS)
    assert check(line, [(spacing, 40), (spacing, 7), (spacing, 30)], gaps, seed=spacing) > 60


@pytest.mark.parametrize("max_spacing", [1, 3, MAX_REGISTER_SPACING, MAX_REGISTER_SPACING + 1, 9])
@pytest.mark.parametrize("taps", [1, 3])
@pytest.mark.parametrize("gaps", [0, 0.5])
def test_parts_side_by_side(max_spacing, taps, gaps):
    """Each part has flags of its own, and the parts show the same words together."""
    jobs = [(spacing, 5 * taps * spacing + 3) for spacing in range(1, max_spacing + 1)] * 2
    random.Random(1).shuffle(jobs)
    line = DelayLineInParts([4, 4, 3], taps, max_spacing, parameters=PARAMETERS)
    assert line.latency == (MEMORY_LATENCY if max_spacing > MAX_REGISTER_SPACING else 1)
    assert check(line, jobs, gaps, seed=7) >= 4 * taps


@pytest.mark.parametrize("latency", [1, MEMORY_LATENCY])
def test_a_memory_shows_a_word_that_was_written_before_it_is_read(latency):
    memory = RegisteredMemory(8, 5, latency)
    rng = random.Random(2)
    words = [0] * 5
    clocks, expected = [], []
    for _ in range(200):
        clock = {
            "read_address": rng.randrange(5),
            "read_enable": 1,
            "output_enable": 1,
            "write_address": rng.randrange(5),
            "write_data": rng.getrandbits(8),
            "write_enable": rng.getrandbits(1),
        }
        clocks.append(clock)
        # A word that is written in this clock is not read in it: it may be the old one or not.
        met = clock["write_enable"] and clock["write_address"] == clock["read_address"]
        expected.append(None if met else words[clock["read_address"]])
        if clock["write_enable"]:
            words[clock["write_address"]] = clock["write_data"]
    seen = watch(memory, clocks, {"data": bits(memory.read_data)}, settle=latency)
    for word, clock in zip(expected, seen[latency:], strict=True):
        assert word is None or clock["data"] == word
