"""The golden model: DirectML's argmin, argmax, reduce and max pooling operators in NumPy.

- `reference` is the contract in plain Python, and the first thing to read.
- The functions `argmin`, `argmax`, `reduce_min`, `reduce_max` and `max_pooling` take arrays.
- The descriptors, such as `ArgMaxOperatorDesc`, are DirectML's structures, and work on buffers.
- `Reduction` and `Pooling` are problems that are checked: functions, descriptors, plans and the
  gateware all agree on one of these.
- `extremum.model.fast` holds the kernels, which compute what `reference` does.
"""

from extremum.model import reference
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
    "reference",
]
