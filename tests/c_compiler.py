"""Compilers of C, for the suites that test the driver."""

import shutil
import subprocess

import pytest

SANITIZERS = ["-fsanitize=undefined,address", "-fno-sanitize-recover=all"]


def run(*command, **options):
    ran = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, **options
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def compiler(name="gcc"):
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path
