"""The examples in the docstrings of the golden model are right, and it needs NumPy alone."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

import extremum.model

MODULES = [
    module.name.removeprefix("extremum.model.")
    for module in pkgutil.walk_packages(extremum.model.__path__, "extremum.model.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"extremum.model.{name}")
    assert doctest.testmod(module).failed == 0


def test_examples_are_found():
    finder = doctest.DocTestFinder()
    modules = [importlib.import_module(f"extremum.model.{name}") for name in MODULES]
    assert "fast.sliding" in MODULES
    found = [test.name for module in modules for test in finder.find(module) if test.examples]
    assert {f"extremum.model.functions.{name}" for name in ("argmin", "max_pooling")} <= set(found)


def test_numpy_alone_is_needed():
    """A process that imports every module of the golden model has loaded no other package."""
    names = ", ".join(f"extremum.model.{name}" for name in MODULES)
    program = f"""
import sys, numpy
before = {{name.split(".")[0] for name in sys.modules}}
import {names}
after = {{name.split(".")[0] for name in sys.modules}}
print(sorted(after - before - set(sys.stdlib_module_names)))
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "['extremum']"


def test_every_name_that_is_exported_is_there():
    for name in extremum.model.__all__:
        assert getattr(extremum.model, name).__doc__
    assert extremum.model.__all__ == sorted(extremum.model.__all__)
