"""Answers to keyword arguments that other libraries have, and these functions spell otherwise.

NumPy, PyTorch and ONNX have other names for what the functions here take. Whoever writes one of
those is told the right name, instead of only that the given one is unexpected.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

__all__ = ["suggests_keywords"]

_BOUND = ("self", "cls")
"""Names of a parameter that a method is bound to, and no caller gives by name."""
_Function = TypeVar("_Function", bound=Callable[..., Any])

_RIGHT_NAMES: dict[str, tuple[str, ...]] = {
    "a": ("x",),
    "array": ("x",),
    "auto_pad": ("start_padding", "end_padding"),
    "ceil_mode": ("end_padding",),
    "dim": ("axes",),
    "direction": ("axis_direction",),
    "input": ("x",),
    "kernel": ("window",),
    "kernel_shape": ("window",),
    "kernel_size": ("window",),
    "pad": ("start_padding", "end_padding"),
    "padding": ("start_padding", "end_padding"),
    "pads": ("start_padding", "end_padding"),
    "pool_size": ("window",),
    "select_last_index": ("axis_direction",),
    "shape": ("sizes",),
    "storage_order": ("index_layout",),
    "window_size": ("window",),
}
"""Names of other libraries and of DirectML's structures that do not resemble ours."""

_KEEPDIMS = "the reduced axes stay, with size 1, and numpy.squeeze drops them"
_WITHOUT_COUNTERPART = {"keepdims": _KEEPDIMS, "keepdim": _KEEPDIMS}
"""Names that stand for something that these functions do not have, and what to do instead."""


def suggests_keywords(function: _Function) -> _Function:
    """Make a function or method name the right keyword if it is called with a wrong one.

    Calls without a wrong keyword behave as before.

    Parameters
    ----------
    function : callable
        All its keywords must be listed: it takes no ``**kwargs``.

    Returns
    -------
    callable
        A function that raises `TypeError` for a wrong keyword. The message names the keyword that
        was meant, or lists all keywords.

    Examples
    --------
    >>> @suggests_keywords
    ... def argmax(x, axes=None): ...
    >>> argmax([1, 2], axis=0)
    Traceback (most recent call last):
    TypeError: argmax() takes axes, not axis
    """
    names = [name for name in inspect.signature(function).parameters if name not in _BOUND]

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError:
            # This is checked only now, so that correct calls lose no time.
            wrong = next((name for name in kwargs if name not in names), None)
            if wrong is None:
                raise
        raise TypeError(f"{_called(function, args)}() {_answer(names, wrong)}")

    return call  # pyright: ignore[reportReturnType]


def _called(function: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """Name a function as its caller knows it: a method after the class, which may inherit it."""
    if not args or next(iter(inspect.signature(function).parameters)) not in _BOUND:
        return function.__qualname__
    owner = args[0] if isinstance(args[0], type) else type(args[0])
    return f"{owner.__name__}.{function.__name__}"


def _answer(names: list[str], wrong: str) -> str:
    """Say what a function with parameters `names` takes instead of a wrong one."""
    if wrong in _WITHOUT_COUNTERPART:
        return f"takes no {wrong}: {_WITHOUT_COUNTERPART[wrong]}"
    right = _RIGHT_NAMES.get(wrong) or tuple(difflib.get_close_matches(wrong, names, n=1))
    if right and set(right) <= set(names):
        return f"takes {' and '.join(right)}, not {wrong}"
    return f"takes {', '.join(names)}, not {wrong}"
