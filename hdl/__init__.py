"""The gateware: a streaming datapath for argmin, argmax and max pooling, in Amaranth."""

from extremum.hdl.config import CoreConfig
from extremum.hdl.core import Core
from extremum.hdl.job import DimensionRegisters, JobError, JobRegisters
from extremum.hdl.verilog import generate

__all__ = ["Core", "CoreConfig", "DimensionRegisters", "JobError", "JobRegisters", "generate"]
