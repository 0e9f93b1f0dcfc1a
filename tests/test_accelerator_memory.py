"""Ranks, layouts of memory, and descriptors on raw buffers."""

import numpy as np
import pytest
from accelerators import check
from simulation import NATIVE_FIRST

from extremum import model

pytestmark = pytest.mark.parametrize("simulator", NATIVE_FIRST)


@pytest.mark.parametrize("rank", range(1, 9))
def test_every_rank(hardware, simulator, rank):
    accelerator = hardware("every_type", simulator)
    rng = np.random.default_rng(rank)
    shape = tuple(rng.permutation([5, 3, 2, 2, 1, 2, 2, 1][:rank]))
    x = rng.integers(-3, 3, shape).astype(np.int32)
    check(accelerator, "argmax", x)
    check(accelerator, "argmin", x, -1)
    check(accelerator, "reduce_max", x, tuple(range(0, rank, 2)))
    check(accelerator, "argmax", x, tuple(range(rank - 1, -1, -2)), axis_direction="decreasing")


def test_memory_layouts(hardware, simulator):
    accelerator = hardware("every_type", simulator)
    rng = np.random.default_rng(3)
    base = rng.integers(0, 9, (4, 6, 8)).astype(np.float32)
    for x in (
        np.broadcast_to(base[:, :1], (4, 6, 8)),
        base[::-1, ::2, ::-3],
        base.T,
        np.asfortranarray(base),
        base.astype(">f4"),
        np.broadcast_to(np.float32(3), (2, 3, 4)),
    ):
        before = x.tobytes()
        check(accelerator, "argmax", x, (0, 2))
        check(accelerator, "reduce_min", x)
        check(accelerator, "max_pooling", x[None], 2, return_indices=True)
        assert x.tobytes() == before


def test_execute_on_raw_buffers(hardware, simulator):
    """Strided, broadcast and padded buffers in, strided out, nothing else written."""
    accelerator = hardware("every_type", simulator)
    rng = np.random.default_rng(8)
    source = rng.integers(0, 256, 400, np.uint8)
    tensor = model.BufferTensorDesc(model.DataType.INT16, (2, 3, 4, 5), strides=(0, 25, 6, 1))
    reduced = model.BufferTensorDesc(model.DataType.UINT64, (2, 1, 4, 1), strides=(30, 9, 3, 2))
    pooled = model.BufferTensorDesc(model.DataType.INT16, (2, 3, 3, 4), strides=(80, 20, 5, 1))
    indices = model.BufferTensorDesc(model.DataType.UINT32, (2, 3, 3, 4))
    for desc in (
        model.ArgMaxOperatorDesc(tensor, reduced, (1, 3), model.AxisDirection.DECREASING),
        model.ArgMinOperatorDesc(tensor, reduced, (1, 3)),
        model.ReduceOperatorDesc(
            model.ReduceFunction.MAX,
            tensor,
            model.BufferTensorDesc(model.DataType.INT16, (2, 1, 1, 5)),
            (1, 2),
        ),
        model.MaxPoolingOperatorDesc(tensor, pooled, (1, 1), (2, 2), (0, 0), (0, 0)),
        model.MaxPooling1OperatorDesc(tensor, pooled, indices, (1, 1), (2, 2), (0, 0), (0, 0)),
        model.MaxPooling2OperatorDesc(
            tensor, pooled, indices, (1, 1), (2, 2), (1, 0), (0, 1), (2, 2)
        ),
    ):
        outputs = [
            np.full(out.total_tensor_size_in_bytes, 0xA5, np.uint8)
            for out in (desc.output_tensor, getattr(desc, "output_indices_tensor", None))
            if out is not None
        ]
        expected = [out.copy() for out in outputs]
        desc.evaluate(source, out=expected if len(expected) > 1 else expected[0])
        accelerator.execute(desc, source, out=outputs if len(outputs) > 1 else outputs[0])
        for actual, e in zip(outputs, expected, strict=True):
            assert actual.tobytes() == e.tobytes()
        for actual, e in zip(accelerator.execute(desc, source), desc.evaluate(source), strict=True):
            assert np.asarray(actual).tobytes() == np.asarray(e).tobytes()
