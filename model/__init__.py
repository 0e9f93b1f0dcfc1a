"""The golden model: DirectML's argmin, argmax, reduce and max pooling operators in NumPy."""

from extremum.model.checks import as_tensor
from extremum.model.functions import argmax, argmin, max_pooling, reduce_max, reduce_min
from extremum.model.pooling import EmptyWindowWarning, Pooling
from extremum.model.pooling_descs import (
    MaxPooling1OperatorDesc,
    MaxPooling2OperatorDesc,
    MaxPoolingOperatorDesc,
)
from extremum.model.reduction import Reduction
from extremum.model.reduction_descs import (
    ArgMaxOperatorDesc,
    ArgMinOperatorDesc,
    ReduceOperatorDesc,
)
from extremum.model.spatial import SpatialDimension
from extremum.model.tensor import BufferTensorDesc
from extremum.model.types import (
    AxisDirection,
    DataType,
    ElementFormat,
    FeatureLevel,
    ReduceFunction,
)

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
