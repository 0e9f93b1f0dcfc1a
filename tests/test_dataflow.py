"""The dataflow form of the AXI block, which has streams alone, through driver and accelerator."""

from dataclasses import replace

import numpy as np
import pytest
from amounts import mostly_slow
from equal_bits import assert_equal_bits
from simulation import BLOCKS, chosen

from extremum.hdl.axi.streams import is_programmable
from extremum.hdl.config import CoreConfig
from extremum.host import Accelerator
from extremum.host.driver.block import BlockDriver, Work
from extremum.host.errors import DeviceError, SimulationError
from extremum.host.plan import dataflow_core, plan
from extremum.host.plan.dataflow import fixed_to
from extremum.host.report import BlockReport
from extremum.host.simulation.native_block import NativeBlock
from extremum.model import DataType, Pooling, Reduction

PLANES = Pooling.of((1, 4, 8, 8), "int8", 2, strides=2, return_indices=True)
PADDED = Pooling.of((1, 4, 6, 7), "int8", 3, start_padding=1, end_padding=1)
TAILED = Pooling.of((1, 3, 8, 8), "int8", 2, strides=2, return_indices=True)
UNEVEN = Pooling.of((1, 4, 13, 6), "uint8", (2, 1), strides=(7, 1))
"""Four lines of each plane lie behind its last windows, and so behind the last result."""
BEYOND = Pooling.of((2, 3, 2, 5), "int8", (3, 2), strides=(3, 1), end_padding=(2, 0))
"""The last tap of every column of taps lies in padding, so it is left out."""
VOLUME = Pooling.of(
    (1, 3, 3, 5, 4), "float16", (2, 3, 2), strides=(1, 2, 1), start_padding=(0, 1, 0),
    return_indices=True, index_layout="column_major",
)  # fmt: skip
DEEP = Pooling.of((2, 2, 3, 4, 5), "int16", (1, 2, 2), strides=(2, 3, 1))
"""Only every other plane has windows, and each is a plane of its own."""
ROW = Reduction.of("argmax", (1, 30), "int8", 1)
ROWS = Reduction.of("argmax", (3, 30), "int8", 1)
MANY_ROWS = Reduction.of("argmin", (7, 6), "int8", 1)
SMALL = {"max_window": (1, 3, 3), "max_line": 16, "max_plane": 1, "coordinate_width": 6}


def fixed(config, problem):
    """Return the core that has every register fixed to what the only job of an operator needs."""
    (job,) = plan(problem, config).jobs
    made = fixed_to(job)
    assert not is_programmable(made)
    return made


FLAT = CoreConfig((DataType.INT8,), max_window=(1, 1, 1))

CORES = {
    "planes": (fixed(CoreConfig((DataType.INT8,), 2, **SMALL), PLANES), PLANES),
    "narrow positions": (
        fixed(CoreConfig((DataType.INT8,), 2, index_width=9, **SMALL), PLANES), PLANES
    ),
    "padded": (fixed(CoreConfig((DataType.INT8,), 1, index_width=0, **SMALL), PADDED), PADDED),
    "row": (
        fixed(
            CoreConfig((DataType.INT8,), max_window=(1, 1, 1), operators=("argmax",)), ROW
        ),
        ROW,
    ),
    # Of four lanes, three have rows; one has the result of a row that is folded; and the last beat
    # of seven rows, folded or not, has results in three. The last group of planes has one.
    "rows": (fixed(replace(FLAT, lanes=4), ROWS), ROWS),
    "folded row": (fixed(replace(FLAT, lanes=4, fixed=(("fold", 1),)), ROW), ROW),
    "many rows": (fixed(replace(FLAT, lanes=4, fixed=(("fold", 0),)), MANY_ROWS), MANY_ROWS),
    "folded rows": (fixed(replace(FLAT, lanes=4, fixed=(("fold", 1),)), MANY_ROWS), MANY_ROWS),
    "uneven planes": (fixed(CoreConfig((DataType.UINT8,), 2, **SMALL), UNEVEN), UNEVEN),
    "uneven planes, small": (
        fixed(CoreConfig((DataType.UINT8,), 2, pipelining="small", **SMALL), UNEVEN), UNEVEN
    ),
    "own core of a volume": (dataflow_core(VOLUME, lanes=2, pipelining="balanced"), VOLUME),
    "own core of planes": (dataflow_core(DEEP, lanes=3), DEEP),
    "own core of rows": (dataflow_core(MANY_ROWS, lanes=4, pipelining="small"), MANY_ROWS),
    "a tap beyond": (fixed(CoreConfig((DataType.INT8,), 1, **SMALL), BEYOND), BEYOND),
    "tailed planes": (fixed(CoreConfig((DataType.INT8,), 2, **SMALL), TAILED), TAILED),
}  # fmt: skip


