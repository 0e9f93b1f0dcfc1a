"""The golden model: DirectML's argmin, argmax, reduce and max pooling operators in NumPy."""

from .checks import as_tensor
from .functions import argmax, argmin, max_pooling, reduce_max, reduce_min
from .pooling import EmptyWindowWarning, Pooling
from .reduction import Reduction
from .spatial import SpatialDimension
from .types import AxisDirection, DataType, FeatureLevel, ReduceFunction

__all__ = [
    "AxisDirection",
    "DataType",
    "EmptyWindowWarning",
    "FeatureLevel",
    "Pooling",
    "ReduceFunction",
    "Reduction",
    "SpatialDimension",
    "argmax",
    "argmin",
    "as_tensor",
    "max_pooling",
    "reduce_max",
    "reduce_min",
]
