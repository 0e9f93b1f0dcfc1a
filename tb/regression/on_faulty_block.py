"""Runs a batch on an AXI block of which jobs fail and registers are accessed in between.

The driver that users have ends at the first error. Here a job that fails has right ones around it,
started without a pause, and all that the block must tell of it is compared.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.register_map import BlockError
from extremum.hdl.axi.streams import INPUT, port_widths
from extremum.host.driver.packets import ResultPackets, input_pieces
from extremum.host.driver.words import job_words
from extremum.host.simulation.backend import StreamSettings
from extremum.host.simulation.cocotb_block import CocotbBlock
from extremum.host.simulation.native_block import NativeBlock
from extremum.tb.coverage import Tally
from extremum.tb.regression.block_registers import (
    ALL_EVENTS,
    DONE,
    ERROR,
    IDLE,
    PASS_CLOCKS,
    BlockRegisters,
    Counts,
)
from extremum.tb.regression.case import Batch
from extremum.tb.regression.faults import Fault, fault_of
from extremum.tb.regression.observe import observe_error_reset, observe_fault
from extremum.tb.regression.received import Received
from extremum.tb.regression.target import Target
from extremum.tb.regression.work import Difference, Figures, Todo, todo_of, watchdog

CLOCKS = 64
"""Clocks that pass at a time while results are awaited."""


def run_on_faulty_block(
    block: NativeBlock | CocotbBlock, target: Target, batch: Batch, tally: Tally
) -> Figures:
    """Run a batch of which some jobs fail, compare what comes, and return its figures.

    Raises
    ------
    Difference, DeviceError, SimulationError
        The block did something else than it must.
    """
    todo = todo_of(target, batch)
    run = _Run(block, target, batch, tally, watchdog(todo, batch))
    run.begin()
    seen: set[int] = set()
    for each in todo:
        fault = None
        if each.item.fault is not None and id(each.item) not in seen:
            # The first job of the item may be there twice: as it must fail, and as it is right.
            seen.add(id(each.item))
            fault = fault_of(each.item.fault, each.item.fault_number, each.job)
        if fault is None:
            run.start(each)
            continue
        run.fail(each, fault)
        follows = ("looks", "looks", "starts", "goes on")[each.item.fault_number >> 9 & 3]
        if batch.reset_after is not None and fault.code != BlockError.QUEUE_FULL:
            if follows == "starts":
                run.start(each)
            run.reset(fault)
            break
        if follows == "looks":
            run.settle()
        if follows != "goes on":
            run.start(each)
    else:
        run.settle()
    clocks = block.clocks
    figures = Figures(jobs=run.begun, clocks=clocks.now, beats=clocks.taken)
    run.end()
    return figures


class _Run:
    """What has been started on a block, and what must come of it."""

    def __init__(
        self,
        block: NativeBlock | CocotbBlock,
        target: Target,
        batch: Batch,
        tally: Tally,
        patience: int,
    ) -> None:
        self.block, self.batch, self.tally = block, batch, tally
        self.config = target.config
        self.registers = BlockRegisters(block, target.config)
        self._patience = patience
        self._source = random.Random(batch.seed)
        self._words: dict[int, int] = {}
        self._pending: list[tuple[ResultPackets, Received | None]] = []
        self._sent: list[tuple[int, bool]] = []
        """The beats of each packet, and whether its job is right."""
        self._wrong: tuple[Fault, int] | None = None
        """The first error since errors were cleared, and the number of its job."""
        self._last: BlockError | None = None
        """How the job that was started last ends; None if the block has been idle since."""
        self._is_alone = False
        self._met: list[tuple[BlockError, str]] = []
        """The errors since then, and what was around each."""
        self._started = self._space = 0
        self._counts = Counts(self.registers)
        self._events = 0

    def begin(self) -> None:
        """Set the streams, and the block to a state that is known."""
        batch, block = self.batch, self.block
        block.begin(
            StreamSettings(
                watchdog=self._patience,
                input_stalls=batch.input_stalls,
                output_stalls=batch.output_stalls,
                seed=batch.seed,
            )
        )
        if batch.accesses and isinstance(block, NativeBlock):
            block.rest_answers(self._source.choice((0, 30, 80)), batch.seed)
        self.registers.write("CONTROL", 0b01)
        self.registers.write("IRQ_STATUS", ALL_EVENTS)
        self.registers.enable(0)
        self._counts.begin()

    def end(self) -> None:
        """Leave the block as the driver expects it."""
        self.registers.write("CONTROL", 0b01)
        if isinstance(self.block, NativeBlock):
            self.block.rest_answers(0, 0)
        self.block.begin(StreamSettings())

    @property
    def begun(self) -> int:
        """How many jobs that are right have had a beat taken."""
        firsts = itertools.accumulate((beats for beats, _ in self._sent), initial=0)
        taken = self.block.clocks.taken
        return sum(
            is_right and first < taken
            for first, (_, is_right) in zip(firsts, self._sent, strict=False)
        )

    def start(self, each: Todo) -> None:
        """Start a job that is right."""
        self._access()
        self._command(job_words(each.job))
        received = Received(each)
        self._expect(each, received)
        self._send(each.job.beats_in, input_pieces(each.job, each.x), is_right=True)
        if self._last:
            self._met.append((self._last, "a right job behind it"))
        self._last, self._is_alone = BlockError.NONE, False

    def fail(self, each: Todo, fault: Fault) -> None:
        """Start a job that must fail; the error of one before it may not have been looked at."""
        number, is_full = each.item.fault_number, fault.code == BlockError.QUEUE_FULL
        if self._wrong is not None and (is_full or number >> 11 & 1):
            self.settle()
        if number >> 8 & 1:
            self.start(each)
        if is_full:
            self._overflow(each)
            observe_fault(self.tally, fault.code, "alone", self.batch)
            return
        self._is_alone = self._last is None
        if self._last is not None:
            before = "an error before it" if self._last else "a right job before it"
            self._met.append((fault.code, before))
        if self._wrong is not None:
            self._met.append((fault.code, "an earlier error is told"))
        self._access()
        if self._wrong is None:
            self._wrong = (fault, self._started % (1 << regs.JOB_BITS))
        if fault.code == BlockError.RANGE:
            # A register keeps what it held if a word does not fit it.
            words = job_words(each.job)
            kept = {a: word for a, word in words.items() if a not in fault.words}
            self._command(words | fault.words, kept)
        else:
            self._command(fault.words)
        if not fault.is_dropped:
            # If TLAST is early, packets of the right length come; what is in them means nothing.
            right = fault.code == BlockError.TLAST_LATE
            self._expect(each, Received(each) if right else None)
        packet = self._cut(input_pieces(each.job, each.x), fault.beats)
        self._send(fault.beats, packet, is_right=False)
        self._last = fault.code

    def settle(self) -> None:
        """Wait until the block is idle, and compare all that its registers must tell."""
        field = self.registers.field
        self._until(
            lambda: all(packets.is_complete for packets, _ in self._pending), "results are missing"
        )
        self._until(lambda: not field("STATUS", "busy"), "the block stays busy")
        for _, received in self._pending:
            if received is not None:
                received.finish()
        if self._wrong is not None and self._is_alone:
            self._met.append((self._wrong[0].code, "alone"))
        for code, around in self._met:
            observe_fault(self.tally, code, around, self.batch)
        self._met.clear()
        self._events |= DONE if self._pending or self._wrong else 0
        self._pending.clear()
        self._check_error()
        self._counts.check()
        if self.batch.accesses and self._source.random() < 0.3:
            self._counts.clear()
            self.tally.count("accesses", "clear of the counters", "idle")
        self._access()
        self._last, self._is_alone = None, False

    def reset(self, fault: Fault) -> None:
        """Let the reset of the batch end a job that fails, and compare what is told behind it."""
        block, batch, registers = self.block, self.batch, self.registers
        wrong = max(n for n, (_, is_right) in enumerate(self._sent) if not is_right)
        first = sum(beats for beats, _ in self._sent[:wrong])
        block.pass_clocks(batch.reset_after or 0)
        is_soft = isinstance(block, NativeBlock) and batch.reset_clocks == 0
        # To look takes clocks, so it is not always done.
        was_told = bool(batch.seed & 2) and registers.field("IRQ_STATUS", "error")
        if first < block.clocks.taken < first + self._sent[wrong][0]:
            observe_error_reset(self.tally, fault.code, is_soft=is_soft)
        clears = bool(is_soft and batch.seed & 1)
        if isinstance(block, NativeBlock) and is_soft:
            with block.resetting():
                registers.write("CONTROL", 0b11 if clears else 0b01)
        else:
            block.reset(batch.reset_clocks)
        self._pending.clear()
        self._met.clear()
        registers.check("STATUS", "busy", 0)
        registers.check("STATUS", "queue_free", regs.command_queue_depth(self.config))
        jobs = self._counts.check_ended(are_cleared=clears or not is_soft)
        if not is_soft:
            registers.check("IRQ_STATUS", "done", 0)
            registers.check("IRQ_STATUS", "error", 0)
        elif jobs is not None:
            registers.check("IRQ_STATUS", "done", int(jobs > 0))
        if is_soft and was_told:
            registers.check("IRQ_STATUS", "error", 1)
        if registers.field("IRQ_STATUS", "error"):
            # It was told in front of the reset, which leaves it.
            self._check_told()

    def _overflow(self, each: Todo) -> None:
        """Write commands until the queue is full, and one more, while no packet comes."""
        self.settle()
        for _ in range(2):
            self._command(job_words(each.job))
            self._expect(each, Received(each))
        self.block.pass_clocks(2 * PASS_CLOCKS)
        words = list(job_words(each.job).items())
        for number in range(self.registers.field("STATUS", "queue_free")):
            self.block.write(*words[number % len(words)])
        self.registers.check("STATUS", "queue_free", 0)
        self.registers.check("STATUS", "can_start", 0)
        self._space = 0
        start = regs.command_address(regs.START_COMMAND)
        for address in (words[0][0], start):
            self.registers.check_refused(
                partial(self.block.write, address, 1), "a command for which it has no space"
            )
        self.registers.check("ERROR", "code", BlockError.QUEUE_FULL)
        self.registers.check("ERROR", "register", 0)
        self.registers.check("IRQ_STATUS", "error", 1)
        self.registers.write("IRQ_STATUS", ERROR)
        for _ in range(2):
            self._send(each.job.beats_in, input_pieces(each.job, each.x), is_right=True)
        self.settle()
        self.registers.check("STATUS", "queue_free", regs.command_queue_depth(self.config))

    def _command(self, words: dict[int, int], known: dict[int, int] | None = None) -> None:
        """Write registers and START; ``known`` is what the registers hold then."""
        changed = {a: word for a, word in words.items() if self._words.get(a) != word}
        for address, word in (*changed.items(), (regs.command_address(regs.START_COMMAND), 1)):
            self._until(self._has_space, "the queue stays full")
            self._space -= 1
            self.block.write(address, word)
            if not self._is_idle and self._source.random() < 0.05:
                self._access()
        self._words |= words if known is None else known
        self._started += 1
        self._counts.expected["JOBS"] += 1
        if self.batch.accesses:
            # Its packet has not been sent, so there is something to do.
            self.registers.write("IRQ_STATUS", IDLE)
            self.registers.check("IRQ_STATUS", "idle", 0)

    def _expect(self, each: Todo, received: Received | None) -> None:
        packets = ResultPackets(each.job, each.x.dtype, received or _anything)
        for name in packets.names(self.config):
            self.block.receive(name, packets.size(name), partial(packets.add, name))
        self._pending.append((packets, received))
        self._counts.expected["BEATS_OUT"] += each.job.beats_out

    def _send(self, beats: int, pieces: Iterator[np.ndarray], *, is_right: bool) -> None:
        self._sent.append((beats, is_right))
        self.block.send(pieces, beats * port_widths(self.config)[INPUT] // 8)
        self._counts.expected["BEATS_IN"] += beats

    def _cut(self, pieces: Iterator[np.ndarray], beats: int) -> Iterator[np.ndarray]:
        """Yield so many beats: those of the pieces, and others behind them."""
        left = beats * port_widths(self.config)[INPUT] // 8
        for piece in pieces:
            if left:
                yield piece[:left]
                left -= min(left, len(piece))
        if left:
            yield np.frombuffer(self._source.randbytes(left), np.uint8)

    def _has_space(self) -> bool:
        """Return whether the queue takes a command. Nobody else writes commands."""
        if not self._space:
            self._space = self.registers.field("STATUS", "queue_free")
        return bool(self._space)

    def _until(self, holds: Callable[[], bool], problem: str) -> None:
        """Let clocks pass until something holds; it is a difference if nothing moves for long."""
        before, idle = (0, 0), 0
        while not holds():
            self.block.pass_clocks(CLOCKS)
            clocks = self.block.clocks
            now = (clocks.taken, clocks.last)
            idle = 0 if now != before else idle + CLOCKS
            before = now
            if idle > self._patience:
                raise Difference(f"{problem}, and nothing moved for {idle} clocks")

    def _check_error(self) -> None:
        """Compare the error and the events, and clear them; a 0 that is written clears nothing."""
        registers = self.registers
        if self._wrong is not None:
            self._events |= ERROR
            self._check_told()
        for cleared in (0, DONE, ERROR, IDLE):
            registers.check("IRQ_STATUS", "done", self._events & DONE)
            registers.check("IRQ_STATUS", "error", self._events >> 1)
            registers.check("IRQ_STATUS", "idle", 1)  # it lasts, and cannot be cleared
            if self.batch.accesses:
                registers.check_interrupt(self._events | IDLE)
            registers.write("IRQ_STATUS", cleared)
            self._events &= ~cleared
        self._wrong = None

    def _check_told(self) -> None:
        """Compare the error that is told with the first that must be."""
        fault, job = self._wrong or (Fault(BlockError.NONE), 0)
        self.registers.check("ERROR", "code", fault.code)
        self.registers.check("ERROR", "register", fault.register)
        self.registers.check("ERROR", "job", job)

    @property
    def _is_idle(self) -> bool:
        return not self._pending and self._wrong is None

    def _access(self) -> None:
        """Access registers in a way that must change nothing, now and then."""
        if self._source.random() * 100 >= self.batch.accesses:
            return
        is_idle = self._is_idle
        when = "idle" if is_idle else "jobs under way"
        if not is_idle and self._source.random() < 0.1:
            self._counts.clear_while_counting()
            accessed = "clear of the counters"
        else:
            accessed = self.registers.disturb(self._source, is_idle=is_idle)
        # Jobs may have ended meanwhile. If the block is still busy, it was so all the time.
        if is_idle or self.registers.field("STATUS", "busy"):
            self.tally.count("accesses", accessed, when)


def _anything(values: np.ndarray, positions: np.ndarray) -> None:
    """Take results that mean nothing."""
