"""The FIFO in which results wait to leave the core, slots to enter it, and commands their turn."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from extremum.hdl.registered_memory import MEMORY_LATENCY, RegisteredMemory
from extremum.hdl.timing import TimingParameters


def depth(results: int) -> int:
    """Return the depth of a queue that must hold ``results`` beats: a power of two."""
    return 1 << ceil_log2(max(results, 2))


def latency(depth: int, parameters: TimingParameters) -> int:
    """Return the clocks from writing a beat to an empty queue until the beat is at the output."""
    if depth == 2:
        return 1
    return 1 + (MEMORY_LATENCY if depth > parameters.lookup_queue else 1)


class QueuePorts(wiring.Component):
    """The ports of a FIFO that does not tell whether it is full.

    Whoever writes to it counts credits, and never writes more than it holds.

    Parameters
    ----------
    width
        Bits of a beat.
    depth
        How many beats it holds: a power of two, at least 2.
    parameters
        The timing parameters.
    writes
        How many copies ``write`` has; more than one only for a queue in parts.

    Members
    -------
    write : In(writes)
        There is a beat on ``i``.
    i : In(width)
        The beat. It stays until the next one.
    valid : Out(1)
        There is a beat on ``o``.
    o : Out(width)
        The oldest beat. It stays until it is taken.
    ready : In(1)
        The beat is taken, if there is one.
    """

    write: Signal
    i: Signal
    valid: Signal
    o: Signal
    ready: Signal

    def __init__(self, width: int, depth: int, parameters: TimingParameters, writes: int = 1):
        self.depth = depth
        self.parameters = parameters
        super().__init__(
            {
                "write": In(writes),
                "i": In(width),
                "valid": Out(1),
                "o": Out(width),
                "ready": In(1),
            }
        )


class Queue(QueuePorts):
    """A FIFO whose output is a register.

    A queue of two beats needs no memory: the second beat waits on ``i``, where it stays until the
    next one. A queue of more beats has a small memory, and a deep queue has a block memory whose
    own register is the output.

    Latency: :func:`latency` clocks. Throughput: one beat per clock.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.depth > self.parameters.lookup_queue:
            self._read_ahead(m)
            return m
        free = ~self.valid | self.ready
        waiting, oldest = self._wait(m, free) if self.depth == 2 else self._store(m, free)
        with m.If(free):
            m.d.sync += [self.valid.eq(waiting), self.o.eq(oldest)]
        return m

    def _wait(self, m: Module, free: Value) -> tuple[Value, Value]:
        """Return whether a beat waits for the output register, and that beat: the one on ``i``."""
        kept = Signal()
        waiting = self.write | kept
        m.d.sync += kept.eq(waiting & ~free)
        return waiting, self.i

    def _store(self, m: Module, free: Value) -> tuple[Value, Value]:
        """Return whether a beat waits for the output register, and the oldest beat in memory."""
        m.submodules.memory = memory = Memory(
            shape=len(self.i), depth=self.depth, init=[], attrs={"ram_style": "distributed"}
        )
        write, read = memory.write_port(), memory.read_port(domain="comb")
        newest, oldest, waiting = self._count(m, free)
        m.d.comb += [
            write.addr.eq(newest),
            write.data.eq(self.i),
            write.en.eq(self.write),
            read.addr.eq(oldest),
        ]
        return waiting, read.data

    def _read_ahead(self, m: Module) -> None:
        """Keep beats in a block memory, whose registers hold the oldest two for the output.

        ``is_read`` is set while the register of the read port holds a beat, and ``both`` while that
        and the output register do.
        """
        m.submodules.memory = memory = RegisteredMemory(len(self.i), self.depth)
        is_read, both = Signal(), Signal()
        # Each register takes its next word as soon as its own word goes on.
        output_free = ~self.valid | self.ready
        read_free = ~both | self.ready
        newest, oldest, waiting = self._count(m, read_free)
        m.d.comb += [
            memory.write_address.eq(newest),
            memory.write_data.eq(self.i),
            memory.write_enable.eq(self.write),
            memory.read_address.eq(oldest),
            memory.read_enable.eq(read_free),
            memory.output_enable.eq(output_free),
            self.o.eq(memory.read_data),
        ]
        with m.If(read_free):
            m.d.sync += is_read.eq(waiting)
        with m.If(output_free):
            m.d.sync += self.valid.eq(is_read)
        m.d.sync += both.eq((waiting | ~read_free) & (is_read | ~output_free))

    def _count(self, m: Module, free: Value) -> tuple[Signal, Signal, Signal]:
        """Return the addresses of the newest and the oldest beat, and whether a beat is waiting.

        The oldest beat is taken whenever there is one and ``free`` is set.
        """
        newest, oldest, following = (Signal(range(self.depth), init=init) for init in (0, 0, 1))
        waiting = Signal()
        m.d.sync += newest.eq(newest + self.write)
        # ``free`` is known late in the clock, so it leads to enables alone.
        with m.If(self.write | free):
            m.d.sync += waiting.eq(self.write | (waiting & (following != newest)))
        with m.If(waiting & free):
            m.d.sync += [oldest.eq(following), following.eq(following + 1)]
        return newest, oldest, waiting


class QueueInParts(QueuePorts):
    """Several :class:`Queue` side by side, each with some bits of every beat.

    All parts are told the same, so they hold the same beats. But each counts for itself: only
    ``write`` and ``ready`` must reach all of them within a clock, and no gates behind these.

    Latency and throughput are those of :class:`Queue`.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parts = self.parameters.queue_parts
        bits = -(-len(self.i) // parts)
        for number, low in enumerate(range(0, len(self.i), bits)):
            word, oldest = self.i[low : low + bits], self.o[low : low + bits]
            m.submodules += (part := Queue(len(word), self.depth, self.parameters))
            m.d.comb += [
                part.write.eq(self.write[number * len(self.write) // parts]),
                part.i.eq(word),
                part.ready.eq(self.ready),
                oldest.eq(part.o),
            ]
            if not low:
                m.d.comb += self.valid.eq(part.valid)
        return m


def result_queue(
    width: int, depth: int, parameters: TimingParameters, writes: int = 1
) -> Queue | QueueInParts:
    """Return a queue for the result beats of a core, in as many parts as it has for its clock."""
    kind = Queue if parameters.queue_parts == 1 else QueueInParts
    return kind(width, depth, parameters, writes)
