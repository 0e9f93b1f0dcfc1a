"""Fuzzes one target that takes bytes, guided by coverage, with atheris.

``python -m extremum.tb.fuzz.coverage NAME SECONDS SEED`` ends with status 0 if nothing was found.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from importlib import import_module


def main(name: str, seconds: str, seed: str) -> None:
    """Fuzz a target; libFuzzer ends the process."""
    atheris = import_module("atheris")  # it is not there on every platform

    # Instrumented are the project's own modules, and those that read the files for it.
    with atheris.instrument_imports(include=["extremum", "tomllib", "click", "numpy.lib"]):
        from extremum.tb.fuzz.targets import TARGETS  # noqa: PLC0415

    target = TARGETS[name]
    warnings.simplefilter("ignore")
    folder = tempfile.mkdtemp(prefix="extremum-fuzz-")
    options = [
        # No time at all would be no limit.
        f"-max_total_time={max(1, round(float(seconds)))}",
        f"-seed={seed}", "-timeout=20", "-max_len=4096",
        "-print_final_stats=1", f"-artifact_prefix={folder}/", "-rss_limit_mb=4096",
    ]  # fmt: skip
    atheris.Setup([sys.argv[0], *options], target.answer)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
