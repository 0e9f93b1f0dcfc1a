"""The driver of the AXI block: jobs go in, results and counters come out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

import extremum.hdl.axi.register_map as regs
from extremum.hdl.axi.latency import latency as axi_latency
from extremum.hdl.axi.register import Register
from extremum.hdl.axi.register_map import BlockError, register_map
from extremum.hdl.axi.streams import has_input_buffer, is_programmable
from extremum.hdl.config import CoreConfig
from extremum.hdl.latency import holds_one_job, latency, pipeline_latency
from extremum.host.checks import tensor_for, warn_of_empty_windows
from extremum.host.driver.packets import ResultPackets, Take, input_pieces, input_size
from extremum.host.driver.transport import Transport
from extremum.host.driver.words import job_words, register_of
from extremum.host.errors import DeviceError, JobFailedError
from extremum.host.plan import plan
from extremum.host.plan.jobs import Job, scattering
from extremum.host.plan.results import Results
from extremum.model import Pooling, Reduction

JOBS_AHEAD = 8
"""Jobs whose results are awaited at a time: each needs its packets' buffers in the transport."""

START_CLOCKS = 12
"""The most clocks that a block adds to a job of the core, if nothing else is under way: from the
start to the first slot, and from the core's last result to the block's, together."""

END_CLOCKS = 9
"""Clocks for which a block is busy behind a job's last element, if no result comes later."""

STAYS_CLOCKS = 4
"""Clocks for which a block stays busy when a job's last slot has left the pipeline of a small or
balanced core."""

LOOKS = 64
"""Reads of a full command queue after which the driver rather waits for the next packet."""

POLLS = 10_000
"""Reads after which a status that only takes the block some clocks is given up."""

COUNTERS = tuple(name.lower() for name, _ in regs.COUNTERS)
"""The names of the counters."""


def unused_clocks(job: Job) -> int:
    """Return the clocks in which a block is busy with slots that the core's own clocks leave out.

    They are the slots in front of the first element, and the way of the last element if it comes so
    far behind the last window that all results have left before.
    """
    schedule, busy = job.schedule, END_CLOCKS
    if holds_one_job(job.config):
        # The job stays until its last slot has gone through the whole pipeline.
        busy = pipeline_latency(job.config) + STAYS_CLOCKS
    result, element = schedule.last_window + latency(job.config), schedule.last_element
    return schedule.first_element + max(result, element + busy) - max(result, element)


def dataflow_clocks(job: Job) -> int:
    """Return the clocks of a job on a dataflow block, from its first beat taken to its last moved.

    They are exact if the block has been idle, nothing comes behind the last result, and no window
    of padding alone before the first element. Otherwise a buffer may have taken the last beats up
    to two clocks sooner, and the first beat sooner by up to :func:`waiting_clocks`.
    """
    return job.schedule.cycles(axi_latency(job.config, "axi"))


def waiting_clocks(job: Job) -> int:
    """Return for how many clocks the first beat of a job may wait in a dataflow block's buffer.

    It waits while the slots in front of it pass, if there are any, and until the core has begun.
    """
    slots = job.schedule.first_element
    waits = slots > 0 and has_input_buffer(job.config)
    return slots + holds_one_job(job.config) if waits else 0


@dataclass(frozen=True)
class Work:
    """A job, the tensor whose elements it takes, and who takes its results.

    Parameters
    ----------
    job
        The job.
    x
        The operator's tensor, of its type and sizes.
    take
        Is called with results as they come: values and positions (uint32), each (beats, lanes).
    """

    job: Job
    x: NDArray[Any]
    take: Take


