"""Runs a component in Amaranth's own simulator: clocks in, clocks out, nothing compiled."""

from collections.abc import Callable, Mapping, Sequence

from amaranth.hdl import Value
from amaranth.lib import data, wiring
from amaranth.sim import Simulator


def run(component: wiring.Component, bench: Callable) -> None:
    """Run a bench, an async function of the simulator's context, on a component."""
    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def watch(
    component: wiring.Component,
    clocks: Sequence[Mapping[str, int]],
    outputs: Mapping[str, Value],
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
        What to note, by name.
    settle
        Clocks to go on for after the last.
    """
    seen: list[dict[str, int]] = []
    ports = {name: _port(component, name) for clock in clocks for name in clock}

    async def bench(context):
        for clock in [*clocks, *[{}] * settle]:
            for name, value in clock.items():
                context.set(ports[name], value)
            seen.append({name: context.get(port) for name, port in outputs.items()})
            await context.tick()

    run(component, bench)
    return seen


def _port(component: wiring.Component, name: str) -> Value:
    port = component
    for part in name.split("."):
        port = getattr(port, part)
    return Value.cast(port)  # pyright: ignore[reportArgumentType]


def bits(value: object) -> Value:
    """A port as plain bits."""
    return Value.cast(value)  # pyright: ignore[reportArgumentType]


def pack(layout: data.Layout, fields: Mapping) -> int:
    """The bits of a structure, from its fields."""
    return layout.const(dict(fields)).as_bits()


def unpack(layout: data.Layout, word: int) -> dict[str, int]:
    """The fields of a structure of integers, from its bits."""
    return {str(name): word >> field.offset & ((1 << field.width) - 1) for name, field in layout}
