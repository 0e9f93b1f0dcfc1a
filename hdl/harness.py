"""The timing harness: registers around a core, so that a measurement times all of its paths.

An AXI block can stand in the place of the bare core.
"""

from __future__ import annotations

from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue] (not in the stubs)
from amaranth.hdl import Cat, ClockSignal, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from extremum.hdl.config import CoreConfig
from extremum.hdl.verilog import component_of

CLOCK = ("aclk",)
"""The port of an AXI block that is no signal to time, but the clock."""

TOP = "harness"
"""Name of the netlist's top module; the core within it is named ``core``."""


class TimingHarness(wiring.Component):
    """Puts a register on every port of the core, and does nothing else.

    Tools time the paths between registers, but not those from or to a pin. Within the harness the
    logic at the core's ports is between registers too.

    Parameters
    ----------
    config
        Configuration of the core.
    bus
        ``"none"`` for the bare core, ``"axi"`` for the AXI block around it.
    pins
        Whether each bit of a port has a pin. Otherwise, for parts with few pins, the inputs are
        shifted in from a single pin, and the outputs end in registers that tools must keep.

    Members
    -------
    With ``pins`` the ports of the core, each as plain bits; otherwise ``scan : In(1)``.
    """

    scan: Signal

    def __init__(self, config: CoreConfig, *, bus: str = "none", pins: bool = True):
        self._core = component_of(config, bus)
        self._pins = pins
        # The block brings a domain of its own, made of its clock and reset.
        self._domain = "port" if bus == "axi" else "sync"
        members = {"scan": In(1)}
        if pins:
            members = {
                "__".join(map(str, path)): wiring.Member(member.flow, len(Value.cast(port)))
                for path, member, port in self._core.signature.flatten(self._core)
                if path != CLOCK
            }
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.core = core = self._core
        chain: list[Value] = []
        for path, member, port in core.signature.flatten(core):
            name, value = "__".join(map(str, path)), Value.cast(port)
            if path == CLOCK:
                m.d.comb += value.eq(ClockSignal(self._domain))
                continue
            # Nothing reads the registers of the outputs: without this attribute tools would remove
            # them, and all logic in front of them.
            register = Signal(len(value), name=f"port_{name}", reset_less=True, attrs={"keep": 1})
            if member.flow is wiring.In:
                m.d.comb += value.eq(register)
                chain.append(register)
            else:
                m.d[self._domain] += register.eq(value)
            if self._pins:
                pin = getattr(self, name)
                if member.flow is wiring.In:
                    m.d[self._domain] += register.eq(pin)
                else:
                    m.d.comb += pin.eq(register)
        if not self._pins:
            scan = Cat(self.scan, *chain)
            m.d[self._domain] += scan[1:].eq(scan[:-1])
        return m


def netlist(
    config: CoreConfig, *, bus: str = "none", pins: bool = True, platform: object = None
) -> str:
    """Return the RTLIL of a core in its harness.

    Measurements are stored by its text without the attributes that name lines of the sources, so a
    changed comment does not make them stale.

    Parameters
    ----------
    config, bus, pins
        See :class:`TimingHarness`.
    platform
        Provides a part's own memories (:class:`extremum.hdl.ecp5.Ecp5`); None leaves them to Yosys.
    """
    return str(rtlil.convert(TimingHarness(config, bus=bus, pins=pins), TOP, platform))
