"""The latencies of a core, in clocks, as sums over its parts.

Every function takes the configuration and returns an integer, so that jobs can be planned without
generating hardware.
"""

from __future__ import annotations

from extremum.hdl import (
    fold,
    key,
    packer,
    position,
    queue,
    reduction,
    sliding_window,
    window_schedule,
)
from extremum.hdl.config import CoreConfig
from extremum.hdl.job_kinds import beat_clocks, job_kind
from extremum.hdl.registers import is_endless, job_shapes
from extremum.hdl.timing import timing_parameters


def word_clock(config: CoreConfig) -> int:
    """Return the clocks from a slot to its word, which joins its keys with its control."""
    found = beat_clocks(config) + max(key.latency(config), window_schedule.latency(config))
    return found + timing_parameters(config).word_clocks


def walk_clock(config: CoreConfig) -> int:
    """Return the clocks from a slot to the one in which the control walks over it.

    In a small or balanced core without windows it begins later, so that it is ready with the keys,
    and needs no registers to wait for them.
    """
    if timing_parameters(config).holds_one_job and not config.has_windows:
        return word_clock(config) - window_schedule.latency(config)
    return beat_clocks(config)


def winner_latency(config: CoreConfig) -> int:
    """Return the clocks from a word to the winner that it completes."""
    sliding = sum(sliding_window.latency(config, axis) for axis in config.axes)
    return sliding + fold.latency(config) + reduction.latency(config)


def result_latency(config: CoreConfig) -> int:
    """Return the clocks from a winner to its value and its position.

    Which group it belongs to must be known by then, too, a little ahead of it.
    """
    value = key.restore_latency(config) if config.has_values else 0
    ahead = packer.clocks_ahead(config)
    group = walk_clock(config) + window_schedule.group_latency(config)
    waits = group - word_clock(config) - winner_latency(config)
    return max(position.latency(config), value, ahead, ahead + waits)


def pipeline_latency(config: CoreConfig) -> int:
    """Return the clocks from a slot to its output beat, in front of the queue if there is one."""
    winner = word_clock(config) + winner_latency(config)
    return winner + result_latency(config) + packer.LATENCY


def latency(config: CoreConfig) -> int:
    """Return the clocks from taking a beat to offering a result that it completes."""
    if timing_parameters(config).holds_one_job:
        return pipeline_latency(config)
    return pipeline_latency(config) + queue.latency(queue_depth(config), timing_parameters(config))


def job_interval(config: CoreConfig) -> int:
    """Return the slots that a job must have so that the next one follows without a gap.

    That is so in a fast core; where jobs do not overlap, :func:`job_clocks` tells when the next one
    begins. Shorter jobs begin at most this many clocks after each other. A job stays on its port
    until its token has left the pipeline; only then the next job is checked, and its slots begin.
    """
    return pipeline_latency(config) + 3 + job_kind(config).begin_latency()


def holds_one_job(config: CoreConfig) -> bool:
    """Return whether jobs do not overlap in the core, as in a small or balanced one."""
    return timing_parameters(config).holds_one_job


def job_clocks(config: CoreConfig, slots: int) -> tuple[int, int]:
    """Return the fewest and the most clocks from a job of so many slots to the next job.

    The next job is on its port in time, and no stream stalls. Where all registers are fixed, it is
    like the one before, and need not wait until that has left the pipeline.
    """
    if is_endless(config):
        return slots, slots
    has_port = bool(job_shapes(config))
    if holds_one_job(config):
        apart = slots + (pipeline_latency(config) + 4 if has_port else 1)
        return apart, apart
    fewest = max(slots, pipeline_latency(config) + 2) if has_port else slots
    return fewest, max(slots, job_interval(config))


def queue_depth(config: CoreConfig) -> int:
    """Return how many beats the result queue holds.

    It has space for what may come of the slots in the pipeline and of ``queue_margin`` more.
    """
    slots = pipeline_latency(config) + timing_parameters(config).queue_margin
    return queue.depth(results_of(config, slots) + 1)


def results_of(config: CoreConfig, slots: int) -> int:
    """Return how many results may come of ``slots`` consecutive slots."""
    fixed = dict(config.fixed)
    apart = fixed.get("length", 1)
    if config.has_windows and not config.padding:
        # The first window of a line ends at least a window behind the last one of the line before.
        apart = min(fixed.get("width.stride", 1), fixed.get("width.window", 1))
    return -(-slots // apart)
