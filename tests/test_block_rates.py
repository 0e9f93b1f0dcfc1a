"""Clocks through the AXI block: what it adds to the core's, and when jobs follow without a gap."""

import random
import tomllib
from types import SimpleNamespace

import numpy as np
import pytest
from amounts import mostly_slow
from bench_files import bench_modules

from extremum.hdl.axi import register_map as regs
from extremum.hdl.axi.streams import INPUT
from extremum.hdl.config import CoreConfig
from extremum.hdl.latency import job_interval
from extremum.host.driver.block import BlockDriver, Work
from extremum.host.driver.words import job_words
from extremum.host.plan import plan
from extremum.host.simulation.backend import StreamSettings
from extremum.host.simulation.native_block import NativeBlock
from extremum.model import DataType, Pooling, Reduction
from extremum.tb.cores import CORES
from extremum.tb.sequences import jobs

START_CLOCKS = 8
"""Clocks that lie between the last command of a job and its first beat, beside the core's own."""


READ_CLOCKS = 12
"""Clocks that reading a register takes, at most."""


@pytest.fixture(name="clocks", scope="module")
def clocks_of():
    """Return what is in the files of `bench` that count the clocks of the block."""
    modules = bench_modules("workloads", "block_clocks")
    return SimpleNamespace(
        **{name: value for each in modules for name, value in vars(each).items()}
    )


@pytest.fixture(name="block", scope="module", params=mostly_slow(CORES, ["image"]))
def block_of(request):
    block = NativeBlock(CORES[request.param])
    yield block, CORES[request.param]
    block.close()


def test_a_job_takes_a_few_clocks_more_than_on_the_core(clocks, block):
    """The first beat comes when the job waits for it. Slots in front of the elements are over."""
    native, config = block
    compared = 0
    for job, x in jobs(random.Random(3), config, 150):
        driver = clocks.punctual_driver(native, config)
        native.begin(StreamSettings())
        driver.run([Work(job, x, lambda values, positions: None)])
        if job.beats_in > 20 and not job.schedule.first_element:
            assert 0 <= native.clocks.cycles - job.cycles <= clocks.BLOCK_CLOCKS, job
            compared += 1
    assert compared > 15


def row_jobs(config, beats, count):
    """Return jobs of so many beats, each a result for every lane."""
    x = np.zeros((config.lanes, beats), config.data_types[0].dtype)
    (job,) = plan(Reduction.of("max", x.shape, x.dtype, 1), config).jobs
    assert job.beats_in == beats
    return [(job, x)] * count


def idle_beats(clocks, block, work, config, *, rewritten, held):
    """Return the clocks without a beat on ``s_axis`` before and in each packet but the first.

    The jobs run one behind the other on a block that is quiet. `rewritten` are the addresses of the
    registers that are written for each job, changed or not; `held` packets are offered only when so
    many jobs have been started.
    """
    driver = clocks.punctual_driver(block, config, held)
    block.begin(StreamSettings())
    for job, x in work:
        driver.forget(rewritten)
        driver.start(Work(job, x, lambda values, positions: None))
    driver.finish()
    last = block.packets(INPUT)[:, 1].astype(np.int64)
    return (np.diff(last) - [job.beats_in for job, _ in work[1:]]).tolist()


@pytest.mark.parametrize("share", [0, 0.5, 1])
def test_jobs_whose_commands_wait_follow_without_a_gap(clocks, block, share):
    """A job of as many beats as it has commands, and as the core needs from job to job."""
    native, config = block
    names = list(job_words(row_jobs(config, 50, 1)[0][0]))
    rewritten = names[: round(share * len(names))]
    # The commands of three jobs at a time fit the queue, or are carried out already.
    least = len(rewritten) + 1 + job_interval(config) + START_CLOCKS
    for beats in (least, least + 1, 2 * least):
        work = row_jobs(config, beats, 3)
        idle = idle_beats(clocks, native, work, config, rewritten=rewritten, held=3)
        assert idle == [0, 0], beats
    work = row_jobs(config, least - 2 * START_CLOCKS, 3)
    assert sum(idle_beats(clocks, native, work, config, rewritten=rewritten, held=3)) > 0


def test_jobs_whose_registers_are_written_meanwhile_follow_without_a_gap(clocks, block):
    """A write takes two clocks, so jobs of two beats for each command can follow for ever.

    Now and then the driver reads how much space the queue has.
    """
    native, config = block
    names = list(job_words(row_jobs(config, 50, 1)[0][0]))
    commands = len(names) + 1
    least = max(2 * commands + READ_CLOCKS, commands + job_interval(config)) + START_CLOCKS
    work = row_jobs(config, least, 30)
    idle = idle_beats(clocks, native, work, config, rewritten=names, held=1)
    assert idle[2:] == [0] * 27


