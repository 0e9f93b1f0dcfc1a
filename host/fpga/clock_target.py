"""The smallest core that reaches a clock: the settings of ``pipelining`` are measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from extremum.hdl.config import PIPELINING, CoreConfig
from extremum.host.errors import SynthesisError
from extremum.host.fpga.devices import Device
from extremum.host.fpga.measure import DEFAULT_SEEDS, Measurement, measure

__all__ = ["Found", "smallest_for"]


@dataclass(frozen=True)
class Found:
    """What was found for a clock.

    Attributes
    ----------
    clock
        The clock that was wanted, in MHz.
    config
        The core, with the setting that was chosen.
    measured
        The measurement of each setting that was tried, by its name.
    """

    clock: float
    config: CoreConfig
    measured: dict[str, Measurement]

    @property
    def chosen(self) -> Measurement:
        """The measurement of the core that was chosen."""
        return self.measured[self.config.pipelining]

    @property
    def summary(self) -> str:
        """What was chosen, and what was measured for that, in one line."""
        return (
            f"{self.config.pipelining} is the smallest that reaches {self.clock:g} MHz: "
            f"{told(self.measured)}"
        )

    def as_dict(self) -> list[dict[str, Any]]:
        """Return what was measured as plain data for JSON."""
        return [
            {
                "pipelining": name,
                "comb": found.comb,
                "ff": found.ff,
                "fmax_mhz": round(found.fmax, 2),
            }
            for name, found in self.measured.items()
        ]


def told(measured: dict[str, Measurement]) -> str:
    """Return measurements of settings in one line."""
    return ", ".join(
        f"{name} {found.fmax:.1f} MHz ({found.comb} COMB, {found.ff} FF)"
        for name, found in measured.items()
    )


def smallest_for(
    clock: float,
    config: CoreConfig,
    device: Device,
    *,
    seeds: Sequence[int] = DEFAULT_SEEDS,
    frequency: int | None = None,
    say: Callable[[str], None] = lambda _: None,
    bus: str = "none",
) -> Found:
    """Measure the settings, and choose the smallest of those whose median Fmax reaches a clock.

    Area is look-up tables and flip-flops together: a core with fewer registers has fewer flip-flops
    and yet may have more look-up tables. The fast core is always the largest, and is measured only
    if no other reaches the clock.

    Parameters
    ----------
    clock
        The clock that is wanted, in MHz.
    config
        The core; its own setting does not matter.
    device, seeds, frequency, say, bus
        See :func:`extremum.host.fpga.measure.measure`.

    Raises
    ------
    SynthesisError
        No setting reaches the clock, or a tool refused the core.
    ToolError
        A tool is missing or too old.
    """
    measured: dict[str, Measurement] = {}
    reached: list[tuple[int, CoreConfig]] = []
    for setting in PIPELINING:
        if setting == "fast" and reached:
            break
        core = replace(config, pipelining=setting)

        def tell(step: str, setting: str = setting) -> None:
            say(f"{setting}: {step}")

        measured[setting] = found = measure(core, device, seeds, frequency, tell, bus=bus)
        if found.fmax >= clock:
            reached.append((device.area(found.comb, found.ff), core))
    if reached:
        return Found(clock, min(reached, key=itemgetter(0))[1], measured)
    raise SynthesisError(
        f"no setting of pipelining reaches {clock:g} MHz on {device.title}: {told(measured)}"
    )
