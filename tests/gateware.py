"""Runs components in Amaranth's own simulator, which needs no compilation."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from amaranth.hdl import Cat, Elaboratable, Module, ResetInserter, ShapeLike, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from extremum.hdl.core import Core
from extremum.host.simulation.agents import PortRun
from extremum.host.simulation.stalls import Stalls


class Circuit(wiring.Component):
    """A component around the logic of a function, to test what is not a component itself.

    Parameters
    ----------
    inputs
        Shape of each input port, by name. A port called ``reset`` resets the registers.
    logic
        Given the module and the component with its inputs, adds the logic, and returns what a test
        is to note of it, by name: signals or expressions.
    """

    def __init__(
        self,
        inputs: Mapping[str, ShapeLike],
        logic: Callable[[Module, "Circuit"], Mapping[str, Any]],
    ):
        super().__init__({name: In(shape) for name, shape in inputs.items()})
        self.logic = Module()
        # A circuit without a register would have no clock.
        self.logic.d.sync += Signal().eq(1)
        self.outputs = logic(self.logic, self)

    if TYPE_CHECKING:  # the ports are known by name when the circuit is made

        def __getattr__(self, name: str) -> Any: ...

    def elaborate(self, platform):
        reset = getattr(self, "reset", None)
        return self.logic if reset is None else ResetInserter(reset)(self.logic)


def run(component: Elaboratable, bench: Callable, *others: Callable) -> None:
    """Run a bench, an async function of the simulator's context, on a component.

    The others run beside it, and are given up when it ends.
    """
    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    for other in others:
        simulator.add_testbench(other, background=True)
    simulator.run()


def watch(
    component: wiring.Component,
    clocks: Sequence[Mapping[str, int]],
    outputs: Mapping[str, object],
    settle: int = 0,
) -> list[dict[str, int]]:
    """Set ports clock by clock, and note what the outputs are in each clock.

    Parameters
    ----------
    component
        To run.
    clocks
        For each clock the ports to change, by name ("i.valid"); others stay as they are.
    outputs
        What to note, by name, as plain bits.
    settle
        Clocks to go on for after the last.
    """
    seen: list[dict[str, int]] = []
    ports = {name: port_of(component, name) for clock in clocks for name in clock}
    noted = {name: bits(port) for name, port in outputs.items()}

    async def bench(context):
        held: dict[str, int] = {}
        for clock in [*clocks, *[{}] * settle]:
            # The simulator works out what follows from each setting, even of the same value.
            for name, value in clock.items():
                if held.get(name) != value:
                    context.set(ports[name], value)
                    held[name] = value
            seen.append({name: context.get(port) for name, port in noted.items()})
            await context.tick()

    run(component, bench)
    return seen


def advance(
    clock: Mapping[str, int], rng: random.Random, *, is_idle: bool | None = None
) -> dict[str, int]:
    """Return a clock in which ``token`` and ``slot`` are replaced by the signals of `advance`.

    Those are the signals of :mod:`extremum.hdl.advance`. In a clock without a step ``restart`` has
    no meaning, so it is random there.

    Parameters
    ----------
    clock
        What stands on the ports.
    rng
        Source of what has no meaning.
    is_idle
        In a core whose lines tell the end of a job, whether no job is under way; None in others.
    """
    told = dict(clock)
    token, slot = told.pop("token"), told.pop("slot")
    if is_idle is None:
        restart, step = token if token or slot else rng.getrandbits(1), token | slot
    else:
        restart, step = int(not slot), slot | is_idle
    told |= {"advance.token": token, "advance.begin": token, "advance.restart": restart}
    return told | {"advance.slot": slot, "advance.step": step}


def port_of(component: wiring.Component, name: str) -> Value:
    """Return a port by its dotted name, as plain bits."""
    port = component
    for part in name.split("."):
        port = getattr(port, part)
    return bits(port)


def bits(value: object) -> Value:
    """Return a port as plain bits."""
    return Value.cast(value)  # pyright: ignore[reportArgumentType]


def pack(layout: data.Layout, fields: Mapping) -> int:
    """Return the bits of a structure, from its fields."""
    return layout.const(dict(fields)).as_bits()


def unpack(layout: data.Layout, word: int) -> dict[str, int]:
    """Return the fields of a structure of integers, from its bits."""
    return {str(name): word >> field.offset & ((1 << field.width) - 1) for name, field in layout}


@dataclass
class Streamed:
    """What a run of a core gave: results, the clocks in which they left, and those of the beats.

    Attributes
    ----------
    results
        The payloads of the output beats.
    given, taken
        For each output beat the clock in which it left; for each input beat that in which it was
        taken.
    statuses
        The core's status after each job was taken.
    empty
        Whether the status tells, after the last result, of an empty window in the last job.
    """

    results: list[int] = field(default_factory=list)
    given: list[int] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    empty: bool = False

    @property
    def cycles(self) -> int:
        """Clocks from the first beat taken to the last beat moved, both counted."""
        return max(self.given[-1], self.taken[-1]) - self.taken[0] + 1


class _Offer:
    """Sets a stream's valid and payload, together: the simulator works out each setting anew."""

    def __init__(self, port: Any):
        payload = bits(port.payload)
        self.ready = port.ready
        self._signals = Cat(payload, port.valid)
        self._width = len(payload)

    def put(self, context: Any, valid: bool, word: int) -> None:
        """Set the stream, to a word of which only the bits of the payload count."""
        context.set(self._signals, valid << self._width | word & ((1 << self._width) - 1))


