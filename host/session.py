"""The simulation that an accelerator runs on: started for its first operator, ended by an error."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.host.driver.block import BlockDriver
from extremum.host.errors import SimulationError, WaveformError
from extremum.host.plan import Plan
from extremum.host.plan.results import Results
from extremum.host.plan_runner import (
    BlockFigures,
    JobResults,
    RunSettings,
    run_jobs,
    run_plan,
    run_plan_on_block,
)
from extremum.host.progress import Progress, TellProgress
from extremum.host.simulation.backend import Simulator
from extremum.host.simulation.cocotb_block import CocotbBlock
from extremum.host.simulation.cocotb_simulator import CocotbSimulator
from extremum.host.simulation.native import NativeSimulator
from extremum.host.simulation.native_block import NativeBlock

Simulation = Simulator | NativeBlock | CocotbBlock
"""What simulates: a bare core, or a block on one of the two kinds of backends."""


_writers: WeakValueDictionary[str, Session] = WeakValueDictionary()
"""The session that claimed each file of waveforms last, by the file's path without links.

It still writes the file as long as it is starting a simulation, or has one.
"""

_claiming = Lock()
"""Held while a session looks a file up in :data:`_writers` and enters itself, so that no two do."""


class Session:
    """Starts and ends the simulations of one core or block, one after the other.

    After an error the state of a simulation cannot be trusted, so the simulation is ended, and the
    next operator starts a new one. A forked or pickled copy of a session starts a simulation of its
    own, too: it neither uses nor ends that of its original.

    Parameters
    ----------
    config
        What the core is built for.
    backend, bus, waves, wave_window
        See :class:`extremum.host.accelerator.Accelerator`.

    Attributes
    ----------
    simulation : Simulation or None
        The simulation that runs now; None before the start and after the end.
    """

    def __init__(
        self,
        config: CoreConfig,
        backend: str,
        bus: str,
        waves: str | Path | None,
        wave_window: tuple[int, int] | None,
    ) -> None:
        self._config, self._backend, self._bus = config, backend, bus
        self._waves = None if waves is None else Path(waves)
        self._wave_window = wave_window
        self.simulation: Simulation | None = None
        self._driver: BlockDriver | None = None
        self._process = os.getpid()
        self._original_writes = self._is_starting = False

    def __getstate__(self) -> dict[str, Any]:
        writes = self._waves is not None and self.simulation is not None
        return self.__dict__ | {
            "simulation": None, "_driver": None, "_is_starting": False,
            "_original_writes": self._original_writes or writes,
        }  # fmt: skip

    def start(self, tell: TellProgress) -> Simulation:
        """Return the simulation; compile the core and start it, if this process has none.

        Parameters
        ----------
        tell
            Called with the stages of a compilation.

        Raises
        ------
        ToolError
            A tool is missing or too old.
        SimulationError
            The core was refused, or another accelerator writes the same file of waveforms.
        """
        if self._original_writes:
            raise SimulationError(
                f"{self._waves} is written by the accelerator that this one is a copy of: make an "
                "Accelerator with another file"
            )
        if self.simulation is not None and self._process != os.getpid():
            if self._waves is not None:
                raise SimulationError(
                    f"{self._waves} is written by the process that this one was forked from: "
                    "make an Accelerator with another file here"
                )
            self.close()
        if self.simulation is None:
            self._claim(self._waves)
            try:
                self.simulation = self._simulation(tell)
            finally:
                self._is_starting = False
            self._process = os.getpid()
        return self.simulation

    def _claim(self, waves: Path | None) -> None:
        """Enter this session as the writer of a file of waveforms; ``waves`` is None for no file.

        It counts as starting from here on, since compiling a core takes seconds, in which another
        thread may want the same file.

        Raises
        ------
        SimulationError
            Another session writes the file.
        """
        if waves is None:
            self._is_starting = True
            return
        place = os.path.realpath(waves)
        with _claiming:
            writer = _writers.get(place, self)
            if writer is not self and (writer._is_starting or writer.simulation is not None):
                raise SimulationError(
                    f"{waves} is written by another accelerator: close that one first, or make an "
                    "Accelerator with another file"
                )
            _writers[place], self._is_starting = self, True

    def _simulation(self, tell: TellProgress) -> Simulation:
        """Compile the core, unless it is kept, and start the simulation."""

        def tell_stage(stage: str) -> None:
            tell(Progress("compiling", stage=stage))

        if self._backend == "native":
            native = NativeBlock if self._bus == "axi" else NativeSimulator
            return native(self._config, self._waves, self._wave_window, tell=tell_stage)
        cocotb = CocotbBlock if self._bus == "axi" else CocotbSimulator
        return cocotb(self._config, self._backend, self._waves, tell=tell_stage)

    def run(
        self, todo: Plan, tensor: np.ndarray, tell: TellProgress, settings: RunSettings
    ) -> tuple[Results, int | BlockFigures, int]:
        """Run a plan; return the results, what it took, and how many windows were empty.

        Parameters
        ----------
        todo
            Plan for this core.
        tensor
            The operator's input.
        tell
            Called now and then with how far the operator has come.
        settings
            Its watchdog and stalls.

        Returns
        -------
        tuple
            The results; the clocks of a core, or the figures of a block; the number of empty
            windows.

        Raises
        ------
        ToolError, SimulationError
            The simulation could not be started, or failed. Whatever the exception, the simulation
            has been ended.
        """
        try:
            results, took = self._carry_out(todo, tensor, tell, settings)
            return results, took, results.count_empty_windows()
        except BaseException:
            self._abandon()
            raise

    def _carry_out(
        self, todo: Plan, tensor: np.ndarray, tell: TellProgress, settings: RunSettings
    ) -> tuple[Results, int | BlockFigures]:
        simulation = self.start(tell)
        if isinstance(simulation, (NativeBlock, CocotbBlock)):
            if self._driver is None:
                self._driver = BlockDriver(simulation, self._config)
            return run_plan_on_block(
                self._driver, simulation, todo, tensor, tell, settings=settings
            )
        return run_plan(simulation, todo, tensor, tell, settings=settings)

    def run_jobs(
        self, todo: Plan, tensor: np.ndarray, numbers: Iterable[int], tell: TellProgress
    ) -> list[JobResults]:
        """Run some jobs of a plan on a bare core, without stalls.

        Parameters
        ----------
        todo
            Plan for this core.
        tensor
            The operator's input.
        numbers
            Places of the jobs in ``todo.jobs``.
        tell
            Called with the stages of a compilation.

        Returns
        -------
        list of JobResults
            In the order of ``numbers``.

        Raises
        ------
        ValueError
            The session simulates a block, or the plan is for another core.
        ToolError, SimulationError
            As :meth:`run`.
        """
        if todo.config != self._config:
            raise ValueError("the plan is for another core: plan for the accelerator's config")
        simulation = self.start(tell)
        if isinstance(simulation, (NativeBlock, CocotbBlock)):
            raise ValueError("bus must be 'none': jobs of a block follow each other")
        try:
            return run_jobs(simulation, todo, tensor, numbers)
        except BaseException:
            self._abandon()
            raise

    def close(self) -> None:
        """End the simulation, if there is one.

        Raises
        ------
        WaveformError
            Not all waveforms could be written, or none. The simulation has ended all the same.
        """
        simulation, self.simulation, self._driver = self.simulation, None, None
        if simulation is not None:
            simulation.close()

    def _abandon(self) -> None:
        """End the simulation after an error; that waveforms are missing is not told besides."""
        with suppress(WaveformError):
            self.close()
