"""The files of `bench`, which are no package."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[1] / "bench"


def bench_modules(*wanted: str) -> list[ModuleType]:
    """Import some files of `bench`, and leave their names free: files of `tests` have some too."""
    names = {path.stem for path in BENCH.glob("*.py")}
    others = {name: sys.modules.pop(name) for name in names & sys.modules.keys()}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        modules = [importlib.import_module(name) for name in wanted]
    for name in names & sys.modules.keys():
        del sys.modules[name]
    sys.modules.update(others)
    return modules
