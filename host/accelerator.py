"""The simulated hardware as a set of functions, with the signatures of the golden model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from extremum.hdl.config import CoreConfig
from extremum.host import checks
from extremum.host.driver import pack_beats, unpack_results
from extremum.host.errors import SimulationError
from extremum.host.native import NativeSimulator
from extremum.host.plan import Plan, plan
from extremum.host.results import Results
from extremum.host.simulators import Simulator
from extremum.host.tools import BACKEND_TOOLS
from extremum.model import (
    AxisDirection,
    DataType,
    EmptyWindowWarning,
    Pooling,
    ReduceFunction,
    Reduction,
    as_tensor,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

    from extremum.model.checks import Integers
    from extremum.model.descriptors import OperatorDesc

BACKENDS = tuple(BACKEND_TOOLS)
"""What can carry out an operator: simulations of the gateware, and the golden model."""

_WATCHDOG_CLOCKS = 10_000


@dataclass(frozen=True)
class Report:
    """What the last operator took.

    Parameters
    ----------
    jobs
        Jobs that ran.
    beats_in, beats_out
        Beats that they took and gave.
    cycles
        Clocks, as counted in the simulation, from a job's first beat taken to its last beat
        given (or taken, should that come later), summed over jobs. None without a simulation.
    predicted_cycles
        The same, without stalls, as the plan predicts it.
    empty_windows
        Pooling windows that hold no element.
    notes
        What exceeded the core, and what was done about it.
    """

    jobs: int
    beats_in: int
    beats_out: int
    cycles: int | None
    predicted_cycles: int
    empty_windows: int
    notes: tuple[str, ...] = ()

    @property
    def utilization(self) -> float | None:
        """``max(beats_in, beats_out) / cycles``: 1 if a beat moved in every clock."""
        return max(self.beats_in, self.beats_out) / self.cycles if self.cycles else None


class Accelerator:
    """A core that runs in a simulator.

    Parameters
    ----------
    data_types
        Types that the core is built for: names, NumPy types or ``DataType`` members.
    lanes
        Elements per beat, 1 to 64.
    backend
        ``"native"``: the gateware, compiled to machine code. ``"verilator"`` or ``"icarus"``: the
        gateware under cocotb, in that simulator; slower by far. ``"model"``: the golden model, and
        no hardware.
    waves
        VCD file to write. It is complete when the accelerator is closed.
    wave_window
        First and last clock to write, counted from the end of reset; all of them, if None.
        Backend ``"native"`` only.
    watchdog
        Clocks without any transfer after which a job is given up; by default more than any job
        of its size can need.
    input_stalls, output_stalls
        Percentage of clocks in which the source, the sink of beats rests, 0 to 99.
    seed
        Of the stalls.
    progress
        Called now and then with the clocks simulated so far, and the clocks predicted.
    limits
        ``max_window``, ``max_dilation``, ``max_line``, ``max_plane``, ``coordinate_width``: see
        :class:`extremum.hdl.config.CoreConfig`. What exceeds them is tiled, or gathered by the
        host, and the report's notes say so.

    Attributes
    ----------
    config : CoreConfig
        What the core is built for.
    report : Report or None
        Of the last operator; None before the first.

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
        data_types: Sequence[DTypeLike | DataType] | str | DataType = ("float32",),
        *,
        lanes: int = 1,
        backend: str = "native",
        waves: str | Path | None = None,
        wave_window: tuple[int, int] | None = None,
        watchdog: int | None = None,
        input_stalls: int = 0,
        output_stalls: int = 0,
        seed: int = 0,
        progress: Callable[[int, int], None] | None = None,
        **limits: Any,
    ) -> None:
        if backend not in BACKENDS:
            raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, not {backend!r}")
        checks.check_simulation(backend, waves, wave_window, watchdog)
        checks.check_stalls(input_stalls=input_stalls, output_stalls=output_stalls)
        checks.check_seed(seed)
        checks.check_limits(limits)
        named = (data_types,) if isinstance(data_types, (str, DataType)) else data_types
        self.config = CoreConfig(
            tuple(DataType.from_dtype(data_type) for data_type in named), lanes, **limits
        )
        self.backend = backend
        self.report: Report | None = None
        self._waves = None if waves is None else Path(waves)
        self._wave_window = wave_window
        self._watchdog = watchdog
        self._stalls = {"input_stalls": input_stalls, "output_stalls": output_stalls}
        self._seed = seed
        self._progress = progress
        self._simulator: Simulator | NativeSimulator | None = None

    def __enter__(self) -> Accelerator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the simulation; the next operator starts a new one."""
        if self._simulator is not None:
            self._simulator.close()
            self._simulator = None

    def prepare(self) -> None:
        """Compile the core and start the simulation now, not at the first operator."""
        if self._simulator is None and self.backend != "model":
            self._simulator = self._start()

    def argmin(
        self,
        x: ArrayLike,
        axes: Integers | None = None,
        *,
        axis_direction: AxisDirection | str = "increasing",
        index_type: DTypeLike = "uint32",
        nan: str = "propagate",
    ) -> np.ndarray:
        """Do as :func:`extremum.model.argmin`."""
        return self._reduce(
            ReduceFunction.ARGMIN,
            x,
            axes,
            axis_direction=axis_direction,
            index_type=index_type,
            nan=nan,
        )

    def argmax(
        self,
        x: ArrayLike,
        axes: Integers | None = None,
        *,
        axis_direction: AxisDirection | str = "increasing",
        index_type: DTypeLike = "uint32",
        nan: str = "propagate",
    ) -> np.ndarray:
        """Do as :func:`extremum.model.argmax`."""
        return self._reduce(
            ReduceFunction.ARGMAX,
            x,
            axes,
            axis_direction=axis_direction,
            index_type=index_type,
            nan=nan,
        )

    def reduce_min(
        self, x: ArrayLike, axes: Integers | None = None, *, nan: str = "propagate"
    ) -> np.ndarray:
        """Do as :func:`extremum.model.reduce_min`."""
        return self._reduce(ReduceFunction.MIN, x, axes, nan=nan)

    def reduce_max(
        self, x: ArrayLike, axes: Integers | None = None, *, nan: str = "propagate"
    ) -> np.ndarray:
        """Do as :func:`extremum.model.reduce_max`."""
        return self._reduce(ReduceFunction.MAX, x, axes, nan=nan)

    def max_pooling(
        self,
        x: ArrayLike,
        window: Integers,
        *,
        strides: Integers = 1,
        start_padding: Integers = 0,
        end_padding: Integers = 0,
        dilations: Integers = 1,
        return_indices: bool = False,
        index_type: DTypeLike = "uint32",
        index_layout: str = "tensor",
        nan: str = "propagate",
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Do as :func:`extremum.model.max_pooling`."""
        tensor = as_tensor(x)
        problem = Pooling.of(
            tensor.shape,
            tensor.dtype,
            window,
            strides=strides,
            start_padding=start_padding,
            end_padding=end_padding,
            dilations=dilations,
            return_indices=return_indices,
            index_type=index_type,
            index_layout=index_layout,
            nan=nan,
        )
        return self.run(problem, tensor)

    def execute(
        self, desc: OperatorDesc, *inputs: Any, out: Any = None, nan: str = "propagate"
    ) -> np.ndarray | tuple[np.ndarray, ...]:
        """Carry out a descriptor on raw buffers, as its ``evaluate`` does.

        Parameters
        ----------
        desc
            One of the operator descriptors of :mod:`extremum.model`.
        inputs, out, nan
            See the descriptor's ``evaluate``.

        Raises
        ------
        TypeError
            ``desc`` is no operator descriptor.
        """
        if not hasattr(desc, "run") or not hasattr(desc, "operator"):
            raise TypeError(f"desc must be an operator descriptor of extremum.model, not {desc!r}")
        return desc.run(self.run, *inputs, out=out, nan=nan)

    def _reduce(
        self, function: ReduceFunction, x: ArrayLike, axes: Any, **options: Any
    ) -> np.ndarray:
        tensor = as_tensor(x)
        problem = Reduction.of(function, tensor.shape, tensor.dtype, axes, **options)
        return self.run(problem, tensor)

    def run(self, problem: Reduction | Pooling, x: ArrayLike) -> Any:
        """Carry out an operator and set :attr:`report`.

        Parameters
        ----------
        problem
            The operator.
        x
            Tensor of the operator's type and sizes.

        Returns
        -------
        ndarray or (values, indices)
            What ``problem.evaluate(x)`` returns, bit for bit.

        Raises
        ------
        ValueError
            The core was not built for the type, or the tensor is not the operator's.
        ToolError
            A tool is missing or too old.
        SimulationError
            The simulator crashed, or the core hung or broke a stream rule.
        """
        tensor = as_tensor(x)
        if tensor.shape != problem.sizes or tensor.dtype != problem.data_type.dtype:
            raise ValueError(
                f"x must be {problem.data_type.value} of sizes {problem.sizes}, "
                f"not {tensor.dtype} of sizes {tensor.shape}"
            )
        todo = plan(problem, self.config)
        if self.backend == "model":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EmptyWindowWarning)
                result = problem.evaluate(tensor)
            empty = problem.empty_windows if isinstance(problem, Pooling) else 0
            self._finish(todo, None, empty)
            return result
        try:
            results, cycles = self._simulate(todo, tensor)
        except BaseException:
            # What is left of the simulation cannot be trusted: the next operator starts afresh.
            self.close()
            raise
        self._finish(todo, cycles, results.empty_windows)
        return results.finish()

    def _start(self) -> Simulator | NativeSimulator:
        """Start the simulation."""
        if self.backend == "native":
            return NativeSimulator(self.config, self._waves, self._wave_window)
        return Simulator(self.config, self.backend, self._waves)

    def _simulate(self, todo: Plan, tensor: np.ndarray) -> tuple[Results, int]:
        """Run the jobs one after another."""
        if self._simulator is None:
            self._simulator = self._start()
        data_type = todo.problem.data_type
        results = Results.blank(todo.problem)
        cycles = 0

        def progress(clocks: int) -> None:
            if self._progress is not None:
                self._progress(cycles + clocks, todo.cycles)

        for job in todo.jobs:
            registers = job.registers
            measured = self._simulator.run(
                [registers.to_bits(self.config)],
                pack_beats(job.gather(tensor), self.config),
                job.beats_out,
                watchdog=self._watchdog or registers.slots + _WATCHDOG_CLOCKS,
                seed=self._seed,
                progress=progress,
                **self._stalls,
            )
            values, positions, last = unpack_results(measured.results, data_type, self.config)
            if last[:-1].any() or not last[-1]:
                raise SimulationError(
                    f"the core marked results {np.flatnonzero(last).tolist()} as the job's last, "
                    f"not {len(last) - 1}"
                )
            job.scatter(values, positions, results)
            cycles += measured.cycles
            progress(0)
        return results, cycles

    def _finish(self, todo: Plan, cycles: int | None, empty_windows: int) -> None:
        self.report = Report(
            jobs=len(todo.jobs),
            beats_in=todo.beats_in,
            beats_out=todo.beats_out,
            cycles=cycles,
            predicted_cycles=todo.cycles,
            empty_windows=empty_windows,
            notes=todo.notes,
        )
        if empty_windows:
            warnings.warn(EmptyWindowWarning(empty_windows), stacklevel=checks.frames_inside())
