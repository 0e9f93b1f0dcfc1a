"""The delay line: every distance, gaps, and jobs that change it."""

import random

import pytest
from gateware import bits, watch

from extremum.hdl.storage import MAX_REGISTER_SPACING, DelayLine


def check(width, taps, max_spacing, jobs, gaps, seed):
    """Give words to a line, and compare what it shows of them; jobs are (spacing, words)."""
    rng = random.Random(seed)
    line = DelayLine(width, taps, max_spacing)
    clocks: list[dict[str, int]] = [{"token": 0, "step": 0}]
    shown: list[list[int | None] | None] = [None]
    for number, (spacing, count) in enumerate(jobs):
        token = {"token": 1, "spacing": spacing}
        # The token may meet the last word of the job before, or come on its own.
        if number and rng.random() < 0.5:
            clocks[-1] |= token
        else:
            clocks.append(token | {"step": 0, "i": rng.getrandbits(width)})
            shown.append(None)
        words: list[int] = []
        while len(words) < count:
            word, step = rng.getrandbits(width), rng.random() >= gaps
            clocks.append({"token": 0, "step": step, "i": word, "spacing": rng.getrandbits(32)})
            ages = [tap * spacing for tap in range(1, taps + 1)]
            shown.append(
                [words[-age] if age <= len(words) else None for age in ages] if step else None
            )
            if step:
                words.append(word)
    seen = watch(line, clocks, {"o": bits(line.o)})
    compared = 0
    for expected, clock in zip(shown, seen, strict=True):
        for tap, word in enumerate(expected or ()):
            if word is not None:
                assert clock["o"] >> width * tap & ((1 << width) - 1) == word
                compared += 1
    return compared


@pytest.mark.parametrize("max_spacing", [1, 2, MAX_REGISTER_SPACING, MAX_REGISTER_SPACING + 1, 9])
@pytest.mark.parametrize("taps", [1, 3])
@pytest.mark.parametrize("gaps", [0, 0.5])
def test_every_spacing(max_spacing, taps, gaps):
    jobs = [(spacing, 5 * taps * spacing) for spacing in range(1, max_spacing + 1)]
    random.Random(1).shuffle(jobs)
    assert check(11, taps, max_spacing, jobs, gaps, seed=7) >= 4 * taps


@pytest.mark.parametrize("max_spacing", [4, 16, 21])
def test_jobs_that_follow_at_once(max_spacing):
    """Jobs of few words, some of which end before the line has come round once."""
    rng = random.Random(3)
    jobs = [(rng.randint(1, max_spacing), rng.randint(1, 50)) for _ in range(60)]
    assert check(8, 2, max_spacing, jobs, 0.2, seed=9) > 300
