"""Jobs that come to a block of the pipeline, as the core sends them."""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.hdl import Const, Signal, Value
from amaranth.lib import data

from extremum.hdl.config import CoreConfig
from extremum.hdl.registers import register
from extremum.tb.formal.property import Inside, Property


class Job:
    """A job that may come at any time, and stays on the port until its token has passed.

    Attributes
    ----------
    registers
        Those of the job that the elements belong to.
    begun
        There has been a job since the reset.
    """

    def __init__(self, p: Property, port: data.View, token: Signal, clocks: int):
        self.registers: data.View = Signal(port.shape(), name="mine")  # pyright: ignore
        self.begun = Signal(name="begun")
        recent = Signal(clocks, name="recent")
        own = p.before(Value.cast(port))
        p.m.d.sync += recent.eq(Value.cast(recent << 1) | token)
        p.assume(~recent.any() | (~token & (Value.cast(port) == own)))
        with p.m.If(token):
            p.m.d.sync += [self.registers.eq(port), self.begun.eq(1)]

    def of(self, p: Property, config: CoreConfig, name: str, clocks: int) -> Value:
        """Return a register of the job to which the elements of some clocks ago belonged."""
        own = register(config, self.registers, name)
        return own if isinstance(own, Const) else p.late(own, clocks)

    def is_in(
        self, p: Property, inside: Inside, config: CoreConfig, names: Iterable[str], clocks: int
    ) -> None:
        """Help the induction: the registers in the block, some clocks behind, are the job's."""
        begun = p.late(self.begun, clocks)
        for name in names:
            if inside.has(name):
                is_own = inside.signal(name) == self.of(p, config, name, clocks)
                p.invariant(f"{name} is the job's", ~begun | is_own)
