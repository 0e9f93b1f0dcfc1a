"""The golden model: DirectML's argmin, argmax, reduce and max pooling operators in NumPy."""

from .checks import as_tensor
from .functions import argmax, argmin, max_pooling, reduce_max, reduce_min
from .pooling import EmptyWindowWarning, Pooling
from .pooling_descs import (
    MaxPooling1OperatorDesc,
    MaxPooling2OperatorDesc,
    MaxPoolingOperatorDesc,
)
from .reduction import Reduction
from .reduction_descs import ArgMaxOperatorDesc, ArgMinOperatorDesc, ReduceOperatorDesc
from .spatial import SpatialDimension
from .tensor import BufferTensorDesc
from .types import AxisDirection, DataType, ElementFormat, FeatureLevel, ReduceFunction

__all__ = [
    "ArgMaxOperatorDesc",
    "ArgMinOperatorDesc",
    "AxisDirection",
    "BufferTensorDesc",
    "DataType",
    "ElementFormat",
    "EmptyWindowWarning",
    "FeatureLevel",
    "MaxPooling1OperatorDesc",
    "MaxPooling2OperatorDesc",
    "MaxPoolingOperatorDesc",
    "Pooling",
    "ReduceFunction",
    "ReduceOperatorDesc",
    "Reduction",
    "SpatialDimension",
    "argmax",
    "argmin",
    "as_tensor",
    "max_pooling",
    "reduce_max",
    "reduce_min",
]
