"""Drives the core's ports under cocotb: feeds jobs and beats, takes results, checks stream rules.

The core promises that no output depends combinationally on ``valid`` or ``ready`` of a stream, or
on a beat. Only ``i.ready`` of a small or balanced core depends on the registers of the job, which
stay while the job is offered. So in the middle of a clock, at the falling edge, every output shows
what it will be at the next rising edge, whatever the streams do. There the bench looks at all ports
and sets all inputs, in one step: it knows at once which transfers the coming edge will make.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

from extremum.host.simulation.stalls import Phases, Stalls

PROGRESS_CLOCKS = 1 << 10
"""Clocks between two reports of progress, at the most."""

PROGRESS_SECONDS = 10.0
"""Seconds between them, at the most: Icarus may need most of a second for a clock of many lanes."""


class Pace:
    """Tells when it is time for a report of progress, which is also a sign of life."""

    def __init__(self) -> None:
        self._reported = time.monotonic()

    def is_due(self, clock: int) -> bool:
        """Return whether to report in this clock, and take it that this is done."""
        now = time.monotonic()
        if clock % PROGRESS_CLOCKS and now < self._reported + PROGRESS_SECONDS:
            return False
        self._reported = now
        return True


class StreamRuleError(AssertionError):
    """The core broke a rule of its streams."""


class Watchdog(AssertionError):
    """Nothing moved for too long."""


@dataclass(frozen=True)
class PortRun:
    """Jobs that go through the core back to back, as the bits on its ports.

    Parameters
    ----------
    jobs
        Payloads of the job port.
    beats
        Payloads of the input stream, of all jobs.
    results
        How many output beats to wait for.
    watchdog
        Clocks without any transfer after which the bench gives up.
    input_stalls, output_stalls, job_stalls
        Percentage of the clocks in which the source of beats, the sink of results, the source of
        jobs rests; or phases of different percentages.
    seed
        Selects the stalls, and what stands on the ports while valid is low.
    """

    jobs: Sequence[int]
    beats: Sequence[int]
    results: int
    watchdog: int
    input_stalls: int | Phases = 0
    output_stalls: int | Phases = 0
    job_stalls: int | Phases = 0
    seed: int = 0


@dataclass
class Outcome:
    """What was seen on the core's ports during a run.

    Parameters
    ----------
    results
        Payloads of the output stream, in order.
    first, last
        The clocks of the first beat taken, and of the last beat taken or given.
    statuses
        The core's status, in the clock after each job was taken off its port.
    taken
        How many beats the core took.
    given
        The clocks in which the results left.
    """

    results: list[int] = field(default_factory=list)
    first: int | None = None
    last: int = -1
    statuses: list[int] = field(default_factory=list)
    taken: int = 0
    given: list[int] = field(default_factory=list)

    @property
    def cycles(self) -> int:
        """Clocks from the first beat taken to the last beat moved, both counted."""
        return 0 if self.first is None else self.last - self.first + 1


class CoreBench:
    """Drives one core.

    Parameters
    ----------
    dut
        The core's top module.
    strict
        Check in every clock that the outputs do not follow the inputs within the clock, and are
        known; show other garbage in every clock in which a source rests.
    """

    def __init__(self, dut: Any, *, strict: bool = False) -> None:
        self.dut = dut
        self.strict = strict
        self._edge = FallingEdge(dut.clk)
        # A core all of whose registers are fixed has no job port: it takes each job at once.
        self._job_valid, self._job_payload = _port(dut, "job__valid"), _port(dut, "job__payload")
        self._job_ready, self._status = _port(dut, "job__ready", 1), _port(dut, "status")

    async def start(self) -> None:
        """Start the clock and reset the core."""
        dut = self.dut
        for signal in (self._job_valid, dut.i__valid, dut.o__ready):
            signal.value = 0
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, 2, "ns", impl="gpi").start())
        await self.reset()

    async def reset(self, clocks: int = 2) -> None:
        """Reset the core, whatever it is doing."""
        self.dut.rst.value = 1
        for _ in range(clocks):
            await self._edge
        self.dut.rst.value = 0
        self._job_valid.value = 0
        self.dut.i__valid.value = 0
        self.dut.o__ready.value = 0

    async def run(
        self,
        run: PortRun,
        progress: Callable[[int, int], None] | None = None,
        stop_after: int | None = None,
    ) -> Outcome:
        """Drive the core until all results are here, all beats taken and all jobs done.

        ``progress`` is called now and then with the clocks driven, and the beats taken.

        Raises
        ------
        StreamRuleError
            A payload changed, or valid fell, before it was taken; an output followed an input
            within the clock; there was a result too many.
        Watchdog
            Nothing moved for ``run.watchdog`` clocks.
        """
        dut, edge = self.dut, self._edge
        job_rests, i_rests = (
            Stalls(run.job_stalls, run.seed + 2),
            Stalls(run.input_stalls, run.seed),
        )
        job_port = _Source(self._job_valid, self._job_payload, run.jobs, job_rests, self.strict)
        i_port = _Source(dut.i__valid, dut.i__payload, run.beats, i_rests, self.strict)
        job_ready, i_ready = self._job_ready, dut.i__ready
        outcome = Outcome()
        results = outcome.results
        o_port = _Sink(dut, run, Stalls(run.output_stalls, run.seed + 1), outcome)
        clock = idle = 0
        pace = Pace()
        job_taken = False
        while clock != stop_after and (len(results) < run.results or i_port.left or job_port.left):
            await edge
            if job_taken:
                outcome.statuses.append(int(self._status.value))
            job_taken = job_port.drive(job_ready.value)
            took = i_port.drive(i_ready.value)
            if took and outcome.first is None:
                outcome.first = clock
            gave = o_port.drive(clock)
            if self.strict:
                await self._check_outputs(clock)
            if took or gave:
                outcome.last = clock
                idle = 0
            elif (idle := idle + 1) > run.watchdog:
                raise Watchdog(
                    f"clock {clock}: nothing moved for {idle} clocks; {i_port.left} beats and "
                    f"{job_port.left} jobs wait, {len(results)} of {run.results} results came"
                )
            clock += 1
            if progress is not None and pace.is_due(clock):
                progress(clock, len(run.beats) - i_port.left)
        # The transfers of this clock happen at the edge to come; after it nothing is offered.
        await edge
        if job_taken:
            outcome.statuses.append(int(self._status.value))
        outcome.taken = len(run.beats) - i_port.left
        i_port.rest()
        job_port.rest()
        o_port.rest()
        return outcome

    async def quiet(self, clocks: int) -> None:
        """Check that nothing more comes.

        Raises
        ------
        StreamRuleError
            There is a result too many.
        """
        for _ in range(clocks):
            await self._edge
            if self.dut.o__valid.value != 0:
                raise StreamRuleError("a result too many")

    async def _check_outputs(self, clock: int) -> None:
        dut = self.dut
        ports = (dut.i__ready, self._job_ready, dut.o__valid, self._status)
        controls = [port for port in ports if not isinstance(port, _NoPort)]
        if not all(signal.value.is_resolvable for signal in controls):
            raise StreamRuleError(f"clock {clock}: a control output is unknown")
        outputs = (*controls, dut.o__payload)
        before = [signal.value for signal in outputs]
        await ReadOnly()
        if before != [signal.value for signal in outputs]:
            raise StreamRuleError(f"clock {clock}: an output followed an input within the clock")


class _NoPort:
    """Stands for a port of one bit that a core lacks: it holds what is written to it.

    Parameters
    ----------
    value
        What it shows at first.
    """

    def __init__(self, value: int) -> None:
        self.value = value

    def __len__(self) -> int:
        return 1


def _port(dut: Any, name: str, value: int = 0) -> Any:
    """Return a port of a core; where the core lacks it, one that shows a value."""
    return getattr(dut, name, _NoPort(value))


class _Sink:
    """Takes results, rests now and then, and checks the rules of a stream."""

    def __init__(self, dut: Any, run: PortRun, rests: Stalls, outcome: Outcome) -> None:
        self._valid, self._payload, self._ready = dut.o__valid, dut.o__payload, dut.o__ready
        self._results, self._rests, self._outcome = run.results, rests, outcome
        self._waiting: int | None = None

    def drive(self, clock: int) -> bool:
        """Decide whether to take a result, and keep what the coming edge takes; tell whether.

        Raises
        ------
        StreamRuleError
            The payload changed, or valid fell, before it was taken; or there is a result too many.
        """
        ready = not self._rests()
        self._ready.value = ready
        if self._valid.value != 1:
            if self._waiting is not None:
                raise StreamRuleError(f"clock {clock}: output valid fell before it was taken")
            return False
        payload = int(self._payload.value)
        if self._waiting not in (None, payload):
            raise StreamRuleError(f"clock {clock}: the output payload changed")
        self._waiting = None if ready else payload
        if ready:
            self._outcome.results.append(payload)
            self._outcome.given.append(clock)
            if len(self._outcome.results) > self._results:
                raise StreamRuleError(f"clock {clock}: a result too many")
        return ready

    def rest(self) -> None:
        """Take nothing more."""
        self._ready.value = 0


class _Source:
    """Offers payloads on a stream, rests now and then, and shows garbage while it rests."""

    def __init__(
        self, valid: Any, payload: Any, items: Sequence[int], rests: Stalls, restless: bool
    ) -> None:
        self._valid, self._payload = valid, payload
        self._restless = restless
        self._items = iter(items)
        self._rests = rests
        self._width = len(payload)
        self._offered = False
        self._garbage = False
        self._next = next(self._items, None)
        self.left = len(items)

    def drive(self, ready: Any) -> bool:
        """Offer the next payload if it is time; return whether the coming edge takes it."""
        if not self._offered:
            if self._next is None or self._rests():
                self.rest()
                return False
            self._payload.value = self._next
            self._valid.value = 1
            self._offered = True
            self._garbage = False
        if ready == 1:
            self._offered = False
            self._next = next(self._items, None)
            self.left -= 1
            return True
        return False

    def rest(self) -> None:
        """Offer nothing."""
        if self._restless or not self._garbage:
            self._garbage = True
            self._valid.value = 0
            word = self._rests.word() | 1
            self._payload.value = word * ((1 << self._width) // 0xFFFFFFFF + 1) % (1 << self._width)
