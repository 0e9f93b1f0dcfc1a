"""`extremum fpga`: what a core costs on an FPGA."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from extremum.hdl.axi.latency import latency
from extremum.hdl.config import CoreConfig
from extremum.hdl.verilog import TOPS
from extremum.host.cli import core_options, printing, progress_bar, shared_options
from extremum.host.cli.option_types import INTEGERS
from extremum.host.fpga.clock_target import smallest_for
from extremum.host.fpga.critical_path import CriticalPath
from extremum.host.fpga.devices import DEFAULT_DEVICE, DEVICES, Device
from extremum.host.fpga.measure import DEFAULT_SEEDS, Measurement, measure, record

__all__ = ["fpga"]


MOST_SEED = (1 << 31) - 1
"""The largest seed that nextpnr takes."""

MOST_FREQUENCY = 10_000
"""In MHz. ABC is told half of the period in whole picoseconds, of which few are left above this."""


@click.command()
@core_options.core_options
@click.option(
    "--device",
    type=click.Choice(list(DEVICES)),
    show_default=f"that of --config, or {DEFAULT_DEVICE}",
    help="The part to place the core on.",
)
@click.option(
    "--seeds",
    type=INTEGERS,
    default=",".join(map(str, DEFAULT_SEEDS)),
    show_default=True,
    help="Seeds of the placements; the median of their clocks counts.",
)
@click.option(
    "--frequency",
    type=click.IntRange(1, MOST_FREQUENCY),
    show_default=", ".join(f"{name}: {device.frequency}" for name, device in DEVICES.items())
    + "; half for a small core",
    help="The clock that synthesis, placement and routing aim at, in MHz.",
)
@click.option(
    "--bus",
    type=click.Choice(list(TOPS)),
    default="none",
    show_default=True,
    help="Measure the bare core, or the AXI block around it.",
)
@core_options.clock_option
@shared_options.json_option
def fpga(
    *,
    device: str | None,
    seeds: int | tuple[int, ...],
    frequency: int | None,
    bus: str,
    clock: float | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Synthesise a core, place and route it, and print its area, clock and critical path."""
    core_options.refuse_two_settings(options, clock)
    asked = core_options.configuration_of(options)
    config, device = asked.config, device or core_options.device_of(asked) or DEFAULT_DEVICE
    listed = (seeds,) if isinstance(seeds, int) else seeds
    if len(set(listed)) != len(listed) or not 0 <= min(listed) <= max(listed) <= MOST_SEED:
        raise click.UsageError(
            f"--seeds must be different numbers from 0 to {MOST_SEED}, not {seeds}"
        )
    part = DEVICES[device]
    found = None
    with progress_bar.status_line() as say:
        if clock is None:
            measured = measure(config, part, listed, frequency, say, bus=bus)
        else:
            found = smallest_for(
                clock, config, part, seeds=listed, frequency=frequency, say=say, bus=bus
            )
            config, measured = found.config, found.chosen
    name = core_options.name_of(options)
    if as_json:
        told = record(name, config, part, measured, bus=bus)
        told |= {"command": "fpga", "device": device}
        if found is not None:
            told |= {"clock_mhz": clock, "settings": found.as_dict()}
        click.echo(printing.dumps(told))
    else:
        if found is not None:
            click.echo(found.summary)
        click.echo("\n".join(_lines(name, config, part, measured, bus)))


def _lines(
    name: str, config: CoreConfig, device: Device, measured: Measurement, bus: str
) -> Iterator[str]:
    """Give the measurement for people."""
    seeds = ", ".join(str(run.seed) for run in measured.runs)
    each = ", ".join(f"{run.fmax:.1f}" for run in measured.runs)
    rate = measured.elements_per_second(config.lanes) / 1e6
    lanes = f"{config.lanes} lane{'s'[: config.lanes > 1]}"
    yield f"{name}{', AXI block' if bus == 'axi' else ''} on {device.title}"
    yield f"  pipelining     {config.pipelining}"
    yield f"  COMB           {measured.comb}"
    yield f"  LUT4           {measured.lut4}"
    yield f"  FF             {measured.ff}"
    yield f"  block RAM      {measured.block_ram}"
    yield f"  latency        {latency(config, bus)} clocks"
    yield f"  Fmax           {measured.fmax:.1f} MHz, the median of seeds {seeds}: {each}"
    if device.clock_limit is not None and measured.fmax > device.clock_limit:
        yield f"{'':17}the clock tree is specified to {device.clock_limit}: fabric only"
    yield f"  elements       {rate:.1f} million per second: {lanes}, one beat per clock"
    yield from _path_lines(measured.median.critical_path)


def _path_lines(path: CriticalPath) -> Iterator[str]:
    total = path.logic + path.routing
    yield f"  critical path  {total:.2f} ns: logic {path.logic:.2f}, routing {path.routing:.2f}"
    for hop in path.hops:
        yield f"    {hop.logic + hop.routing:5.2f}  {hop.name}"
