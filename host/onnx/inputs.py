"""What is given to a network: arrays by name, of the types and sizes that the model asks for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ValueInfoProto, helper

from extremum.onnx.graphs import type_of
from extremum.onnx.loading import fits, sizes_text
from extremum.onnx.network import Network, NetworkError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["check_input", "named_inputs"]


def named_inputs(
    network: Network, inputs: Mapping[str, ArrayLike] | Sequence[ArrayLike]
) -> dict[str, np.ndarray]:
    """Return the inputs of a run by their names.

    Parameters
    ----------
    network
        The network, of which no size need be known.
    inputs
        Arrays by name, or in the order of the inputs that must be given. By name, those may be
        given as well that have a default.

    Raises
    ------
    TypeError
        They are a single array, or no collection at all.
    NetworkError
        One is missing, is none of the network's, or is not of its type and sizes.
    """
    if isinstance(inputs, np.ndarray | str | bytes) or not isinstance(inputs, Collection):
        what = "a single array" if isinstance(inputs, np.ndarray) else repr(inputs)
        raise TypeError(f"inputs must be arrays by name, or a list of arrays, not {what}")
    names = network.input_names
    if not isinstance(inputs, Mapping):
        if len(inputs) != len(names):
            raise NetworkError(f"the network has {len(names)} inputs, not {len(inputs)}")
        inputs = dict(zip(names, inputs, strict=True))
    known = {value.name for value in network.graph.input}
    for name in inputs:
        if name not in known:
            raise _foreign(network, name)
    if missing := [name for name in names if name not in inputs]:
        raise NetworkError(f"the input {missing[0]} is not given")
    return {name: check_input(network, name, x) for name, x in inputs.items()}


def check_input(network: Network, name: str, x: ArrayLike) -> np.ndarray:
    """Return what is given for an input as an array of the type that the model asks for.

    Numbers and lists of Python become arrays of that type. An array must have it.

    Raises
    ------
    NetworkError
        There is no such input, or it has another type or other sizes.
    """
    values = {value.name: value for value in network.graph.input}
    if name not in values:
        raise _foreign(network, name)
    value = values[name]
    wanted = type_of(value)
    if wanted is None:
        raise NetworkError(f"the input {name} is no tensor, and cannot be given")
    made = _array(name, value, x)
    given = "string" if made.dtype.kind in "OU" else made.dtype.name
    if given != wanted or not fits(value, made.shape):
        raise NetworkError(
            f"the input {name} must be {wanted} of the sizes {sizes_text(value)}, "
            f"not {given} of the sizes {made.shape}"
        )
    if given == "string" and not _is_unicode(made):
        raise NetworkError(f"the input {name} has text with code points that Unicode has not")
    return np.asarray(made, made.dtype.newbyteorder("="), order="C")


def _foreign(network: Network, name: str) -> NetworkError:
    known = ", ".join(network.input_names) or "none"
    return NetworkError(f"the network has no input {name}: it has {known}")


def _is_unicode(texts: np.ndarray) -> bool:
    """Tell whether all texts of an array can be written as UTF-8."""
    try:
        for text in texts.reshape(-1):
            str(text).encode()
    except (UnicodeEncodeError, SystemError):  # half of a pair; beyond the last code point
        return False
    return True


def _array(name: str, value: ValueInfoProto, x: Any) -> np.ndarray:
    """Return an array as it is, and what is no array as one of the wanted type, if it can be."""
    if isinstance(x, np.ma.MaskedArray):
        raise NetworkError(f"the input {name} is a masked array: fill it with x.filled")
    try:
        plain = np.asarray(x)
    except ValueError as error:
        raise NetworkError(f"the input {name} is no array: {error}") from error
    if plain.dtype.kind == "T":  # NumPy's text of any length
        plain = plain.astype(object)
    wants_numbers = type_of(value) not in ("string", "bool")
    if plain.dtype.kind in "fO" and wants_numbers and not hasattr(x, "__array__"):
        # Of integers that no integer type of NumPy's choice holds, it makes something else.
        objects = np.asarray(x, object)
        if objects.size and all(isinstance(number, int) for number in objects.reshape(-1)):
            return _integers(name, value, objects)
    if plain.dtype.kind == "O" and not all(isinstance(text, str) for text in plain.reshape(-1)):
        raise NetworkError(f"the input {name} is no array of numbers or of text")
    if hasattr(x, "__array__") or plain.dtype.kind in "OU" or type_of(value) == "string":
        return plain
    dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    kinds = {"b": "b", "i": "biu", "u": "biu"}.get(dtype.kind, "biuf")
    if plain.size and plain.dtype.kind not in kinds:
        return plain
    made = plain.astype(dtype)
    if dtype.kind in "iu" and not np.array_equal(made, plain):
        raise NetworkError(f"the input {name} has numbers that are no {dtype.name}")
    return made


def _integers(name: str, value: ValueInfoProto, numbers: np.ndarray) -> np.ndarray:
    """Return integers of Python as an array of the wanted type."""
    dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    try:
        made = numbers.astype(dtype)
    except OverflowError:
        made = None
    if made is None or (dtype.kind in "iu" and not np.array_equal(made, numbers)):
        raise NetworkError(f"the input {name} has numbers that are no {dtype.name}")
    return made
