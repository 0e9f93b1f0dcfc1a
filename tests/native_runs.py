"""Random jobs back to back on a simulated core, with stalls at its ports."""

from typing import Any

import numpy as np

from extremum.host.simulation.backend import JobRun
from extremum.tb.sequences import jobs

JOBS_PER_CORE = 75
WATCHDOG = 5_000


def runs(source, config):
    """Yield runs of one to four random jobs, each with its stalls and its seed."""
    left = JOBS_PER_CORE
    while left > 0:
        batch = list(jobs(source, config, source.randint(1, 4)))
        left -= len(batch)
        options: dict[str, Any] = {
            "input_stalls": source.choice((0, 0, 30, 80)),
            "output_stalls": source.choice((0, 0, 30, 80)),
            "job_stalls": source.choice((0, 0, 30, 80)),
            "seed": source.randrange(1 << 31),
        }
        yield batch, options


def carry_out(simulator, config, batch, options):
    """Run jobs back to back; return their results as the core gives them, cycles and statuses."""
    given: list[bytes] = []

    def take(values, positions):
        given.extend(
            value.tobytes() + position.tobytes()
            for value, position in zip(values, positions, strict=True)
        )

    run = JobRun(
        [job.registers.to_bits(config) for job, _ in batch],
        (piece for job, x in batch for piece in job.pieces(x)),
        sum(job.beats_in for job, _ in batch),
        [job.beats_out for job, _ in batch],
        np.dtype(f"u{config.element_width // 8}"),
        watchdog=WATCHDOG,
        **options,
    )
    return given, simulator.run(run, take)
