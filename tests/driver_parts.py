"""What tests of the driver without a block share: a job to look at, and a channel that waits."""

from extremum.hdl.config import CoreConfig
from extremum.host.plan import plan
from extremum.model import DataType

THREE_LANES = CoreConfig((DataType.INT8,), lanes=3, max_window=(1, 3, 3))


def only_job(problem, config=THREE_LANES):
    (job,) = plan(problem, config).jobs
    return job


class Idle:
    """A DMA channel whose transfer ends when it is told to."""

    def __init__(self):
        self.idle, self.transferred = False, 0

    def transfer(self, array):
        self.idle, self.transferred = False, len(array)

    def wait(self):
        assert self.idle
