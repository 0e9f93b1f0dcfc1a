"""The tensor of a package's example: numbers that show what a block overlooks.

Few numbers would tie often, and then a block that never looks at some taps of a window, or at the
end of a row, could give the same results. So as many taps of a window as possible win somewhere,
and every row has its best element twice: anywhere if there are several rows, in the middle of a
single one.
"""

from __future__ import annotations

import itertools
import random

import numpy as np

from extremum.model import DataType, Pooling, Reduction

__all__ = ["example_tensor"]

CHANGES, MOST_TAPS = 3000, 1 << 19
"""How many elements are changed, one after the other, until more taps of a pooling win; and how
many taps all windows have that are looked at meanwhile, so that a package is written in seconds."""


def example_tensor(problem: Reduction | Pooling) -> np.ndarray:
    """Return a tensor for an operator, always the same."""
    levels = _levels(problem.data_type)
    if isinstance(problem, Reduction):
        ranks = _rows(problem, len(levels), random.Random(1))
        if problem.function.is_minimum:
            ranks = len(levels) - 1 - ranks
        return levels[ranks]
    rng = random.Random(3)
    ranks = _ranks(problem, len(levels), rng)
    taps, windows = int(np.prod(problem.window)), int(np.prod(problem.output_sizes))
    found = len(_winning_taps(problem, ranks))
    for _ in range(min(CHANGES, MOST_TAPS // (taps * windows))):
        if found == min(taps, windows):
            break
        place = rng.randrange(ranks.size)
        before, ranks.flat[place] = ranks.flat[place], rng.randrange(len(levels))
        if (changed := len(_winning_taps(problem, ranks))) >= found:
            found = changed
        else:
            ranks.flat[place] = before
    return levels[ranks]


def _levels(data_type: DataType) -> np.ndarray:
    """Return numbers of a type in ascending order, which differ in its lowest and highest bits."""
    dtype = data_type.dtype
    if data_type.is_float:
        steps = np.array([0.5, 1.0, 1.0, 3.0, 1000.0, np.inf, np.inf], dtype)
        # By their bits, since NumPy knows no limits of types of other packages.
        words = steps.view(f"u{dtype.itemsize}")
        words[2] += 2  # the second number above 1
        words[5] -= 1  # the greatest
        return np.concatenate([-steps[::-1], np.zeros(1, dtype), steps])
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    near = [-37, -2, -1] if low else [high // 2, high // 2 + 1]
    return np.unique(
        np.array([low, low + 1, *near, 0, 1, 2, 5, 90, high // 3, high - 1, high], dtype)
    )


def _rows(problem: Reduction, levels: int, rng: random.Random) -> np.ndarray:
    """Return ranks of the elements of a reduction: the higher the better."""
    kept = [axis for axis in range(len(problem.sizes)) if axis not in problem.axes]
    rows, count = int(np.prod([problem.sizes[axis] for axis in kept])), problem.count
    ranks = np.empty((rows, count), np.intp)
    for row in range(rows):
        best = rng.randrange(levels // 2, levels)
        ranks[row] = [rng.randrange(best) for _ in range(count)]
        # A single row has its best elements in the middle: before, between and behind them a block
        # may overlook something.
        first, end = (0, count) if rows > 1 else (count // 4, count - count // 4)
        for place in rng.sample(range(first, end), min(2, end - first)):
            ranks[row, place] = best
    moved = [problem.sizes[axis] for axis in (*kept, *problem.axes)]
    return ranks.reshape(moved).transpose(np.argsort([*kept, *problem.axes]))


def _ranks(problem: Pooling, levels: int, rng: random.Random) -> np.ndarray:
    """Draw ranks of the elements of a pooling: in a window, one or two are of the better half."""
    taps, half = int(np.prod(problem.window)), levels // 2
    ranks = [
        rng.randrange(half, levels) if rng.random() * taps < 1.5 else rng.randrange(half)
        for _ in range(int(np.prod(problem.sizes)))
    ]
    return np.array(ranks).reshape(problem.sizes)


def _winning_taps(problem: Pooling, ranks: np.ndarray) -> set[int]:
    """Return the taps without which some result would be another one.

    Without positions that is a tap that is better than all others of some window. With them it is
    also the first of several best ones.
    """
    around = [(0, 0), (0, 0), *zip(problem.start_padding, problem.end_padding, strict=True)]
    padded = np.pad(ranks, around, constant_values=-1)
    outputs = problem.output_sizes[2:]
    taps = []
    for tap in itertools.product(*map(range, problem.window)):
        starts = [at * step for at, step in zip(tap, problem.dilations, strict=True)]
        places = tuple(
            slice(start, start + (count - 1) * stride + 1, stride)
            for start, count, stride in zip(starts, outputs, problem.strides, strict=True)
        )
        taps.append(padded[(..., *places)].reshape(-1))
    every = np.array(taps)
    counts = (every == every.max(axis=0)) & (every >= 0)
    if not problem.return_indices:
        counts &= counts.sum(axis=0) == 1
    return set(counts.argmax(axis=0)[counts.any(axis=0)].tolist())
