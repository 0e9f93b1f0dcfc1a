"""The ports of whole cores and blocks: what is offered stays until it is taken."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from amaranth.hdl import ClockSignal, Value

from extremum.hdl.axi.block import AxiBlock
from extremum.hdl.axi.streams import INPUT, is_programmable, port_widths
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
    """State the rules of every port of a whole block that offers something or is ready."""
    whole = AxiBlock(config)
    inside = p.add("block", whole, driven=("aclk",), domain="block")
    p.m.d.comb += whole.aclk.eq(ClockSignal("sync"))
    p.never_reset()
    # The reset is taken into a register, which resets those at the ports a clock later.
    in_reset = p.late(~whole.aresetn, 2)
    outputs: dict[str, Value] = {}
    for name, width in port_widths(config).items():
        if width and name != INPUT:
            valid, ready, *payload = (
                getattr(whole, f"{name}_{part}")
                for part in ("tvalid", "tready", "tdata", "tkeep", "tlast")
            )
            offers_stay(p, name, valid, ready, *payload, unless=in_reset)
            outputs[f"{name}_tvalid"] = valid
            if is_programmable(config):
                ends = inside.part("control").signal("soft_reset")
                p.reached(f"{name}: an offer waits while a soft reset comes", valid & ~ready & ends)
    outputs[f"{INPUT}_tready"] = whole.s_axis_tready
    if is_programmable(config):
        names = ("bvalid", "bready", "bresp", "rvalid", "rready", "rresp", "rdata")
        bvalid, bready, bresp, rvalid, rready, rresp, rdata = (
            getattr(whole, f"s_axil_{name}") for name in names
        )
        offers_stay(p, "b", bvalid, bready, bresp, unless=in_reset)
        offers_stay(p, "r", rvalid, rready, rresp, rdata, unless=in_reset)
        outputs |= {"bvalid": bvalid, "rvalid": rvalid, "irq": whole.irq}
        for name in ("awready", "wready", "arready"):
            outputs[name] = getattr(whole, f"s_axil_{name}")
    for name, output in outputs.items():
        p.claim(f"{name} is low in a reset", ~in_reset | ~output)
        p.reached(f"{name} is high when a reset comes", output & ~whole.aresetn)


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
NO_STOP = Fault("the pipeline moves on while a beat waits to leave", "extremum.hdl.core",
                "go.eq(~self.o.valid | self.o.ready)", "go.eq(1)")  # fmt: skip
GONE = Fault("a soft reset takes back what is offered", "extremum.hdl.axi.buffers",
             "comes | waits | (self.o_valid & ~self.o_ready)",
             "comes | waits | (self.o_valid & ~self.o_ready & ~self.drops)")  # fmt: skip

OPEN = Fault(
    "elements are taken in a reset",
    "extremum.hdl.axi.block",
    "input_reset.eq(~self.aresetn | soft_reset)",
    "input_reset.eq(soft_reset)",
)
OPEN_CORE = Fault("elements are taken in a reset", "extremum.hdl.axi.block",
                  "closed_in_reset=not has_input_buffer(config)",
                  "closed_in_reset=False")  # fmt: skip
INTERRUPT = Fault(
    "a reset interrupts",
    "extremum.hdl.axi.block",
    "self.irq.eq(control.irq)",
    "self.irq.eq(control.irq | ~self.aresetn)",
)
OFFER = Fault(
    "results are offered in a reset",
    "extremum.hdl.axi.outputs",
    "tvalid.eq(sink.o_valid)",
    "tvalid.eq(sink.o_valid | ~block.aresetn)",
)

IN_RESET = (
    "Two clocks behind a clock with `aresetn` low, no TVALID, no READY, no answer and no interrupt "
    "is high."
)

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
        "ports-core-small", "hdl/core.py",
        "The same of a small core with windows of 2 by 2.",
        partial(core, replace(SMALL, pipelining="small")), depth=2, search=30, faults=(NO_STOP,),
    ),
    Proof(
        "ports-core-dataflow-balanced", "hdl/core.py",
        "The same of a balanced core without a job port.",
        partial(core, replace(FLOWING, pipelining="balanced")), depth=2, search=30,
        faults=(NO_STOP,),
    ),
    Proof(
        "ports-block", "hdl/axi/block.py",
        "What a block of two lanes offers on its output streams and on AXI4-Lite stays, with its "
        f"payload, until it is taken, also if a soft reset comes. {IN_RESET}",
        partial(block, LANES), depth=7, search=40, faults=(ANSWER, OPEN, INTERRUPT),
    ),
    Proof(
        "ports-block-small", "hdl/axi/block.py",
        "The same of a block with a small core of two lanes, whose streams have buffers of two "
        "beats each.",
        partial(block, replace(LANES, pipelining="small")), depth=7, search=30, faults=(GONE,),
    ),
    Proof(
        "ports-block-dataflow", "hdl/axi/block.py",
        "The same of a block that has streams alone, and gives positions from the core's queue.",
        partial(block, FLOWING), depth=6, search=30, faults=(QUEUE, OPEN_CORE),
    ),
    Proof(
        "ports-block-dataflow-balanced", "hdl/axi/block.py",
        "The same of a block that has streams alone around a balanced core, and gives positions "
        "from a buffer.",
        partial(block, replace(FLOWING, pipelining="balanced")), depth=6, search=30,
        faults=(BUFFER,),
    ),
    Proof(
        "ports-block-pair", "hdl/axi/block.py",
        "The same of a block that gives values and positions, each from a register.",
        partial(block, PAIRED), depth=6, search=30, faults=(REGISTER, OFFER),
    ),
    Proof(
        "ports-block-wide", "hdl/axi/block.py",
        "The same of a block whose values and positions are so wide that each has a buffer.",
        partial(block, WIDE), depth=6, search=30, faults=(BUFFER,),
    ),
)  # fmt: skip