QUICK = ["row", "tailed planes", "uneven planes, small"]


@pytest.mark.parametrize("stalls", [{}, {"input_stalls": 50, "output_stalls": 50}])
@pytest.mark.parametrize("core", mostly_slow(CORES, QUICK))
@pytest.mark.parametrize("simulator", ["native axi", *BLOCKS[1:]])
def test_operators(simulator, core, stalls):
    """Results are those of the model; the simulation counts, since such a block does not."""
    config, problem = CORES[core]
    rng = np.random.default_rng(1)
    with Accelerator(config, **chosen(simulator), **stalls) as accelerator:
        for _ in range(3):
            x = rng.integers(-9, 9, problem.sizes).astype(problem.data_type.dtype)
            given, golden = accelerator.run(problem, x), problem.evaluate(x)
            pairs = (
                zip(given, golden, strict=True) if isinstance(given, tuple) else [(given, golden)]
            )
            for ours, expected in pairs:
                assert_equal_bits(ours, expected)
            report = accelerator.report
            assert isinstance(report, BlockReport)
            assert report.cycles is not None
            assert report.counters == {}
            assert report.jobs == 1
            if not stalls:
                # Behind another job, the first beat may wait until a small core has begun.
                late = report.cycles - report.predicted_cycles
                assert 0 <= late <= (config.pipelining != "fast")


@pytest.mark.filterwarnings("ignore::extremum.model.EmptyWindowWarning")
@pytest.mark.parametrize("pipelining", mostly_slow(["small", "fast"], ["small"]))
def test_the_first_beat_may_wait_for_windows_of_padding_alone(pipelining):
    """Three rows of them: that many clocks more are predicted, and nearly as many counted."""
    problem = Pooling.of((1, 1, 12, 12), "int8", 2, start_padding=(6, 0))
    config = dataflow_core(problem, pipelining=pipelining)
    x = np.arange(144, dtype=np.int8).reshape(problem.sizes)
    figures = {}
    for bus in ("none", "axi"):
        with Accelerator(config, bus=bus) as accelerator:
            for _ in range(2):
                assert_equal_bits(accelerator.run(problem, x), problem.evaluate(x))
            report = accelerator.report
            assert report is not None
            figures[bus] = report.cycles, report.predicted_cycles
    (bare, predicted), (cycles, most) = figures["none"], figures["axi"]
    assert bare == predicted
    assert most > predicted + 48
    assert most - 24 <= cycles <= most


def test_another_operator_is_refused():
    config, _ = CORES["row"]
    message = r"^the core was built with the job register \w+ fixed to 30, and the job needs 31$"
    with Accelerator(config, bus="axi") as accelerator, pytest.raises(ValueError, match=message):
        accelerator.argmax(np.zeros((1, 31), np.int8), 1)


def test_a_driver_without_registers():
    """Nothing is read or written: such a block has nowhere to."""
    config, _ = CORES["row"]
    block = NativeBlock(config)
    driver = BlockDriver(block, config)
    assert driver.counters() == {}
    driver.clear_counters()
    driver.reset()
    driver.finish()
    assert block.clocks.taken == 0
    block.close()
    for told in ("clocks", "interrupt"):
        with pytest.raises(SimulationError, match=r"^native has been closed$"):
            getattr(block, told)


def test_nothing_is_started_if_the_last_job_is_for_another_block():
    """Most jobs of this pooling are those of the block, and its last has fewer planes."""
    config = dataflow_core(Pooling.of((1, 4, 13, 6), "uint8", (2, 1), strides=(7, 1)))
    problem = Pooling.of((1, 5, 13, 6), "uint8", (2, 1), strides=(7, 1))
    x = np.zeros(problem.sizes, np.uint8)
    block = NativeBlock(config)
    driver = BlockDriver(block, config)
    with pytest.raises(ValueError, match="job register groups fixed to 4, and the job needs 1"):
        driver.compute(problem, x)
    driver.reset()  # it says so if something is under way
    assert block.clocks.taken == 0
    block.close()


def test_a_dataflow_block_that_lost_its_place():
    """It has no soft reset, so the driver says that it cannot end what is under way."""
    config, problem = CORES["row"]
    (job,) = plan(problem, config).jobs
    x = np.random.default_rng(1).integers(-9, 9, problem.sizes).astype(np.int8)
    block = NativeBlock(config)
    driver = BlockDriver(block, config)
    driver.start(Work(job, x, lambda *_: None))
    message = r"^a dataflow block has no soft reset: pull aresetn low, and make another driver$"
    with block.resetting(), pytest.raises(DeviceError, match=message):
        driver.reset()
    block.reset()
    driver = BlockDriver(block, config)
    assert_equal_bits(driver.compute(problem, x), problem.evaluate(x))
    driver.reset()
    block.close()
