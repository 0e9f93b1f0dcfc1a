"""The inputs of a network as ``extremum onnx`` takes them: files, sizes, and random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from extremum.host.cli.option_types import INTEGERS
from extremum.host.cli.tensor_files import load_any

if TYPE_CHECKING:
    from extremum.onnx import Network

__all__ = ["arrays", "drawn", "files", "given_sizes", "named"]


LARGEST_SIZE = 2**63 - 1
"""The largest size that a model can have."""


def named(option: str, texts: Sequence[str], names: Sequence[str] = ()) -> dict[str, str]:
    """Return the values of an option that is written NAME=VALUE, by their names.

    A name of `names` counts first, the longest that fits; otherwise it ends at the last ``=``.
    """
    found: dict[str, str] = {}
    for text in texts:
        known = max((n for n in names if text.startswith(f"{n}=")), key=len, default=None)
        name, separator, value = text.rpartition("=")
        if known is not None:
            name, value = known, text[len(known) + 1 :]
        if not separator or not name or not value:
            raise click.UsageError(f"{option} is written NAME=VALUE, not {text!r}")
        if name in found:
            raise click.UsageError(f"{option} gives {name} twice")
        found[name] = value
    return found


def given_sizes(name: str, text: str) -> tuple[int, ...]:
    """Return the sizes that an option gives for an input."""
    try:
        sizes = INTEGERS.convert(text, None, None)
    except click.BadParameter as error:
        raise click.UsageError(f"--sizes {name}: {error.message}") from None
    listed = (sizes,) if isinstance(sizes, int) else sizes
    if min(listed) < 1:
        raise click.UsageError(f"the sizes of {name} must be at least 1, not {text}")
    if max(listed) > LARGEST_SIZE:
        raise click.UsageError(f"the sizes of {name} must be at most {LARGEST_SIZE}, not {text}")
    return listed


def files(network: Network, inputs: Sequence[str]) -> dict[str, str]:
    """Return the file of each input that is given."""
    names = network.input_names
    if len(inputs) == len(names) == 1:
        only, is_named = inputs[0], inputs[0].startswith(f"{names[0]}=")
        if not only:
            raise click.UsageError("--input: '' names no file")
        # A file may have any name. What is no file is more likely NAME=FILE with a wrong name.
        if not is_named and ("=" not in only or Path(only).exists()):
            return {names[0]: only}
    known = [value.name for value in network.graph.input]
    found = named("--input", inputs, known)
    for name in found:
        if name not in known:
            raise click.UsageError(
                f"the network has no input {name}: it has {', '.join(names) or 'none'}"
            )
    return found


def arrays(network: Network, found: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Read the files of the inputs, and check their types and sizes."""
    from extremum.onnx.inputs import check_input  # noqa: PLC0415 (needs the extra onnx)

    return {name: check_input(network, name, load_any(path)) for name, path in found.items()}


def drawn(
    network: Network, given: Mapping[str, np.ndarray], seed: int | None
) -> dict[str, np.ndarray]:
    """Draw the inputs that are not given."""
    missing = [name for name in network.input_names if name not in given]
    if missing and seed is None:
        raise click.UsageError(
            f"the input {missing[0]} needs --input {missing[0]}=FILE or --random"
        )
    generator = np.random.default_rng(seed)
    arrays = {}
    for name in missing:
        try:
            arrays[name] = _random(network, name, generator)
        except (ValueError, MemoryError) as error:
            raise click.ClickException(
                f"the input {name} is too large for this machine: {error}"
            ) from error
    return arrays


def _random(network: Network, name: str, generator: np.random.Generator) -> np.ndarray:
    """Draw an array for an input: floats from the normal distribution, integers from all."""
    sizes, data_type = network.input_type(name)
    if data_type == "unknown":
        raise click.ClickException(f"the input {name} is no tensor, and cannot be given")
    try:
        dtype = np.dtype(data_type)
    except TypeError:
        dtype = np.dtype(object)
    if dtype.kind not in "fbiu":
        raise click.UsageError(f"--random draws no {data_type}: give --input {name}=FILE")
    if sizes is None:
        raise click.UsageError(f"the model leaves sizes of {name} open: give --sizes {name}=...")
    if dtype.kind == "f":
        return generator.standard_normal(sizes).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, sizes).astype(dtype)
    limits = np.iinfo(dtype.name)
    return generator.integers(limits.min, limits.max, sizes, dtype, endpoint=True)
