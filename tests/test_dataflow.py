"""The dataflow form of the AXI block, which has streams alone, through driver and accelerator."""

import numpy as np
import pytest
from amounts import mostly_slow
from dataflow_cores import CORES
from equal_bits import assert_equal_bits
from simulation import BLOCKS, ONE_COCOTB, chosen

from extremum.host import Accelerator
from extremum.host.driver.block import BlockDriver, Work
from extremum.host.errors import DeviceError, SimulationError
from extremum.host.plan import dataflow_core, plan
from extremum.host.report import BlockReport
from extremum.host.simulation.native_block import NativeBlock
from extremum.model import Pooling

QUICK = ["row", "tailed planes", "uneven planes, small"]


def compared(accelerator, problem, rng):
    """Run an operator on a tensor with ties, compare it with the model, and return the report."""
    x = rng.integers(-9, 9, problem.sizes).astype(problem.data_type.dtype)
    given, golden = accelerator.run(problem, x), problem.evaluate(x)
    pairs = zip(given, golden, strict=True) if isinstance(given, tuple) else [(given, golden)]
    for ours, expected in pairs:
        assert_equal_bits(ours, expected)
    return accelerator.report


@pytest.mark.parametrize("stalls", [{}, {"input_stalls": 50, "output_stalls": 50}])
@pytest.mark.parametrize("core", mostly_slow(CORES, QUICK))
@pytest.mark.parametrize("simulator", ["native axi", *BLOCKS[1:]])
def test_operators(simulator, core, stalls):
    """Results are those of the model; the simulation counts, since such a block does not."""
    config, problem = CORES[core]
    rng = np.random.default_rng(1)
    with Accelerator(config, **chosen(simulator), **stalls) as accelerator:
        for _ in range(3):
            report = compared(accelerator, problem, rng)
            assert isinstance(report, BlockReport)
            assert report.cycles is not None
            assert report.counters == {}
            assert report.jobs == 1
            if not stalls:
                # Behind another job, the first beat may wait until a small core has begun.
                late = report.cycles - report.predicted_cycles
                assert 0 <= late <= (config.pipelining != "fast")


@pytest.mark.parametrize("core", mostly_slow(CORES, QUICK))
@pytest.mark.parametrize("backend", ONE_COCOTB)
def test_operators_on_the_bare_core(backend, core):
    """It has no job port. The second operator begins behind the first, without a reset."""
    config, problem = CORES[core]
    rng = np.random.default_rng(1)
    with Accelerator(config, backend=backend) as accelerator:
        for _ in range(2):
            report = compared(accelerator, problem, rng)
            assert report is not None
            assert report.cycles == report.predicted_cycles


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