def stream(core: Core, runs: Sequence[PortRun], quiet: int = 60) -> list[Streamed]:
    """Run a core as the benches of `tb` do, one run after the other without a reset between them.

    In each run all beats must be taken and all results given; ``valid`` and the payload must stay
    until a result is taken; and no result may come in the ``quiet`` clocks after the run. The core
    may be one without a job port.
    """
    outcomes: list[Streamed] = []
    job = getattr(core, "job", None)

    async def bench(context):
        for todo in runs:
            outcomes.append(await carry_out(context, todo))
            for _ in range(quiet):
                assert not context.get(core.o.valid), "a result too many"
                await context.tick()
            if job is not None:
                assert not context.get(core.status.busy)
                outcomes[-1].empty = bool(context.get(core.status.empty))

    async def carry_out(context, todo):
        found = Streamed()
        ports = [(_Offer(core.i), list(todo.beats), Stalls(todo.input_stalls, todo.seed))]
        if job is not None:
            ports.append((_Offer(job), list(todo.jobs), Stalls(todo.job_stalls, todo.seed + 2)))
        gives, takes, payload = core.o.valid, core.o.ready, bits(core.o.payload)
        output_stalls, offered = Stalls(todo.output_stalls, todo.seed + 1), set()
        waiting, clock, idle = None, 0, 0
        while len(found.results) < todo.results or any(items for _, items, _ in ports):
            moved = []
            for number, (offer, items, stalls) in enumerate(ports):
                if number not in offered and items and not stalls():
                    offered.add(number)
                offer.put(
                    context, number in offered, items[0] if number in offered else stalls.word()
                )
                if number in offered and context.get(offer.ready):
                    moved.append(number)
            if len(todo.jobs) == 1 and found.taken:
                assert context.get(core.status.busy), "not busy before the last result"
            ready = not output_stalls()
            context.set(takes, ready)
            if context.get(gives):
                word = context.get(payload)
                assert waiting in (None, word), "the output changed before it was taken"
                waiting = None if ready else word
                if ready:
                    found.results.append(word)
                    found.given.append(clock)
            else:
                assert waiting is None, "the output went before it was taken"
            await context.tick()
            for number in moved:
                offered.remove(number)
                ports[number][1].pop(0)
                if number == 0:
                    found.taken.append(clock)
                else:
                    found.statuses.append(context.get(bits(core.status)))
            idle = 0 if moved or (ready and found.given[-1:] == [clock]) else idle + 1
            clock += 1
            assert idle < todo.watchdog, f"nothing moved for {idle} clocks"
            assert len(found.results) <= todo.results
        context.set(core.i.valid, 0)
        if job is not None:
            context.set(job.valid, 0)
        return found

    run(core, bench)
    return outcomes
