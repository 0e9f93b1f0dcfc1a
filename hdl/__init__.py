"""The gateware: a streaming datapath for argmin, argmax and max pooling, in Amaranth.

:class:`CoreConfig` says what a core is built for, :class:`JobRegisters` what it is told to do, and
:func:`generate` writes it as Verilog. :mod:`extremum.hdl.core` lets slots enter and results leave,
and :mod:`extremum.hdl.datapath` connects what lies between them, in the order in which a beat meets
it; ``docs/architecture.md`` describes the whole.
"""

from extremum.hdl.config import CoreConfig
from extremum.hdl.core import Core
from extremum.hdl.job import DimensionRegisters, JobRegisters
from extremum.hdl.ports import JobError
from extremum.hdl.verilog import generate

__all__ = ["Core", "CoreConfig", "DimensionRegisters", "JobError", "JobRegisters", "generate"]
