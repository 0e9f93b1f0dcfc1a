"""Jobs of an AXI block that must fail: what is wrong with them, and how it is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.register_map import BlockError
from extremum.hdl.config import CoreConfig
from extremum.host.driver.words import job_words
from extremum.host.plan.jobs import Job
from extremum.tb.refusal import bad_jobs

FAULTS = ("registers", "range", "early", "late", "full")
"""What can be wrong: registers that the core refuses, one that does not fit, TLAST too early or too
late, and commands for which the queue has no space."""

MORE_BEATS = (1, 2, 9, 200)
"""Beats behind the last one of a packet that is too long."""


@dataclass(frozen=True)
class Fault:
    """One job that must fail.

    Parameters
    ----------
    code
        What the block tells.
    words
        What is written before the start, by address.
    beats
        Beats of its packet.
    register
        Number of the register that ``ERROR`` names; else 0.
    """

    code: BlockError
    words: dict[int, int] = field(default_factory=dict)
    beats: int = 0
    register: int = 0

    @property
    def is_dropped(self) -> bool:
        """Whether the job gives no result, and its packet is dropped."""
        return self.code < BlockError.TLAST_EARLY


def fault_of(name: str, number: int, job: Job) -> Fault | None:
    """Return a fault of a kind, of all that there are; None if that cannot be wrong with a job."""
    beats = 1 + number % 40
    if name == "early" and job.beats_in > 1:
        return Fault(BlockError.TLAST_EARLY, job_words(job), 1 + number % (job.beats_in - 1))
    if name == "late":
        more = MORE_BEATS[number % len(MORE_BEATS)]
        return Fault(BlockError.TLAST_LATE, job_words(job), job.beats_in + more)
    if name == "full":
        return Fault(BlockError.QUEUE_FULL, job_words(job), job.beats_in)
    if name == "registers" and (bad := list(_refused(job))):
        words, code = bad[number % len(bad)]
        return Fault(code, words, beats)
    if name == "range" and (misfits := list(_misfits(job.config))):
        register, word = misfits[number % len(misfits)]
        return Fault(BlockError.RANGE, {regs.command_address(register): word}, beats, register)
    return None


def _refused(job: Job) -> Iterator[tuple[dict[int, int], BlockError]]:
    """Yield the words of jobs with one wrong register each, and why the core refuses them."""
    config, bits = job.config, regs.written_bits(job.config)
    for registers, reason in bad_jobs(job.registers, config):
        values = registers.values()
        if values["tail"] == 0 and config.lanes == 1:
            continue  # without lanes to count there is no such register
        with suppress(OverflowError):
            yield (
                {
                    regs.command_address(regs.command_number(name)): regs.word_of(
                        name, bits[name], values[name]
                    )
                    for name in bits
                },
                BlockError(reason),
            )


def _misfits(config: CoreConfig) -> Iterator[tuple[int, int]]:
    """Yield numbers of registers, and words that do not fit them."""
    for name, bits in regs.written_bits(config).items():
        if regs.is_position(name) or bits.width == regs.WORD_BITS:
            continue
        beyond = [1 << bits.width]
        if bits.signed:
            half = 1 << bits.width - 1
            beyond = [half, (1 << regs.WORD_BITS) - half - 1]
        for word in beyond:
            yield regs.command_number(name), word
