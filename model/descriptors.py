"""The base of the operator descriptors: checks against a feature level, and runs on buffers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from numpy.typing import NDArray

from extremum.model.pooling import Pooling
from extremum.model.reduction import Reduction
from extremum.model.support import check_support
from extremum.model.tensor import BufferTensorDesc, bytes_of, check_apart
from extremum.model.types import FeatureLevel

if TYPE_CHECKING:
    import numpy as np

    from extremum.model.tensor import BytesLike

__all__ = ["Engine", "OperatorDesc", "check_output", "check_tensor", "golden"]

Engine = Callable[[Any, NDArray[Any]], Any]
"""A function that computes a `Reduction` or `Pooling` of an array, as their `evaluate` does."""

Result_co = TypeVar("Result_co", covariant=True)
"""What a descriptor gives: an array, or a pair of arrays."""


def golden(problem: Reduction | Pooling, x: NDArray[Any]) -> Any:
    """Compute with the golden model; this is the engine of `OperatorDesc.evaluate`."""
    if isinstance(problem, Pooling):
        # With this level, a warning about empty windows names the caller of `evaluate`.
        return problem.evaluate(x, stacklevel=5)
    return problem.evaluate(x)


class OperatorDesc(ABC, Generic[Result_co]):
    """A DirectML operator of one input and one or two outputs; base of the descriptors."""

    input_tensor: BufferTensorDesc

    @property
    @abstractmethod
    def name(self) -> str:
        """The operator's name in DirectML."""

    @property
    @abstractmethod
    def outputs(self) -> tuple[BufferTensorDesc, ...]:
        """The output tensors that are present, in the order of the fields."""

    @property
    @abstractmethod
    def index_tensor(self) -> BufferTensorDesc | None:
        """The output tensor that holds positions, or None."""

    @abstractmethod
    def operator(self, nan: str = "propagate") -> Reduction | Pooling:
        """Return the same problem as the object that the functions and the hardware work on."""

    def validate(self, feature_level: FeatureLevel | str = FeatureLevel.LEVEL_6_4) -> None:
        """Check that a feature level supports the operator with these types and this rank.

        The constructor has already checked the rules that hold at every level.

        Parameters
        ----------
        feature_level : FeatureLevel or str
            Such as ``"3_0"``; the newest by default.

        Raises
        ------
        TypeError
            If the level does not support the type of the elements or of the positions.
        ValueError
            If it does not support the operator or the rank, or there is no such level.
        """
        index = self.index_tensor
        check_support(
            self.name,
            feature_level,
            data_type=self.input_tensor.data_type,
            rank=self.input_tensor.rank,
            index_type=index.data_type if index else None,
        )

    def evaluate(
        self,
        *inputs: BytesLike,
        out: BytesLike | tuple[BytesLike, ...] | list[Any] | None = None,
        nan: str = "propagate",
    ) -> Result_co:
        """Compute on raw buffers with the golden model.

        Parameters, results and errors are those of `run`.
        """
        return self.run(golden, *inputs, out=out, nan=nan)

    def run(
        self,
        engine: Engine,
        *inputs: BytesLike,
        out: BytesLike | tuple[BytesLike, ...] | list[Any] | None = None,
        nan: str = "propagate",
    ) -> Result_co:
        """Compute on raw buffers with any engine.

        Parameters
        ----------
        engine : callable
            Called with the problem that `operator` returns and a read-only array; returns what
            `evaluate` of the problem returns.
        *inputs : bytes-like or ndarray
            The buffer of the input tensor; all these operators have just one.
        out : bytes-like or ndarray, or a tuple of them
            One writable buffer for each output tensor; by default fresh ones. Only the elements of
            the tensors are written, nothing in the gaps between them.
        nan : {"propagate", "ignore"}

        Returns
        -------
        ndarray or tuple of ndarray
            Views of the output tensors in their buffers, in the order of the fields; a tuple if
            there are two.

        Raises
        ------
        TypeError
            If there are too few or too many buffers, or one is neither bytes-like nor an array in
            native byte order, is masked, or holds objects.
        ValueError
            If a buffer is not contiguous or too small, an output is read-only or overlaps the input
            or another output, `nan` is no mode, or the engine gives other sizes or types than those
            of the outputs.
        """
        problem = self.operator(nan)
        if len(inputs) != 1:
            raise TypeError(f"inputs must be 1 buffer, not {len(inputs)}")
        if out is None:
            out = tuple(bytearray(desc.total_tensor_size_in_bytes) for desc in self.outputs)
        buffers = out if isinstance(out, tuple | list) else (out,)
        if len(buffers) != len(self.outputs):
            count = len(self.outputs)
            raise TypeError(f"out must be {count} buffer{'s'[: count > 1]}, not {len(buffers)}")
        x = self.input_tensor.view(inputs[0], "input")
        targets = tuple(
            desc.view(buffer, "out") for desc, buffer in zip(self.outputs, buffers, strict=True)
        )
        if not all(target.flags.writeable for target in targets):
            raise ValueError("out must be writable, not read-only")
        check_apart(
            _extent(self.input_tensor, inputs[0]),
            [_extent(desc, buffer) for desc, buffer in zip(self.outputs, buffers, strict=True)],
        )
        x.flags.writeable = False
        results = engine(problem, x)
        for target, result in zip(
            targets, results if len(targets) > 1 else (results,), strict=True
        ):
            # NumPy would broadcast and convert a wrong result, and hide a mistake of the engine.
            if (result.shape, result.dtype) != (target.shape, target.dtype):
                raise ValueError(
                    f"engine must give {target.dtype} {target.shape}, "
                    f"not {result.dtype} {result.shape}"
                )
            target[...] = result
        views: Any = targets[0] if len(targets) == 1 else targets
        return views


def _extent(desc: BufferTensorDesc, buffer: BytesLike) -> NDArray[np.uint8]:
    """Return the bytes of a buffer that belong to the tensor."""
    return bytes_of(buffer)[: desc.total_tensor_size_in_bytes]


def check_output(name: str, desc: BufferTensorDesc, sizes: Sequence[int]) -> None:
    """Check the sizes of an output, and that no two of its elements share a place in memory.

    Raises
    ------
    ValueError
        If the sizes are wrong, or the strides repeat an element.
    """
    if desc.sizes != tuple(sizes):
        raise ValueError(f"{name} must have sizes {tuple(sizes)}, not {desc.sizes}")
    if desc.repeats_an_element:
        raise ValueError(
            f"strides of {name} must address each element once, not {desc.element_strides} "
            f"for sizes {desc.sizes}"
        )


def check_tensor(name: str, desc: object) -> None:
    """Check that a field of a descriptor is a `BufferTensorDesc`.

    Raises
    ------
    TypeError
        If it is anything else.
    """
    if not isinstance(desc, BufferTensorDesc):
        raise TypeError(f"{name} must be a BufferTensorDesc, not {type(desc).__name__}")
