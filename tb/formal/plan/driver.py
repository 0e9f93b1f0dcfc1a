"""The registers that the C driver computes, for many poolings at once."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from extremum.hdl.config import OPERATORS, CoreConfig
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.plan.definition import Axis

FOLDER = Path(__file__).resolve().parents[3] / "drivers/c"
SOURCE = "extremum.c"
GATHERED = -1
"""What the program says of a pooling whose windows the host must gather."""
BUILT = {"argmin": 1, "argmax": 2, "max-pool": 4}


def core_words(config: CoreConfig) -> list[int]:
    """Return the words that tell the program what core it is."""
    operators = sum(BUILT[name] for name in OPERATORS if name in config.operators)
    return [
        config.lanes, *config.max_window, *config.max_dilation, config.max_line, config.max_plane,
        config.coordinate_width, config.index_width, operators, int(config.padding),
    ]  # fmt: skip


def pooling_words(planes: int, axes: Sequence[Axis]) -> list[int]:
    """Return the words that tell the program of a pooling."""

    def three(numbers: list[int]) -> list[int]:
        return numbers + [0] * (3 - len(numbers))

    words = [2 + len(axes), 1, planes, *three([axis.size for axis in axes])]
    for part in ("window", "stride", "dilation", "start", "end"):
        words += three([getattr(axis, part) for axis in axes])
    return words


def planned_in_c(
    config: CoreConfig, poolings: Sequence[Sequence[int]], fault: Fault | None = None
) -> np.ndarray:
    """Return what the program says of poolings: numbers of 64 bits.

    Parameters
    ----------
    config
        The core.
    poolings
        The words of each pooling.
    fault
        What is changed in the driver before it is compiled.

    Raises
    ------
    OSError
        There is no C compiler.
    subprocess.CalledProcessError
        The driver cannot be compiled, or the program fails.
    """
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise OSError("there is no C compiler: the driver cannot be looked at")
    given = np.array([*core_words(config), *np.ravel(poolings)], np.uint32)
    with tempfile.TemporaryDirectory(prefix="extremum-plan-") as name:
        folder = Path(name)
        source = (FOLDER / SOURCE).read_text()
        (folder / SOURCE).write_text(fault.planted_in(source) if fault else source)
        subprocess.run(
            [compiler, "-std=c99", "-O2", f"-I{FOLDER}", Path(__file__).with_name("driver.c"),
             folder / SOURCE, "-o", folder / "program"],
            check=True,
        )  # fmt: skip
        ran = subprocess.run(
            [folder / "program"], input=given.tobytes(), capture_output=True, check=True
        )
    return np.frombuffer(ran.stdout, np.int64)
