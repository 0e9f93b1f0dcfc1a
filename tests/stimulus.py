"""Stimulus for a part of the pipeline: jobs, laid out clock by clock.

A job is announced by a token, while its registers stand on the port; its words follow, one in a
clock or with gaps between them. With ``early=2``, ``stay=1`` and a word port ``i``, two jobs of
three words and of one may look like this::

    clock      0    1    2    3    4    5    6    7    8    9   10
    registers  A    A    A    A    ~    B    B    B    B    ~    ~      ~ is noise
    token      .    .    1    .    .    .    .    1    .    .    .
    valid      .    .    .    1    .    1    .    1    .    1    .
    i          ~    ~    ~   a0    ~   a1    ~   a2    ~   b0    ~
    at hand    -    -    -   a0   a1   a1   a2   a2   b0   b0    -

The token of ``B`` meets the last word of ``A``. It may also come alone, in a clock of its own.
"""

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from amaranth.lib import wiring
from gateware import port_of

CHANGES = 0.1
"""How likely the noise on the registers' ports changes in a clock."""


@dataclass(frozen=True)
class Job:
    """One job as a part of the pipeline sees it.

    Attributes
    ----------
    registers
        The ports of its registers, and what stands on each.
    words
        For each of its words or slots the ports that carry it.
    """

    registers: Mapping[str, int]
    words: Sequence[Mapping[str, int]]


@dataclass
class Stimulus:
    """Jobs laid out over clocks.

    Attributes
    ----------
    clocks
        For each clock what stands on every port, as :func:`gateware.watch` takes it.
    tokens
        The clock of each job's token.
    words
        For each job the clocks of its words.
    """

    clocks: list[dict[str, int]] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    words: list[list[int]] = field(default_factory=list)

    @property
    def at_hand(self) -> list[tuple[int, int] | None]:
        """For each clock the job and the word that come in it, or come next, by their numbers.

        None stands where no job is under way: after the last word of a job, up to the clock of the
        next token.
        """
        found: list[tuple[int, int] | None] = [None] * len(self.clocks)
        for job, (token, words) in enumerate(zip(self.tokens, self.words, strict=True)):
            ends = [token, *words]
            for number, (after, until) in enumerate(itertools.pairwise(ends)):
                found[after + 1 : until + 1] = [(job, number)] * (until - after)
        return found

    @property
    def idle(self) -> list[int]:
        """The clocks without a word."""
        busy = set(itertools.chain(*self.words))
        return [clock for clock in range(len(self.clocks)) if clock not in busy]


def stimulus(
    component: wiring.Component,
    jobs: Sequence[Job],
    rng: random.Random,
    *,
    early: int = 0,
    stay: int = 0,
    gaps: float = 0,
    meets: float = 0.5,
    after: int = 1,
    token: str = "token",
    valid: str | None = "valid",
) -> Stimulus:
    """Lay jobs out over clocks, in order, each as soon as its registers may follow those before.

    A port that has no meaning in a clock is given noise: the ports of words where there is no word,
    and the ports of registers before a job's registers come and once they have been taken.

    Parameters
    ----------
    component
        The component under test; the noise is as wide as its ports.
    jobs
        The jobs; each has a word or more.
    rng
        Source of gaps, tokens and noise.
    early
        For how many clocks the registers stand on the port before the clock of the token.
    stay
        For how many clocks they stay on the port after the clock of the token.
    gaps
        How likely each clock has no word.
    meets
        How likely a token meets the last word of the job before, if the registers of that one have
        been taken in time. Otherwise the token comes alone.
    after
        Clocks without a word at the end.
    token, valid
        The ports that tell of a token and of a word; ``valid`` is None if no port does.
    """
    laid = Stimulus()
    registers = {name for job in jobs for name in job.registers}
    ports = registers | {name for job in jobs for word in job.words for name in word}
    widths = {name: len(port_of(component, name)) for name in sorted(ports)}
    noise: dict[str, int] = {token: 0} | ({valid: 0} if valid else {})

    def idle(count: int) -> None:
        for _ in range(count):
            for name, width in widths.items():
                # Registers change less often: every change is much work for the simulator.
                if name not in registers or name not in noise or rng.random() < CHANGES:
                    noise[name] = rng.getrandbits(width)
            laid.clocks.append(dict(noise))

    idle(1 + early)
    free = 0  # the first clock in which the registers of the next job may come
    for job in jobs:
        met = len(laid.clocks) - 1
        if not (laid.tokens and rng.random() < meets and met - early >= free):
            # The token comes alone, at once or after some more clocks.
            met = max(met + 1 + rng.choice((0, 0, 1, early)), free + early)
        idle(met + 1 - len(laid.clocks))
        laid.clocks[met][token] = 1
        for clock in laid.clocks[met - early :]:
            clock.update(job.registers)
        laid.tokens.append(met)
        free, words = met + stay + 1, []
        for word in job.words:
            while rng.random() < gaps:
                idle(1)
            idle(1)
            words.append(len(laid.clocks) - 1)
            laid.clocks[-1].update(word)
            if valid:
                laid.clocks[-1][valid] = 1
        laid.words.append(words)
        # The registers of the next job may come behind those of a job of few words.
        idle(free - len(laid.clocks))
        for clock in laid.clocks[met + 1 : free]:
            clock.update(job.registers)
    idle(after)
    return laid
