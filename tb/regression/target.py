"""What a case of the regression runs on: a core, or the AXI block around it."""

from __future__ import annotations

from dataclasses import dataclass

from extremum.hdl.config import CoreConfig
from extremum.hdl.registers import job_shapes


@dataclass(frozen=True)
class Target:
    """What a case runs on.

    Parameters
    ----------
    name
        Its name in the pool, or among the cores drawn at random.
    config
        Configuration of the core.
    bus
        ``"none"``: the bare core. ``"axi"``: the AXI block around it.
    only
        The only operator that it was built for, and the operator's arguments as JSON; None if it
        was built for many.
    """

    name: str
    config: CoreConfig
    bus: str = "none"
    only: tuple[str, str] | None = None

    @property
    def has_jobs(self) -> bool:
        """Whether the core has a job port; without one it has a status neither."""
        return bool(job_shapes(self.config))
