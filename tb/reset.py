"""Bench: after a reset in the middle of a job the core works as if it were new."""

from __future__ import annotations

from typing import Any

import cocotb

from extremum.hdl.latency import pipeline_latency
from extremum.tb.back_to_back import board
from extremum.tb.backpressure import one_result_per_beat
from extremum.tb.bench import carry_out, core, started, status


@cocotb.test()
async def reset_in_mid_row(dut: Any) -> None:
    """After a reset in any clock of a job no result comes, and the next job's results are right."""
    bench = await started(dut)
    latency = pipeline_latency(core())
    interrupted, fresh = board(21, 5), board(22, 1)
    dense = one_result_per_beat(3 * latency)
    for clock in range(1, 3 * latency, 3):
        stalls = {"output_stalls": 100} if clock % 2 else {"input_stalls": 30}
        await bench.run(interrupted.run(**stalls), stop_after=clock)
        await bench.reset(clocks=1)
        assert not any(status(dut.status.value).values())
        await bench.quiet(latency + 20)
        await bench.run(dense.run(), stop_after=clock)
        await bench.reset(clocks=1)
        await carry_out(bench, fresh, input_stalls=30)


@cocotb.test()
async def reset_of_a_full_core(dut: Any) -> None:
    """A reset returns all credits, and drops the beats that waited in the queue."""
    bench = await started(dut)
    dense = one_result_per_beat(3 * pipeline_latency(core()))
    await bench.run(dense.run(output_stalls=100), stop_after=4 * pipeline_latency(core()))
    await bench.reset(clocks=1)
    await carry_out(bench, dense)
