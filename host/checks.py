"""The rules of an accelerator's settings, and where its warnings point."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extremum.hdl.config import BUSES, FASTEST_TO_SIMULATE, CoreConfig
from extremum.host.plan.planner import check_is_operator
from extremum.model import DataType, EmptyWindowWarning, Pooling, Reduction
from extremum.model.checks import as_tensor_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray

MOST_CLOCKS = (1 << 64) - 1
"""The largest number of a clock: the simulation counts in 64 bits."""


def tensor_for(problem: Reduction | Pooling, x: ArrayLike) -> NDArray[Any]:
    """Return the tensor of an operator.

    Raises
    ------
    TypeError
        ``problem`` is no operator, or the tensor is of another type.
    ValueError
        The tensor has other sizes than the operator.
    """
    check_is_operator(problem)
    return as_tensor_of(x, problem.data_type, problem.sizes)


def check_simulation(
    backend: str, waves: object, wave_window: Sequence[int] | None, watchdog: int | None
) -> None:
    """Refuse settings that the backend does not have, or that mean nothing.

    Raises
    ------
    TypeError
        ``waves`` is no path.
    ValueError
        A setting is out of range, or the backend cannot have it. The message names the setting.
    """
    if waves is not None and not isinstance(waves, (str, os.PathLike)):
        raise TypeError(f"waves must name a file, not {waves!r}")
    if waves is not None and Path(waves).suffix.lower() != ".vcd":
        raise ValueError(f"waves must name a .vcd file, not {os.fspath(waves)!r}")
    if waves is not None and backend == "model":
        raise ValueError("waves need a simulator: the backend must not be 'model'")
    if "\0" in str(waves):
        raise ValueError(f"waves must name a file, not {str(waves)!r}")
    if watchdog is not None and (not _is_integer(watchdog) or watchdog < 1):
        raise ValueError(f"watchdog must be a whole number of clocks, at least 1, not {watchdog!r}")
    if watchdog is not None and backend == "model":
        raise ValueError("a watchdog needs a simulator: the backend must not be 'model'")
    if watchdog is not None and watchdog > MOST_CLOCKS:
        raise ValueError(f"watchdog must be at most {MOST_CLOCKS} clocks, not {watchdog}")
    if wave_window is None:
        return
    if backend != "native":
        raise ValueError(f"wave_window needs the backend 'native', not {backend!r}")
    if waves is None:
        raise ValueError("wave_window needs waves, the file to write")
    is_pair = isinstance(wave_window, Sequence) and len(wave_window) == 2
    if not is_pair or not all(map(_is_integer, wave_window)):
        raise ValueError(f"wave_window must be (first, last) clocks, not {wave_window!r}")
    if not 0 <= wave_window[0] <= wave_window[1]:
        raise ValueError(f"wave_window must be (first, last) clocks, not {wave_window!r}")
    if wave_window[1] > MOST_CLOCKS:
        raise ValueError(f"wave_window must end at clock {MOST_CLOCKS} or before")


def check_progress(progress: object) -> None:
    """Refuse what cannot be told of progress.

    Raises
    ------
    TypeError
        It is neither None nor a function.
    """
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be a function of one argument, not {progress!r}")


def check_bus(bus: str, backend: str) -> None:
    """Refuse a bus that there is not, or that the backend does not have.

    Raises
    ------
    ValueError
        There is no such bus, or it is that of a block, and nothing is simulated.
    """
    if bus not in BUSES:
        raise ValueError(f"bus must be one of {', '.join(BUSES)}, not {bus!r}")
    if bus != "none" and backend == "model":
        raise ValueError(f"bus {bus!r} needs a simulator: the backend must not be 'model'")


def check_stalls(backend: str, **rates: int) -> None:
    """Refuse what is not a percentage, by name, and stalls where nothing is simulated.

    Raises
    ------
    ValueError
        A rate is not a whole number from 0 to 99, or the backend has no streams.
    """
    for name, rate in rates.items():
        if not _is_integer(rate) or not 0 <= rate <= 99:
            raise ValueError(f"{name} must be a whole number of percent from 0 to 99, not {rate!r}")
        if rate and backend == "model":
            raise ValueError(f"{name} need a simulator: the backend must not be 'model'")


def check_seed(seed: int) -> None:
    """Refuse what cannot select a sequence of stalls.

    Raises
    ------
    ValueError
        The seed is not a whole number of at least 0.
    """
    if not _is_integer(seed) or seed < 0:
        raise ValueError(f"seed must be an integer of at least 0, not {seed!r}")


def _is_integer(value: object) -> bool:
    """Tell whether a value is an integer, of Python or NumPy; True and False are none here."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def core_config(
    data_types: Iterable[DTypeLike | DataType] | DTypeLike | DataType | CoreConfig,
    given: dict[str, Any],
) -> CoreConfig:
    """Return the core's configuration from what the accelerator's constructor was given.

    Unless the configuration or the setting of its pipelining is given, it is the setting that
    simulates fastest.

    Raises
    ------
    TypeError
        Parameters of the core stand beside a whole configuration.
    """
    if isinstance(data_types, CoreConfig):
        if given:
            raise TypeError(
                f"{', '.join(given)} must not be given beside a CoreConfig, which has its own: "
                "use dataclasses.replace to change it"
            )
        return data_types
    is_one = isinstance(data_types, str) or not isinstance(data_types, Iterable)
    named: Any = (data_types,) if is_one else data_types
    given = {"pipelining": FASTEST_TO_SIMULATE} | given
    return CoreConfig(tuple(DataType.from_dtype(data_type) for data_type in named), **given)


def warn_of_empty_windows(count: int) -> None:
    """Warn of windows that lie wholly in padding, if there are any, at the user's own line."""
    if count:
        warnings.warn(EmptyWindowWarning(count), stacklevel=frames_inside())


def frames_inside() -> int:
    """Return the ``stacklevel`` with which a warning of the caller names the user's own line.

    That is the number of the caller's frames within this package, and one more. PyTorch's frames
    stand between some of ours. Code that runs under `exec` may have no name of a module, and is the
    user's.
    """
    frame, count = sys._getframe(1), 1
    ours = ("extremum.", "torch.")
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith(ours):
        frame, count = frame.f_back, count + 1
    return count