@pytest.mark.slow
def test_between_poolings_lie_the_slots_that_take_no_beat(clocks):
    """The flush: windows in the end padding are given when the last beat of a job has come."""
    config = CoreConfig((DataType.INT8,), max_window=(1, 3, 3), max_line=28)
    x = np.zeros((1, 1, 28, 28), np.int8)
    padded = Pooling.of(x.shape, x.dtype, 3, start_padding=1, end_padding=1)
    plain = Pooling.of(x.shape, x.dtype, 2, strides=2)
    native = NativeBlock(config)
    for problem, flush in ((padded, 29), (plain, 0)):
        (job,) = plan(problem, config).jobs
        assert job.schedule.slots - job.beats_in == flush
        work = [(job, x)] * 3
        assert idle_beats(clocks, native, work, config, rewritten=[], held=3) == [flush, flush]
    native.close()


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["small", "fast"])
@pytest.mark.parametrize("lanes", [1, 4])
def test_the_workloads_keep_their_clocks(clocks, lanes, setting):
    """Some workloads, scaled down, are as fast through the block as the bound allows."""
    workloads = tomllib.loads(clocks.WORKLOADS.read_text())["workload"]
    for seed, workload in enumerate(workloads):
        if workload["name"] in ("k2s2p1", "yolo_sppf", "greedy_decode", "i3d_pool"):
            sizes = clocks.scaled(workload, 1 << 15)
            record = clocks.measure(workload | {"sizes": sizes}, lanes, setting, seed)
            assert not record["faults"], record


def stalls_in(native, job, packets, words=()):
    """Return what `STALLS_IN` counts of jobs that are alike, whose packets have so many beats.

    All packets are offered before the first job is started, without a rest between their beats.
    `words` are written behind the registers of the first job.
    """
    lanes_bytes = job.config.lanes * job.config.element_width // 8
    counters = [regs.COUNTER_BASE + 4 * number for number in range(len(regs.COUNTERS))]
    native.reset(2)
    native.begin(StreamSettings())
    for beats in packets:
        native.send([np.zeros(beats * lanes_bytes, np.uint8)], beats * lanes_bytes)
        for stream in ("m_axis_value", "m_axis_index"):
            native.receive(stream, 1 << 20, lambda part, last: None)
    for address, word in (*job_words(job).items(), *words):
        native.write(address, word)
    for _ in packets:
        native.write(regs.command_address(regs.START_COMMAND), 1)
    native.pass_clocks(1000)
    told = dict(zip([name for name, _ in regs.COUNTERS], map(native.read, counters), strict=True))
    assert (told["JOBS"], told["BEATS_IN"]) == (len(packets), sum(packets))
    return told["STALLS_IN"]


def test_beats_that_are_made_up_are_no_stalls(block):
    """A packet that ends early costs the core no clock more than one of the right length."""
    native, config = block
    ((job, _),) = row_jobs(config, 50, 1)
    whole = stalls_in(native, job, [50])
    assert [stalls_in(native, job, [beats]) for beats in (1, 2, 25, 49)] == [whole] * 4


def test_beats_that_are_dropped_are_stalls_of_the_job_behind(block):
    """It waits for its own beats; while the packet of a refused job is dropped, no job waits."""
    native, config = block
    ((job, _),) = row_jobs(config, 50, 1)
    more = (100, 101, 130)
    late = [stalls_in(native, job, [50 + beats, 50]) for beats in more]
    assert [stalls - late[0] for stalls in late] == [0, 1, 30]
    misfit = next(
        (regs.command_address(regs.command_number(name)), 1 << bits.width)
        for name, bits in regs.written_bits(config).items()
        if bits.width < regs.WORD_BITS and not regs.is_position(name)
    )
    refused = [stalls_in(native, job, [beats, 50], [misfit]) for beats in more]
    assert refused == [stalls_in(native, job, [50])] * 3


def test_packets_are_counted_by_the_simulation(block):
    """The clocks of the packets are those of the beats."""
    native, config = block
    driver = BlockDriver(native, config)
    native.begin(StreamSettings())
    driver.run(Work(job, x, lambda values, positions: None) for job, x in row_jobs(config, 99, 4))
    packets = native.packets(INPUT)
    assert len(packets) == 4
    assert np.all(np.diff(packets.reshape(-1).astype(int)) > 0)
    assert native.clocks.first == packets[0, 0]
    assert native.clocks.taken == 4 * 99
