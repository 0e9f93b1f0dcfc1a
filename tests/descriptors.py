"""A tensor and a plain pooling in DirectML's terms, for the tests of descriptors."""

from typing import Any

from extremum.model import BufferTensorDesc, DataType


def tensor(name: str, *shape: int, **more: Any) -> BufferTensorDesc:
    """Return the descriptor of a tensor."""
    return BufferTensorDesc(DataType(name), shape, **more)


IMAGE, POOLED = tensor("float16", 1, 2, 4, 5), tensor("float16", 1, 2, 2, 2)
INDICES = tensor("uint32", 1, 2, 2, 2)
PLAIN = {
    "input_tensor": IMAGE,
    "output_tensor": POOLED,
    "output_indices_tensor": INDICES,
    "strides": (2, 2),
    "window_size": (2, 2),
    "start_padding": (0, 0),
    "end_padding": (0, 0),
    "dilations": (1, 1),
}
