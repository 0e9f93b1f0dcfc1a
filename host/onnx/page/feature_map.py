"""What the windows of a pooling select in a plane, cut out where the plane is largest."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass, replace

import matplotlib.image
import numpy as np

from extremum.model import Pooling
from extremum.onnx.layers import Layer

__all__ = ["CROP", "FeatureMap", "feature_map"]

CROP = 32
"""Elements of the cut along a side, at most."""

SIDE = 320
"""Pixels of the picture along its longer side, at most; a narrow window has that many."""

LARGEST_CELL = 32
"""Pixels of an element along a side, at most."""


@dataclass(frozen=True)
class FeatureMap:
    """A cut of a plane, and the elements that the windows of a pooling select in it.

    Parameters
    ----------
    name
        The layer.
    batch, channel
        The plane, by its coordinates in the layer's input.
    sizes
        Height and width of the plane.
    top, left
        Row and column of the cut's first element.
    height, width
        Sizes of the cut.
    low, high
        The least and the largest finite element of the cut.
    image
        The cut as a PNG of one pixel for each element, in base64.
    chosen
        Column and row, in the cut, of each element that is selected, once.
    """

    name: str
    batch: int
    channel: int
    sizes: tuple[int, int]
    top: int
    left: int
    height: int
    width: int
    low: float
    high: float
    image: str
    chosen: tuple[tuple[int, int], ...]

    @property
    def cell(self) -> int:
        """Pixels of an element along a side."""
        return min(LARGEST_CELL, SIDE // max(self.height, self.width))


def feature_map(name: str, layer: Layer, x: np.ndarray) -> FeatureMap | None:
    """Return what a pooling of planes selects around the maximum of its first plane with a pattern.

    Parameters
    ----------
    name
        The layer's name.
    layer
        The layer.
    x
        What its operator takes.

    Returns
    -------
    FeatureMap or None
        None for a layer that pools no planes, or only constant ones.
    """
    problem = layer.problem
    if not isinstance(problem, Pooling) or len(problem.sizes) != 4 or 1 in problem.sizes[2:]:
        return None
    varied = np.argwhere(x.max(axis=(2, 3)) != x.min(axis=(2, 3)))
    if not len(varied):
        return None
    batch, channel = map(int, varied[0])
    plane = x[batch, channel]
    alone = replace(
        problem, sizes=(1, 1, *plane.shape), return_indices=True, index_type=np.dtype("int64"),
        index_layout="plane",
    )  # fmt: skip
    _, positions = alone.evaluate(plane[None, None])
    chosen = np.unique(positions[positions >= 0])
    rows, columns = chosen // plane.shape[1], chosen % plane.shape[1]
    middle = np.unravel_index(int(plane.argmax()), plane.shape)
    (top, height), (left, width) = map(_around, middle, plane.shape)
    inside = (rows >= top) & (rows < top + height) & (columns >= left) & (columns < left + width)
    pairs = zip(columns[inside] - left, rows[inside] - top, strict=True)
    elements = x if layer.codes is None else layer.codes.real(x)
    shown = elements[batch, channel, top : top + height, left : left + width]
    levels = shown.astype(np.float64)
    finite = levels[np.isfinite(levels)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    return FeatureMap(
        name, batch, channel, (plane.shape[0], plane.shape[1]), top, left, height, width,
        low, high, _png(levels, low, high), tuple((int(column), int(row)) for column, row in pairs),
    )  # fmt: skip


def _around(middle: np.integer, size: int) -> tuple[int, int]:
    """Return where a cut along a side begins that has an element near its middle, and its size."""
    length = min(CROP, size)
    return min(max(int(middle) - length // 2, 0), size - length), length


def _png(levels: np.ndarray, low: float, high: float) -> str:
    """Return a picture of the levels; infinite ones are drawn as the nearest finite one."""
    # Halves, since the difference of two float64 may be infinite.
    shown = np.clip(levels, low, high) / 2
    picture = io.BytesIO()
    matplotlib.image.imsave(
        picture, shown, vmin=low / 2, vmax=high / 2, cmap="viridis", format="png"
    )
    return base64.b64encode(picture.getvalue()).decode()
