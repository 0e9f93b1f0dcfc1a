"""Lots: the cases that one task of the regression runs, all on one core."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, field

from extremum.host.errors import ToolError
from extremum.tb.coverage import Tally
from extremum.tb.regression.draw import drawn_case
from extremum.tb.regression.pool import CORES_MOST, TARGETS
from extremum.tb.regression.random_cores import RANDOM, random_target, seeds_of
from extremum.tb.regression.run import Rig, run_case
from extremum.tb.regression.target import Target
from extremum.tb.regression.work import Difference, Figures

LOT_CASES = {"native": 12, "verilator": 8, "icarus": 8}
"""Cases of a lot: a few seconds of work, so that little is lost with a worker."""

RANDOM_CORES = 8
"""Cores drawn at random that run after each round, in which every core of the pool runs a lot."""

TellSeed = Callable[[int], None]
"""Is called with the seed of each case before it runs."""


@dataclass(frozen=True)
class Lot:
    """Some seeds of one core, on one backend.

    Parameters
    ----------
    backend
        What simulates.
    core
        Number of the core or block in the pool; a negative one is drawn at random.
    number
        Number of the lot among those of this core. A core drawn at random has one lot.
    """

    backend: str
    core: int
    number: int

    @property
    def target(self) -> Target:
        """What it runs on."""
        return random_target(-1 - self.core) if self.is_random else TARGETS[self.core]

    @property
    def is_random(self) -> bool:
        """Whether its core is drawn at random."""
        return self.core < 0

    @property
    def seeds(self) -> list[int]:
        """The seeds of its cases."""
        size = LOT_CASES[self.backend]
        if self.is_random:
            return seeds_of(-1 - self.core)[:size]
        first = self.number * size
        return [self.core + CORES_MOST * (first + each) for each in range(size)]


@dataclass
class LotResult:
    """What came of a lot.

    Parameters
    ----------
    figures
        What was run, of the cases without a difference.
    bins
        How often each bin was met.
    failures
        Seeds of the cases with a difference, and what it was.
    seconds
        How long it took.
    """

    figures: Figures
    bins: dict[str, int]
    failures: list[tuple[int, str]] = field(default_factory=list)
    seconds: float = 0.0

    def as_dict(self) -> dict[str, object]:
        """Return plain data, which any worker can send."""
        return asdict(self)

    @classmethod
    def of(cls, plain: dict[str, object]) -> LotResult:
        """Return the result that :meth:`as_dict` gave."""
        fields = dict(plain)
        fields["figures"] = Figures(**fields["figures"])  # type: ignore[arg-type]
        return cls(**fields)  # type: ignore[arg-type]


def lots(backends: Iterable[str], names: Collection[str], done: Collection[Lot]) -> Iterator[Lot]:
    """Yield lots without an end: one of each core in turn, and of each backend, but not those done.

    Behind the cores of the pool come as many as :data:`RANDOM_CORES` that are drawn at random, in
    each turn others.

    Parameters
    ----------
    backends
        The backends; at least one.
    names
        Names of cores and blocks of the pool, or :data:`RANDOM`; all, if there are none.
    done
        Lots that are left out.
    """
    number = 0
    pool = [core for core, t in enumerate(TARGETS) if not names or t.name in names]
    drawn = RANDOM_CORES if not names or RANDOM in names else 0
    while True:
        turn = [(core, number) for core in pool]
        turn += [(-1 - drawn * number - each, 0) for each in range(drawn)]
        for core, of_core in turn:
            for backend in backends:
                lot = Lot(backend, core, of_core)
                if lot not in done:
                    yield lot
        number += 1


def run_lot(lot: Lot, tell: TellSeed = lambda seed: None) -> LotResult:
    """Run the cases of a lot in this process, which keeps its simulations for the next lot.

    A case with a difference counts for no bin, wherever in it the difference was.
    """
    tally, figures = Tally(), Figures()
    failures: list[tuple[int, str]] = []
    started = time.monotonic()
    rig = rig_of(lot.backend)
    for seed in lot.seeds:
        tell(seed)
        met = Tally()
        try:
            figures.add(run_case(drawn_case(seed, lot.backend), rig, met))
        except ToolError:
            raise
        except Difference as error:
            failures.append((seed, str(error)))
        except Exception as error:  # a fault of the bench, which must not end a run of hours
            failures.append((seed, f"{type(error).__name__}: {error}"))
        else:
            tally.add(met)
    if lot.is_random:
        rig.drop(lot.target.name)  # which no other lot runs on
    return LotResult(figures, tally.counts, failures, time.monotonic() - started)


_rigs: dict[str, Rig] = {}


def rig_of(backend: str) -> Rig:
    """Return this process's simulations on a backend. They end with the process."""
    if backend not in _rigs:
        _rigs[backend] = Rig(backend)
    return _rigs[backend]


@atexit.register
def close_rigs() -> None:
    """End the simulations of this process."""
    for rig in _rigs.values():
        rig.close()
    _rigs.clear()