class BlockDriver:
    """Drives one AXI block through a transport, alone, and in one thread at a time.

    It writes the registers of a job that have changed since they were written last, starts the
    job, sends its beats as one packet, and receives a packet of results on each output stream. Up
    to :data:`JOBS_AHEAD` jobs are started ahead, as far as the block's command queue has space, so
    that one follows the other without a gap. A dataflow block has no registers, and so neither
    counters nor errors.

    After an exception the block and its packets may be out of step, and after ``aresetn`` the block
    has lost its registers: call :meth:`reset`. Where somebody else has written job registers, such
    as another driver, call :meth:`forget`. A dataflow block needs a reset by ``aresetn`` and
    another driver.

    Parameters
    ----------
    transport
        The way to the block.
    config
        Configuration of the core that the block was made for.

    Attributes
    ----------
    finished : int
        Jobs that have given all their results.
    written : int
        Job registers that were written.

    Raises
    ------
    DeviceError
        There is another block at the other end, or none.
    """

    def __init__(self, transport: Transport, config: CoreConfig) -> None:
        self._transport, self._config = transport, config
        self._pending: deque[ResultPackets] = deque()
        self._words: dict[int, int] = {}
        self._space = self._parts = 0
        self._is_idle = True
        self.finished = self.written = 0
        self.is_programmable = is_programmable(config)
        if self.is_programmable:
            self._registers = {register.name: register for register in register_map(config)}
            self._identify()
            self._begin()

    def _begin(self) -> None:
        """Clear what has been reported before, and let errors raise the interrupt."""
        self._write("IRQ_STATUS", error=1, done=1)
        self._write("IRQ_ENABLE", error=1)

    def _identify(self) -> None:
        """Make sure that this is the block of the configuration."""
        if (found := self._field("ID")) != regs.ID:
            raise DeviceError(
                f"there is no extremum block at this address: ID is {found:#010x}, not "
                f"{regs.ID:#010x}"
            )
        (major, minor), found = regs.VERSION, self._field("VERSION", "major")
        if found != major or self._field("VERSION", "minor") < minor:
            raise DeviceError(
                f"this driver needs a register map of version {major}.{minor}, or of a later "
                f"{major}.x, and the block has version {found}.{self._field('VERSION', 'minor')}"
            )
        expected = regs.configuration_hash(self._config)
        if (found := self._field("CONFIG_HASH")) != expected:
            raise DeviceError(
                f"the block was made for another configuration: its hash is {found:#010x}, and "
                f"that of the driver's is {expected:#010x}"
            )

    @overload
    def compute(self, problem: Reduction, x: ArrayLike) -> NDArray[Any]: ...

    @overload
    def compute(
        self, problem: Reduction | Pooling, x: ArrayLike
    ) -> NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]: ...

    def compute(
        self, problem: Reduction | Pooling, x: ArrayLike
    ) -> NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]:
        """Carry out an operator; return what ``problem.evaluate(x)`` returns, bit for bit.

        Warns as that does of windows that lie wholly in padding. Raises what :meth:`run` does, a
        SimulationError if the block marked other windows as empty than those that are, and a
        TypeError or ValueError if ``x`` is not of the operator's type and sizes, or if the operator
        needs another core; then nothing is started.
        """
        tensor = tensor_for(problem, x)
        results = Results.blank(problem, self._config)
        planned = plan(problem, self._config)
        planned.check_fixed()
        self.run(Work(job, tensor, scattering(job, results)) for job in planned.jobs)
        warn_of_empty_windows(results.count_empty_windows())
        return results.finish()

    def run(self, work: Iterable[Work]) -> None:
        """Carry out jobs one behind the other, and return when all results have come.

        Raises
        ------
        JobFailedError
            The block reported an error.
        DeviceError
            A packet of results is longer or shorter than it should be, or an access was refused.
        """
        for each in work:
            self.start(each)
        self.finish()

    def start(self, work: Work) -> None:
        """Start a job, as soon as the block has space for its registers.

        It may wait for the results of earlier jobs. Raises what :meth:`run` does.

        Raises
        ------
        TypeError
            The tensor is not of the operator's type.
        ValueError, OverflowError
            It is not of the operator's sizes; or the core was not built for this job, or the job is
            planned for another core. Nothing is started then.
        """
        job, config = work.job, self._config
        if job.config != config:
            raise ValueError(
                "the job is planned for another core: plan it for the configuration of the driver"
            )
        x = tensor_for(job.problem, work.x)
        job.registers.to_bits(config)  # an error, if the core was not built for the job
        self._is_idle = False
        while len(self._pending) >= JOBS_AHEAD:
            self._finish_oldest()
        if self.is_programmable:
            words = job_words(job)
            changed = [each for each in words.items() if self._words.get(each[0]) != each[1]]
            for address, word in changed:
                self._make_room()
                self._transport.write(address, word)
            self._words.update(changed)
            self.written += len(changed)
            self._make_room()
        # Asked for before the start: a transport that cannot receive finds no job under way.
        results = ResultPackets(job, x.dtype.newbyteorder("="), work.take)
        for name in results.names(config):
            self._transport.receive(name, results.size(name), partial(self._add, results, name))
        self._pending.append(results)
        if self.is_programmable:
            self._transport.write(regs.command_address(regs.START_COMMAND), 1)
        self._transport.send(input_pieces(job, x), input_size(job))

    def finish(self) -> None:
        """Wait until the results of all jobs have come, and their input has been taken.

        The last elements of a tensor may lie behind the last window. Raises what :meth:`run` does.
        """
        while self._pending:
            self._finish_oldest()
        while self._transport.wait():
            if self.is_programmable:
                self.check()
        if self.is_programmable:
            self._poll("STATUS", "busy", "the block stays busy after its last element")
            self.check()
        self._is_idle = True

    def check(self) -> None:
        """Look for an error that the block has reported, and clear it.

        Raises
        ------
        JobFailedError
            There is one.
        DeviceError
            Its code is none of the register map's.
        """
        if not self._field("IRQ_STATUS", "error"):
            return
        word = self._transport.read(self._registers["ERROR"].address)
        code, job, number = (
            self._registers["ERROR"].field(name).of(word) for name in ("code", "job", "register")
        )
        self._write("IRQ_STATUS", error=1)
        if code not in set(BlockError):
            raise DeviceError(f"the block reported an error of the unknown code {code}")
        register = register_of(number, self._config) if code == BlockError.RANGE else None
        of_job = None if code == BlockError.QUEUE_FULL else job
        raise JobFailedError(BlockError(code).name, of_job, register)

    def reset(self) -> None:
        """End all jobs at once by the soft reset, and forget what was started.

        Afterwards errors raise the interrupt, and nothing else: what a program has enabled besides
        has to be enabled again.

        The channel that sends must have been stopped before. What the block still offers on its
        output streams has to be taken behind it, and those channels then be stopped too.

        Raises
        ------
        DeviceError
            A dataflow block has not finished what was started. It has no soft reset.
        """
        if not (self.is_programmable or self._is_idle):
            raise DeviceError(
                "a dataflow block has no soft reset: pull aresetn low, and make another driver"
            )
        self._pending.clear()
        self._words.clear()
        self._space = 0
        if self.is_programmable:
            self._write("CONTROL", soft_reset=1)
            self._begin()

    def forget(self, addresses: Iterable[int] | None = None) -> None:
        """Write some registers again for the next job, whatever they hold; None means all."""
        for address in list(self._words if addresses is None else addresses):
            self._words.pop(address, None)

    def counters(self) -> dict[str, int]:
        """Return what the block has counted since its counters were cleared, by name.

        Each counts modulo 2^32. A dataflow block has none.
        """
        if not self.is_programmable:
            return {}
        return {name: self._field(name.upper()) for name in COUNTERS}

    def clear_counters(self) -> None:
        """Set all counters to zero. What happens in the next clocks may not be counted."""
        if self.is_programmable:
            self._write("CONTROL", clear_counters=1)

    def _make_room(self) -> None:
        """Wait until the command queue has space for a command. Nobody else writes commands."""
        while not self._space:
            for _ in range(LOOKS if self._pending else POLLS):
                self._space = self._field("STATUS", "queue_free")
                if self._space:
                    break
            else:
                if not self._pending:
                    raise DeviceError("the command queue does not empty")
                # The queue stands still while a long job is under way.
                self._finish_oldest()
        self._space -= 1

    def _add(
        self, results: ResultPackets, stream: str, part: NDArray[np.uint8], is_last: bool
    ) -> None:
        """Take a part of a packet."""
        self._parts += 1
        results.add(stream, part, is_last)

    def _finish_oldest(self) -> None:
        """Wait until all results of the oldest job have come."""
        while not self._pending[0].is_complete:
            before = self._parts
            may_have_failed = self._transport.wait()
            if may_have_failed and self.is_programmable:
                self.check()
            if not may_have_failed and self._parts == before:
                raise DeviceError(
                    "results are missing, and no packet is awaited any more: reset the block and "
                    "the driver"
                )
        self._pending.popleft()
        self.finished += 1

    def _poll(self, register: str, field: str, problem: str) -> None:
        """Read a flag until it is zero."""
        for _ in range(POLLS):
            if not self._field(register, field):
                return
        raise DeviceError(problem)

    def _field(self, register: str, name: str = "value") -> int:
        """Read a field of a register."""
        found: Register = self._registers[register]
        return found.field(name).of(self._transport.read(found.address))

    def _write(self, register: str, **fields: int) -> None:
        """Write a register; fields that are not named are written as zero."""
        found: Register = self._registers[register]
        word = sum(value << found.field(name).lowest for name, value in fields.items())
        self._transport.write(found.address, word)
