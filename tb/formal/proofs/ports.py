"""The ports of whole cores and blocks: what is offered stays until it is taken."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from amaranth.hdl import ClockSignal, Signal, Value

from extremum.hdl.axi.block import AxiBlock
from extremum.hdl.axi.streams import is_programmable, port_widths
from extremum.hdl.config import CoreConfig
from extremum.hdl.core import Core
from extremum.model import DataType
from extremum.tb.formal.fault import Fault
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.property import Property
from extremum.tb.formal.streams import offers_stay

SMALL = CoreConfig(
    (DataType.UINT8,), max_window=(1, 2, 2), max_dilation=(1, 1, 1), max_line=4,
    coordinate_width=4, index_width=8,
)  # fmt: skip
LANES = CoreConfig((DataType.UINT8,), lanes=2, max_window=(1, 1, 1), index_width=8)
FLOWING = CoreConfig(
    (DataType.UINT8,), max_window=(1, 1, 1), operators=("argmax",), index_width=4,
    fixed=(("length", 3), ("slots", 3), ("decreasing", 0)),
)  # fmt: skip
PAIRED = replace(
    FLOWING, operators=("argmax", "max-pool"), fixed=(*FLOWING.fixed, ("minimum", 0))
)  # fmt: skip
WIDE = replace(PAIRED, data_types=(DataType.UINT32,), index_width=24)


def core(config: CoreConfig, p: Property) -> None:
    """State the rules of the output stream of a whole core."""
    block = Core(config)
    p.add("core", block)
    offers_stay(p, "o", block.o.valid, block.o.ready, block.o.payload)


def block(config: CoreConfig, p: Property) -> None:
    """State the rules of every port on which a whole block offers something."""
    whole = AxiBlock(config)
    p.add("block", whole, driven=("aclk",), domain="block")
    p.m.d.comb += whole.aclk.eq(ClockSignal("sync"))
    p.never_reset()
    # A reset ends what is offered, in the clocks that it needs to be known.
    resets = Signal(4, name="resets")
    p.m.d.sync += resets.eq(Value.cast(resets << 1) | ~whole.aresetn)
    excused = resets.any()
    for name, width in port_widths(config).items():
        if width and name != "s_axis":
            valid, ready, *payload = (
                getattr(whole, f"{name}_{part}")
                for part in ("tvalid", "tready", "tdata", "tkeep", "tlast")
            )
            offers_stay(
                p, name, valid, ready, *payload,
                unless=excused, is_reached=not is_programmable(config),
            )  # fmt: skip
    if is_programmable(config):
        lite = {
            name: getattr(whole, f"s_axil_{name}")
            for name in ("bvalid", "bready", "bresp", "rvalid", "rready", "rresp", "rdata")
        }
        offers_stay(p, "b", lite["bvalid"], lite["bready"], lite["bresp"], unless=excused)
        offers_stay(
            p, "r", lite["rvalid"], lite["rready"], lite["rresp"], lite["rdata"], unless=excused
        )


QUEUE = Fault("the queue's output takes a word while the sink waits", "extremum.hdl.queue",
              "free = ~self.valid | self.ready\n        waiting",
              "free = ~self.valid | self.ready | self.write\n        waiting")  # fmt: skip
DEEP = Fault("the memory's output goes on while the sink waits", "extremum.hdl.queue",
             "output_free = ~self.valid | self.ready",
             "output_free = ~self.valid | self.ready | both")  # fmt: skip
REGISTER = Fault("an offer changes while it waits", "extremum.hdl.axi.buffers",
                 "with m.If(is_free):\n",
                 "m.d.sync += self.o_data.eq(self.i_data)\n"
                 "        with m.If(is_free):\n")  # fmt: skip
BUFFER = Fault("an offer is overwritten", "extremum.hdl.axi.buffers",
               "with m.If(self.o_ready | is_empty):",
               "with m.If(self.o_ready | is_empty | comes):")  # fmt: skip

ANSWER = Fault("an answer goes before it is taken", "extremum.hdl.axi.lite",
               "with m.Elif(axi.bready):", "with m.Else():")  # fmt: skip

PROOFS = (
    Proof(
        "ports-core", "hdl/core.py",
        "What a core with windows of 2 by 2 offers stays, with its payload, until it is taken, "
        "whatever comes on its other ports.",
        partial(core, SMALL), depth=2, search=45, faults=(DEEP,),
    ),
    Proof(
        "ports-core-dataflow", "hdl/core.py",
        "The same of a core without a job port.",
        partial(core, FLOWING), depth=2, search=30, faults=(QUEUE,),
    ),
    Proof(
        "ports-block", "hdl/axi/block.py",
        "What a block of two lanes offers on its output streams and on AXI4-Lite stays, with its "
        "payload, until it is taken, also if a soft reset comes.",
        partial(block, LANES), depth=7, search=20, faults=(ANSWER,),
    ),
    Proof(
        "ports-block-dataflow", "hdl/axi/block.py",
        "The same of a block that has streams alone, and gives positions from the core's queue.",
        partial(block, FLOWING), depth=6, search=30, faults=(QUEUE,),
    ),
    Proof(
        "ports-block-pair", "hdl/axi/block.py",
        "The same of a block that gives values and positions, each from a register.",
        partial(block, PAIRED), depth=6, search=30, faults=(REGISTER,),
    ),
    Proof(
        "ports-block-wide", "hdl/axi/block.py",
        "The same of a block whose values and positions are so wide that each has a buffer.",
        partial(block, WIDE), depth=6, search=30, faults=(BUFFER,),
    ),
)  # fmt: skip
