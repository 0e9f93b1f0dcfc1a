"""The page that tells a user what is in the package, and how to run it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from extremum.hdl.axi.latency import latency
from extremum.hdl.latency import holds_one_job
from extremum.hdl.registers import job_shapes
from extremum.host.fpga.devices import DEFAULT_DEVICE, DEVICES
from extremum.host.package.example import MOST_BEATS, Example
from extremum.host.package.fusesoc import core_name
from extremum.host.package.identity import LICENCE, version_text
from extremum.host.package.lite_bench import job_writes
from extremum.host.package.names import map_name
from extremum.host.package.ports import Port
from extremum.host.package.settings import Settings
from extremum.host.tools import VERILATOR_WORKAROUNDS

__all__ = ["readme"]

PORT_TEXTS = {
    "aclk": "the clock; its rising edge counts",
    "aresetn": "reset, active low, synchronous, for two rising edges at least",
    "clk": "the clock; its rising edge counts",
    "rst": "reset, active high, synchronous, for one rising edge at least",
    "s_axis": "AXI4-Stream: the elements, lane 0 in the lowest bytes",
    "m_axis_value": "AXI4-Stream: the winning elements",
    "m_axis_index": "AXI4-Stream: their positions{empty}",
    "s_axil": "AXI4-Lite: the registers",
    "irq": "an enabled event has happened and is not cleared",
    "job": "the registers of one job, with valid and ready",
    "i": "the input beats, with valid and ready",
    "o": "the output beats, with valid and ready",
    "status": "busy, refused, error (three bits), empty, from bit 0 on",
}
"""What each port or interface is for; ``{empty}`` stands for what is told of empty windows."""

KEEP_TEXT = "not looked at: a job knows how many lanes of its last beat carry elements"
"""What is told of ``s_axis_tkeep``."""

LAST_TEXTS = {
    True: "marks the last beat of each job; if it comes early or late, `ERROR` tells",
    False: "not looked at: each job takes as many beats as it needs, so a packet with a beat too "
    "few or too many shifts all results behind it, until a reset",
}
"""What is told of ``s_axis_tlast``, by whether the block has registers."""

RESULT_LAST_TEXT = "the last beat of each job's results"
"""What is told of TLAST of an output stream."""

FILE_TEXTS = (
    ("{name}.v", "the Verilog, whose modules all begin with `{name}`; {needs}"),
    ("{name}.vlt", "warnings of Verilator's lint that are waived, each with its reason"),
    ("{name}_template.v", "an instance to copy into a design"),
    ("{name}_tb.v", "a testbench: one job, checked against the golden model"),
    ("{name}_ecp5.v", "models of the part's block memories, for simulation and lint alone"),
    ("{name}.core", "the package as a core of FuseSoC"),
    ("{name}.toml", "the configuration"),
    ("{name}.json", "parameters, latency and ports, for programs"),
    ("component.xml", "IP-XACT, IEEE 1685-2009, as Vivado reads it"),
    ("component_2014.xml", "IP-XACT, IEEE 1685-2014"),
    ("package_ip.tcl", "packages the Verilog as an IP of Vivado"),
    ("registers/{map}.rdl", "the registers in SystemRDL, from which the next four are made"),
    ("registers/{map}.h", "the registers as a C header"),
    ("registers/{map}.xml", "the registers alone in IP-XACT, IEEE 1685-2014"),
    ("registers/html", "the registers as pages for people: serve them by `python -m http.server`"),
    ("registers/python", "the registers as a Python model, over `pip install peakrdl-python`"),
)
"""The files of a package, and what each is."""


def readme(
    settings: Settings,
    ports: Sequence[Port],
    example: Example | None,
    written: Collection[str],
    cost: Mapping[str, Any] | None = None,
) -> str:
    """Return the README of a package, in Markdown.

    Parameters
    ----------
    settings
        What the package is written for.
    ports
        The ports of the block.
    example
        The job of the testbench; None if there is no testbench.
    written
        The other files of the package.
    cost
        A measurement, as ``extremum fpga --json`` prints it; None if none was made.
    """
    parts = (
        _title(settings),
        _files(settings, written),
        _ports(settings, ports),
        _running(settings, example, written),
        _job(settings, example),
        _cost(settings, cost),
        _licence(written),
    )
    return "\n".join(line for part in parts for line in part)


def _title(settings: Settings) -> Iterator[str]:
    config = settings.config
    types = ", ".join(data_type.value for data_type in config.data_types)
    yield f"# {settings.name}"
    yield ""
    yield (
        f"A {settings.form} for {', '.join(config.operators)} of {types}, "
        f"{config.lanes} element{'s'[: config.lanes > 1]} per beat. Written by extremum "
        f"{version_text()}; configuration {settings.hash}, in `{settings.name}.toml`."
    )
    yield ""


def _files(settings: Settings, written: Collection[str]) -> Iterator[str]:
    models = f"{settings.name}_ecp5.v"
    needs = "it instantiates nothing from elsewhere"
    if models in written:
        needs = f"it instantiates block memories of the ECP5, so simulators need `{models}` as well"
    yield "| file | what it is |"
    yield "|---|---|"
    for pattern, text in FILE_TEXTS:
        name = pattern.format(name=settings.name, map=map_name(settings.name))
        if any(path == name or path.startswith(f"{name}/") for path in written):
            yield f"| `{name}` | {text.format(name=settings.name, needs=needs)} |"
    yield ""


def _ports(settings: Settings, ports: Sequence[Port]) -> Iterator[str]:
    yield "## Ports"
    yield ""
    yield "| port | direction | bits | |"
    yield "|---|---|---:|---|"
    told, empty = "", ""
    if settings.config.has_values:
        empty = f"; 0x{(1 << settings.config.index_width) - 1:x} marks an empty window"
    for port in ports:
        text = PORT_TEXTS[port.interface].format(empty=empty) if port.interface != told else ""
        if port.name == "s_axis_tkeep":
            text = KEEP_TEXT
        elif port.name == "s_axis_tlast":
            text = LAST_TEXTS[settings.has_registers]
        elif port.name.endswith("_tlast"):
            text = RESULT_LAST_TEXT
        told = port.interface
        yield f"| `{port.name}` | {port.direction} | {port.width} | {text} |"
    yield ""
    clocks = latency(settings.config)
    if settings.bus == "none":
        yield f"Latency: {clocks} clocks from a beat to the result that it completes."
    else:
        yield (
            f"Latency: {latency(settings.config, settings.bus)} clocks from a beat to the result "
            f"that it completes, {clocks} of them in the core."
        )
    yield "Throughput: one beat per clock in, and one out. No output depends on an input in the"
    config = settings.config
    is_job_seen = settings.bus == "none" and any(p.name == "job__payload" for p in ports)
    if is_job_seen and holds_one_job(config) and config.has_windows and config.padding:
        yield "same clock, but `i__ready` on `job__payload`, which stays while the job is offered."
    else:
        yield "same clock."
    yield ""


def _running(
    settings: Settings, example: Example | None, written: Collection[str]
) -> Iterator[str]:
    name = settings.name
    sources = " ".join(path for path in (f"{name}.v", f"{name}_ecp5.v") if path in written)
    yield "## Running"
    yield ""
    if example is None:
        yield (
            "There is no testbench: none of the small operators that are tried as its example is a "
            f"job of this block of at most {MOST_BEATS} beats. Fixed registers, few bits of "
            "a position or little storage may be the reason. Whether the block can carry out an "
            f"operator at all is told by `extremum plan ... --config {settings.name}.toml`."
        )
    else:
        yield f"The testbench runs one job: {example.title}. It prints a line that begins with"
        yield "PASS, or ends with a status other than 0."
        yield ""
        yield "```console"
        yield f"$ iverilog -g2012 -o bench {name}_tb.v {sources} && vvp bench"
        yield (
            f"$ verilator --binary --timing {' '.join(VERILATOR_WORKAROUNDS)} {name}.vlt "
            f"{name}_tb.v {sources} && obj_dir/V{name}_tb"
        )
        yield f"$ fusesoc --cores-root . run --target=sim {core_name(settings)}"
        yield "```"
    yield ""
    if settings.bus == "axi":
        yield "Lint, and an IP for Vivado, where neither this script nor component.xml was tried:"
    else:
        yield "Lint:"
    yield ""
    yield "```console"
    yield f"$ verilator --lint-only -Wall {name}.vlt {sources}"
    yield f"$ fusesoc --cores-root . run --target=lint {core_name(settings)}"
    if settings.bus == "axi":
        yield "$ vivado -mode batch -source package_ip.tcl"
    yield "```"
    yield ""


def _job(settings: Settings, example: Example | None) -> Iterator[str]:
    if example is None or not settings.is_programmable:
        return
    yield "## The registers of the example job"
    yield ""
    if settings.has_registers:
        yield "Each is written on AXI4-Lite, the start last. Some are written as their value less"
        yield "one: `slots`, `volumes`, `length`, `groups`, and of each dimension `size`, `stride`,"
        yield "`period` and `spacing`. A register keeps its value from job to job, so only what"
        yield "changes need be written for the next one."
        yield ""
        yield "| address | register | value | word |"
        yield "|---|---|---:|---:|"
        for register, word, value in job_writes(settings, example):
            yield f"| 0x{register.address:03x} | `{register.name}` | {value} | 0x{word:08x} |"
    else:
        payload = example.job.registers.to_bits(settings.config)
        shapes = job_shapes(settings.config)
        width = -(-sum(shape.width for shape in shapes.values()) // 4)
        yield f"Packed into `job__payload` as `{settings.name}.json` describes, they are"
        yield f"`{payload:0{width}x}` in hexadecimal."
        yield ""
        yield "| register | value |"
        yield "|---|---:|"
        values = example.job.registers.values_in(settings.config)
        for name in shapes:
            yield f"| `{name}` | {values[name]} |"
    yield ""


def _cost(settings: Settings, cost: Mapping[str, Any] | None) -> Iterator[str]:
    yield "## Cost"
    yield ""
    if cost is None:
        part = DEVICES[settings.device or DEFAULT_DEVICE].title
        yield f"Not measured when this was written. These commands measure the block on {part},"
        yield "and write the package again with the figures in it:"
        yield ""
        yield "```console"
        told = f"--bus {settings.bus} --json > cost.json"
        yield f"$ extremum fpga --config {settings.name}.toml {told}"
        yield (
            f"$ extremum verilog --config {settings.name}.toml --cost cost.json --output ."
            + (" --source" if settings.source else "")
        )
        yield "```"
    else:
        yield f"On {cost['device']}, synthesised, placed and routed by open tools:"
        yield ""
        yield "| COMB | FF | block RAM | MHz |"
        yield "|---:|---:|---:|---:|"
        yield (f"| {cost['comb']} | {cost['ff']} | {cost['block_ram']} | {cost['fmax_mhz']:.0f} |")
        if settings.device is None and cost["block_ram"]:
            yield ""
            yield f"That is what `--device {cost['device']}` writes. As the Verilog stands here,"
            if DEVICES[cost["device"]].platform is None:
                yield "it may ask for memories that the part has not."
            else:
                yield "tools infer the memories, and it may be larger and slower."
    yield ""


def _licence(written: Collection[str]) -> Iterator[str]:
    yield "## Licence"
    yield ""
    yield f"{LICENCE}: https://www.apache.org/licenses/LICENSE-2.0"
    pages = "registers/html/"
    others = [f"`{path}`" for path in sorted(written) if path.startswith(f"{pages}LICENSE")]
    if others:
        yield ""
        yield (
            f"The pages in `{pages}` come with scripts, styles and fonts that others wrote, under "
            f"LGPL-3.0 and other licences: {' and '.join(others)}. Whoever passes the pages on "
            "must pass these files on with them."
        )
