"""A core, or the AXI block around it, as Verilog text."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files

from amaranth.back import verilog
from amaranth.hdl import ClockSignal, Instance, Module

from extremum.hdl.axi.block import AxiBlock
from extremum.hdl.config import BUSES, CoreConfig, check_is_config
from extremum.hdl.core import Core
from extremum.hdl.registered_memory import RegisteredMemory
from extremum.hdl.whole_nets import with_whole_nets

TOP = "extremum_core"
"""Name of the module of a bare core."""

BLOCK = "extremum_axi"
"""Name of the module of an AXI block."""

TOPS = {"none": TOP, "axi": BLOCK}
"""The names of the modules, by the bus that they have."""

MEMORY = "extremum_memory"
"""Name of the module in ``hdl/memory.v``, of which every large memory is an instance."""


def component_of(config: CoreConfig, bus: str) -> Core | AxiBlock:
    """Return the bare core (bus ``"none"``), or the AXI block around it (``"axi"``).

    Raises
    ------
    TypeError
        ``config`` is no configuration.
    ValueError
        The bus is neither.
    """
    check_is_config(config)
    if bus not in BUSES:
        raise ValueError(f"bus must be one of {', '.join(BUSES)}, not {bus!r}")
    return AxiBlock(config) if bus == "axi" else Core(config)


def generate(config: CoreConfig, platform: object = None, *, bus: str = "none") -> str:
    """Return the Verilog of a core, or of the AXI block around it; equal arguments give equal text.

    Parameters
    ----------
    config
        Configuration of the core.
    platform
        May bring memories of its own (:class:`extremum.hdl.ecp5.Ecp5`). Without one each large
        memory is an instance of the module :data:`MEMORY`, which the text contains.
    bus
        ``"none"``: the module is :data:`TOP`, and its ports are ``clk``, ``rst`` (synchronous,
        active high) and the members of :class:`extremum.hdl.core.Core`, joined by double
        underscores. ``"axi"``: it is :data:`BLOCK`, and its ports are as AXI names them, see
        :class:`extremum.hdl.axi.block.AxiBlock`.

    Raises
    ------
    TypeError
        ``config`` is no configuration.
    ValueError
        The bus is neither.
    """
    component, memories = component_of(config, bus), VerilogMemories()
    with _without_garbage_collection():
        text = verilog.convert(
            component,
            name=TOPS[bus],
            platform=memories if platform is None else platform,
            emit_src=False,
        )
    text = with_whole_nets(text)
    return text + (files("extremum.hdl") / "memory.v").read_text() if memories.used else text


class VerilogMemories:
    """A platform whose memories are instances of one parametrised Verilog module.

    Amaranth writes the initial value of every word of a memory as a statement of its own, and
    handles each of its bits as an object: most of the time that generating a large core took, and
    half of its Verilog. The module initialises its words in a loop instead.

    Attributes
    ----------
    used : bool
        Whether there is a memory in the design.
    """

    def __init__(self) -> None:
        self.used = False

    def get_registered_memory(self, memory: RegisteredMemory) -> Module:
        """Return a module that holds one instance, connected to the memory's ports."""
        self.used = True
        m = Module()
        m.submodules.memory = Instance(
            MEMORY,
            p_WIDTH=memory.width,
            p_DEPTH=memory.depth,
            p_ADDRESS_BITS=len(memory.read_address),
            **({} if memory.has_output_register else {"p_OUTPUT_REGISTER": 0}),
            i_clk=ClockSignal(),
            i_read_address=memory.read_address,
            i_read_enable=memory.read_enable,
            i_output_enable=memory.output_enable,
            o_read_data=memory.read_data,
            i_write_address=memory.write_address,
            i_write_data=memory.write_data,
            i_write_enable=memory.write_enable,
        )
        return m


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Stop Python's cyclic garbage collector within a ``with`` block, to save time.

    A netlist consists of millions of small objects that all stay until it is written. Searching
    them for unused ones again and again took a third of the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
