"""The simulated hardware as a set of functions, with the signatures of the golden model."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from pathlib import Path
from threading import local
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from extremum.hdl.config import CoreConfig
from extremum.host import checks
from extremum.host.errors import WaveformError
from extremum.host.operator_functions import OperatorFunctions
from extremum.host.plan import Plan, plan
from extremum.host.plan_runner import JobResults, RunSettings, report_of
from extremum.host.progress import Progress, TellProgress
from extremum.host.report import Report
from extremum.host.session import Session
from extremum.host.tools import BACKEND_TOOLS
from extremum.host.turns import Turns
from extremum.model import DataType, Pooling, Reduction

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

BACKENDS = tuple(BACKEND_TOOLS)
"""What can carry out an operator: simulations of the gateware, and the golden model."""


class Accelerator(OperatorFunctions):
    """A core that runs in a simulator, as a set of functions.

    Threads may share an accelerator: their calls wait for each other. :attr:`report` is then the
    report of whichever call ended last. To simulate in parallel, give each thread an accelerator
    of its own.

    A copy, forked, pickled or made by ``copy``, has no simulation; its first operator starts
    one. It leaves the simulation of its original alone, so if that writes waveforms, the copy is
    refused: they are one file.

    Parameters
    ----------
    data_types
        Types that the core is built for: names, NumPy types or ``DataType`` members. Or a whole
        :class:`extremum.hdl.config.CoreConfig`, beside which no other parameter of the core may
        be given.
    lanes
        Elements per beat, 1 to 64; 1 by default.
    max_window, max_dilation, max_line, max_plane, coordinate_width
        Limits of the core, with the defaults of :class:`extremum.hdl.config.CoreConfig`. What
        exceeds them is tiled, or gathered by the host, and the report's notes say so.
    pipelining
        ``"small"``, ``"balanced"`` or ``"fast"``, which give the same results. It is ``"small"`` by
        default, since a core with fewer registers compiles sooner and simulates several times as
        fast; a ``CoreConfig`` brings its own setting, ``"fast"`` by default.
    operators, index_width, padding, fixed
        What the core is built without: see :class:`extremum.hdl.config.CoreConfig`.
    backend
        ``"native"``: the gateware, compiled to machine code. ``"verilator"`` or ``"icarus"``: the
        gateware under cocotb, in that simulator; slower by far. ``"model"``: the golden model, and
        no hardware.
    bus
        ``"none"``: the bare core. ``"axi"``: the AXI block around it, whose registers and packets
        :class:`extremum.host.driver.block.BlockDriver` writes and reads; the report is a
        :class:`extremum.host.report.BlockReport`. Not with backend ``"model"``.
    waves
        VCD file to write; its name ends in ``.vcd``. It is complete when the accelerator is closed.
    wave_window
        First and last clock to write, counted from the end of reset; all of them, if None. If the
        first never comes, :meth:`close` raises an error. Backend ``"native"`` only.
    watchdog
        Clocks without any transfer after which a job is given up; by default more than any job
        of its size can need. Not with backend ``"model"``.
    input_stalls, output_stalls
        Percentage of clocks in which the source of beats, the sink of results rests, 0 to 99.
        Not with backend ``"model"``.
    seed
        Selects the sequence of stalls.
    progress
        Called now and then with a :class:`extremum.host.progress.Progress`. An exception that it
        raises stops the operator. It must not use the accelerator that calls it.

    Attributes
    ----------
    config : CoreConfig
        What the core is built for.
    backend, bus : str
        As they were given.
    report : Report or None
        What the last operator took; None before the first.

    Raises
    ------
    TypeError, ValueError
        A parameter is not what it should be.
    ToolError
        The backend needs a tool that is missing or too old. Raised by the first operator.

    Examples
    --------
    >>> with Accelerator(("int8",), lanes=4) as accelerator:
    ...     index = accelerator.argmax(np.array([3, 7, 7, 1], np.int8))
    >>> index, accelerator.report.beats_in
    (array([1], dtype=uint32), 4)
    """

    def __init__(
        self,
        data_types: Iterable[DTypeLike | DataType] | DTypeLike | DataType | CoreConfig = (
            "float32",
        ),
        *,
        lanes: int | None = None,
        max_window: tuple[int, int, int] | None = None,
        max_dilation: tuple[int, int, int] | None = None,
        max_line: int | None = None,
        max_plane: int | None = None,
        coordinate_width: int | None = None,
        operators: tuple[str, ...] | None = None,
        index_width: int | None = None,
        padding: bool | None = None,
        fixed: tuple[tuple[str, int], ...] | None = None,
        pipelining: str | None = None,
        backend: str = "native",
        bus: str = "none",
        waves: str | Path | None = None,
        wave_window: tuple[int, int] | None = None,
        watchdog: int | None = None,
        input_stalls: int = 0,
        output_stalls: int = 0,
        seed: int = 0,
        progress: TellProgress | None = None,
    ) -> None:
        if backend not in BACKENDS:
            raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, not {backend!r}")
        checks.check_bus(bus, backend)
        checks.check_simulation(backend, waves, wave_window, watchdog)
        checks.check_stalls(backend, input_stalls=input_stalls, output_stalls=output_stalls)
        checks.check_seed(seed)
        checks.check_progress(progress)
        parameters = {
            "lanes": lanes,
            "max_window": max_window,
            "max_dilation": max_dilation,
            "max_line": max_line,
            "max_plane": max_plane,
            "coordinate_width": coordinate_width,
            "operators": operators,
            "index_width": index_width,
            "padding": padding,
            "fixed": fixed,
            "pipelining": pipelining,
        }
        given = {name: value for name, value in parameters.items() if value is not None}
        self.config = checks.core_config(data_types, given)
        self.backend, self.bus = backend, bus
        self.report: Report | None = None
        shown = None if wave_window is None else (int(wave_window[0]), int(wave_window[1]))
        self._session = Session(self.config, backend, bus, waves, shown)
        self._settings = RunSettings(
            None if watchdog is None else int(watchdog),
            int(input_stalls),
            int(output_stalls),
            int(seed),
        )
        self._progress = progress
        self._turns = Turns()
        # Of each thread: the report of its last operator, and whether it wants warnings.
        self._own = local()

    def __enter__(self) -> Accelerator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except WaveformError:
            if value is None:  # an exception that is under way says more
                raise

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name != "_own"}
        return kept | {"_session": copy(self._session), "_turns": Turns()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _own=local())

    def close(self) -> None:
        """End the simulation; the next operator starts a new one.

        Raises
        ------
        WaveformError
            Not all waveforms could be written, or the clocks of ``wave_window`` never came.
        """
        with self._turns.take():
            self._session.close()

    def prepare(self) -> None:
        """Compile the core and start the simulation now, not at the first operator.

        Raises
        ------
        ToolError
            A tool is missing or too old.
        SimulationError
            The core was refused, or another accelerator writes the same file of waveforms.
        """
        with self._turns.take():
            if self.backend != "model":
                self._session.start(self._tell)

    @overload
    def run(self, problem: Reduction, x: ArrayLike) -> NDArray[Any]: ...

    @overload
    def run(
        self, problem: Reduction | Pooling, x: ArrayLike
    ) -> NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]: ...

    def run(
        self, problem: Reduction | Pooling, x: ArrayLike
    ) -> NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]:
        """Carry out an operator and set :attr:`report`.

        Parameters
        ----------
        problem
            The operator.
        x
            Tensor of the operator's type and sizes.

        Returns
        -------
        ndarray or tuple of ndarray
            What ``problem.evaluate(x)`` returns, bit for bit: values and indices if it has both.

        Raises
        ------
        TypeError
            ``problem`` is no operator, or the tensor is not of its type.
        ValueError
            It is not of the operator's sizes, or the core was not built for the operator.
        ToolError
            A tool is missing or too old.
        SimulationError
            The simulator crashed, or the core hung or broke a stream rule; or, as `WaveformError`,
            the waveforms could not be written.
        """
        tensor = checks.tensor_for(problem, x)
        with self._turns.take():
            result, report = self._run(problem, tensor)
            self.report = self._own.report = report
        if getattr(self._own, "warns", True):
            checks.warn_of_empty_windows(report.empty_windows)
        return result

    @overload
    def run_reported(
        self, problem: Reduction, x: ArrayLike, *, warns: bool = True
    ) -> tuple[NDArray[Any], Report]: ...

    @overload
    def run_reported(
        self, problem: Reduction | Pooling, x: ArrayLike, *, warns: bool = True
    ) -> tuple[NDArray[Any] | tuple[NDArray[Any], NDArray[Any]], Report]: ...

    def run_reported(
        self, problem: Reduction | Pooling, x: ArrayLike, *, warns: bool = True
    ) -> tuple[NDArray[Any] | tuple[NDArray[Any], NDArray[Any]], Report]:
        """Do as :meth:`run`, and return the operator's own report beside its result.

        :attr:`report` is that of the last operator, of whichever thread. The report counts the
        empty windows, so a caller who reads it may leave out the warning of them.
        """
        try:
            self._own.warns = warns
            result = self.run(problem, x)
        finally:
            self._own.warns = True
        return result, self._own.report

    def run_jobs(self, todo: Plan, x: NDArray[Any], numbers: Iterable[int]) -> list[JobResults]:
        """Carry out some jobs of a plan for this core, which others complete.

        It is for a simulated core without a bus, and without stalls; :attr:`report` stays.

        Raises
        ------
        ValueError
            The plan is for another core, or the accelerator has a bus.
        ToolError, SimulationError
            As :meth:`run`.
        """
        with self._turns.take():
            return self._session.run_jobs(todo, x, numbers, self._tell)

    def _run(self, problem: Reduction | Pooling, tensor: NDArray[Any]) -> tuple[Any, Report]:
        """Carry out an operator while no other thread uses the simulation."""
        self._tell(Progress("planning"))
        todo = plan(problem, self.config)
        todo.check_fixed()
        if self.backend == "model":
            return problem.compute(tensor), report_of(todo, None, todo.empty_windows)
        results, took, empty_windows = self._session.run(todo, tensor, self._tell, self._settings)
        return results.finish(), report_of(todo, took, empty_windows)

    def _tell(self, progress: Progress) -> None:
        if self._progress is not None:
            self._progress(progress)
