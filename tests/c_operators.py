"""A pooling and a reduction that the suites of the C driver begin with, as arguments."""

POOLING = {
    "sizes": [1, 2, 4, 4],
    "data_type": "int8",
    "window": [2, 2],
    "strides": [2, 2],
    "start_padding": [0, 0],
    "end_padding": [0, 0],
    "dilations": [1, 1],
    "return_indices": True,
    "index_type": "uint32",
    "index_layout": "tensor",
    "nan": "propagate",
}
REDUCTION = {
    "function": "argmax",
    "sizes": [3, 4],
    "data_type": "int8",
    "axes": [1],
    "axis_direction": "increasing",
    "index_type": "int64",
    "nan": "propagate",
}
