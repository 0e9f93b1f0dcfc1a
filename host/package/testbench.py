"""A testbench in plain Verilog that runs one job on a block and checks every result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from extremum.hdl.latency import holds_one_job
from extremum.hdl.ports import output_layout
from extremum.host.package.bench_text import array, clock_and_reset, literal, sink, source
from extremum.host.package.example import Example
from extremum.host.package.lite_bench import lite_tasks, registers_after, registers_before
from extremum.host.package.ports import Port
from extremum.host.package.settings import Settings
from extremum.host.package.template import instance
from extremum.host.package.verilog import header
from extremum.model import Pooling

__all__ = ["testbench"]

QUIET = 100
"""Clocks after the last result in which nothing more may come."""

Results = dict[str, dict[str, list[int]]]
"""For each output stream, and each of its signals, the values in the beats that must come."""


def testbench(settings: Settings, ports: Sequence[Port], example: Example) -> str:
    """Return the testbench of a block: it ends with ``$fatal`` if anything is wrong.

    Parameters
    ----------
    settings
        What the package is written for.
    ports
        The ports of the block.
    example
        The job, its data, and the results of the golden model.
    """
    is_axi = settings.bus == "axi"
    widths = {port.name: port.width for port in ports}
    clock, reset, active = ("aclk", "aresetn", 0) if is_axi else ("clk", "rst", 1)
    results = (
        _axi_results(settings, widths, example) if is_axi else _core_results(settings, example)
    )
    ahead = example.ahead if not settings.has_registers and "job__payload" not in widths else 0
    lines = [
        *_opening(settings, example, ahead),
        "",
        *_declarations(ports),
        "",
        "  " + instance(settings, ports, "dut").replace("\n", "\n  "),
        "",
        f"  always #5 {clock} = !{clock};",
        "",
        *_arrays(widths, example, results),
        "",
        *_clocked(clock, widths, results, ahead),
        "",
        *(lite_tasks(widths) if settings.has_registers else ()),
        *_core_job(settings, example, widths),
        "  initial begin",
        "    running = 0;",
        "    may_send = 0;",
        *_quiet_inputs(ports, clock, reset),
        *clock_and_reset(clock, reset, active),
        *(() if settings.bus == "none" or settings.is_programmable else _until_it_begins(clock)),
        *(registers_before(settings, example) if settings.has_registers else ()),
        "    #1 may_send = 1;",
        *(["    give_job;"] if "job__payload" in widths else ()),
        *_until_all_is_seen(clock, results, ahead),
        *(registers_after(settings) if settings.has_registers else ()),
        *_at_rest(widths, example),
        '    $display("PASS: %0d result beats are right, %0d clocks from first beat to last",',
        "             RESULTS, last_clock - first_clock + 1);",
        "    $finish;",
        "  end",
        "",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def _opening(settings: Settings, example: Example, ahead: int) -> Iterable[str]:
    """Yield the comment in front of the testbench, and the first lines of its module."""
    job = example.job
    yield header(settings)
    yield f"// One job on {settings.name}: {example.title}."
    yield "// The results are those of the golden model. If anything is wrong, the bench ends with"
    yield "// $fatal, so with a status other than 0. With STALLS = 0, source and sinks never rest."
    yield ""
    yield f"module {settings.name}_tb #("
    yield "    parameter STALLS = 1"
    yield ");"
    yield ""
    yield f"  localparam BEATS = {job.beats_in}, RESULTS = {job.beats_out};"
    yield f"  localparam MOST_CLOCKS = {20 * (job.cycles + job.beats_in + job.beats_out) + 4000};"
    yield from _told_ahead(ahead) if ahead else ()


def _told_ahead(ahead: int) -> Iterable[str]:
    yield "  // The first windows of a tensor lie in its padding alone. Nobody asks for the next"
    yield "  // tensor, so as many of its windows may follow."
    yield f"  localparam AHEAD = {ahead};"


def _clocked(clock: str, widths: Mapping[str, int], results: Results, ahead: int) -> Iterable[str]:
    """Yield the process that counts clocks, and in which the source and the sinks work."""
    counters = ["sent", "first_clock", "last_clock", *(f"{stream}_seen" for stream in results)]
    yield "  // No output of the block depends on an input in the same clock. So it is known at the"
    yield "  // falling edge which transfers the next rising edge makes."
    yield f"  integer clocks, {', '.join(counters)};"
    yield "  reg taken, running, may_send;"
    yield ""
    yield "  initial begin"
    yield from (f"    {name} = 0;" for name in ("clocks", *counters))
    yield "    taken = 0;"
    yield f"    forever @(negedge {clock}) if (running) begin"
    yield "      clocks = clocks + 1;"
    yield "      if (clocks > MOST_CLOCKS)"
    yield '        $fatal(1, "FAIL: not over after %0d clocks, %0d of %0d beats were taken",'
    yield "               clocks, sent, BEATS);"
    yield from (f"  {line}" if line else line for line in _agents(widths, results, ahead))
    yield "    end"
    yield "  end"


def _until_all_is_seen(clock: str, results: Results, ahead: int) -> Iterable[str]:
    """Yield the statements that wait for all results and all beats, and some clocks more.

    Many beats may come behind the last result: those of elements that no window sees.
    """
    compared = ">=" if ahead else "=="
    all_seen = " && ".join(f"{stream}_seen {compared} RESULTS" for stream in results)
    yield f"    while (!({all_seen} && sent == BEATS)) @(negedge {clock});"
    yield "    // Nothing more may come."
    yield f"    repeat ({QUIET}) @(negedge {clock});"


def _until_it_begins(clock: str) -> list[str]:
    """Return the statements that wait for the first job of a dataflow block.

    It begins some clocks behind the reset. A beat that is taken before would wait for it in a
    buffer, and the clocks would be those of the reset too.
    """
    return [
        "    // The block begins its first job by itself, some clocks behind the reset.",
        f"    repeat (16) @(negedge {clock});",
    ]


def _input(widths: Mapping[str, int]) -> str:
    """Return the signal on which the elements go into a block or a bare core."""
    return "s_axis_tdata" if "s_axis_tdata" in widths else "i__payload"


def _arrays(widths: Mapping[str, int], example: Example, results: Results) -> Iterable[str]:
    """Yield the arrays of the input beats and of all that must come, and what fills them."""
    given = _input(widths)
    arrays = [array("beats", widths[given], _words(example.beats))]
    for signals in results.values():
        for signal, numbers in signals.items():
            arrays.append(array(f"expected_{signal}", widths[signal], numbers))
    yield from (declaration for declaration, _ in arrays)
    yield "  initial begin"
    yield from (fill for _, fills in arrays for fill in fills)
    yield "  end"


def _agents(widths: Mapping[str, int], results: Results, ahead: int) -> Iterable[str]:
    """Yield what the source, and the sink of each stream, do in a clock."""
    given = _input(widths)
    is_axi = given == "s_axis_tdata"
    valid, ready = ("_tvalid", "_tready") if is_axi else ("__valid", "__ready")
    drives = [(given, widths[given], "beats[sent]")]
    if is_axi:
        keep = widths["s_axis_tkeep"]
        drives += [
            ("s_axis_tkeep", keep, f"{{{keep}{{1'b1}}}}"),
            ("s_axis_tlast", 1, "sent == BEATS - 1"),
        ]
    stream_in = "s_axis" if is_axi else "i"
    yield from source(f"{stream_in}{valid}", f"{stream_in}{ready}", drives)
    for stream, signals in results.items():
        beat = f"{stream}_seen % RESULTS" if ahead else f"{stream}_seen"
        checks = [(signal, f"expected_{signal}[{beat}]") for signal in signals]
        if is_axi:
            checks.append((f"{stream}_tlast", f"({beat} == RESULTS - 1)"))
        yield ""
        most = "RESULTS + AHEAD" if ahead else "RESULTS"
        yield from sink(stream, f"{stream}{valid}", f"{stream}{ready}", checks, most=most)


def _declarations(ports: Sequence[Port]) -> Iterable[str]:
    for port in ports:
        kind = "reg" if port.direction == "input" else "wire"
        yield f"  {kind} {port.range}{port.name};"


def _quiet_inputs(ports: Sequence[Port], clock: str, reset: str) -> Iterable[str]:
    for port in ports:
        if port.direction == "input" and port.name not in (clock, reset):
            yield f"    {port.name} = 0;"


def _axi_results(settings: Settings, widths: Mapping[str, int], example: Example) -> Results:
    """Return TDATA and TKEEP of every result beat, by the signal's name, for each stream."""
    found = {}
    for stream, numbers in (("m_axis_value", example.values), ("m_axis_index", example.positions)):
        if f"{stream}_tdata" in widths:
            size = widths[f"{stream}_tkeep"] // settings.config.lanes
            data = numbers.astype(f"<u{size}").view(np.uint8).reshape(len(numbers), -1)
            keep = [
                sum(((1 << size) - 1) << lane * size for lane in np.flatnonzero(beat).tolist())
                for beat in example.valid
            ]
            found[stream] = {f"{stream}_tdata": _words(data), f"{stream}_tkeep": keep}
    return found


def _core_results(settings: Settings, example: Example) -> Results:
    """Return the payload of every output beat of a bare core."""
    layout = output_layout(settings.config)
    payloads = []
    for beat in range(len(example.values)):
        fields = {
            "value": example.values[beat].tolist(),
            "index": example.positions[beat].tolist(),
            "last": int(beat == len(example.values) - 1),
        }
        payloads.append(layout.const({str(n): fields[str(n)] for n, _ in layout}).as_bits())
    return {"o": {"o__payload": payloads}}


def _words(data: np.ndarray) -> list[int]:
    """Return rows of bytes as numbers, the first byte lowest."""
    return [int.from_bytes(row.tobytes(), "little") for row in data]


def _core_job(settings: Settings, example: Example, widths: dict[str, int]) -> Iterable[str]:
    """Yield the task that gives a bare core its job."""
    if "job__payload" not in widths:
        return
    payload = example.job.registers.to_bits(settings.config)
    # A small or balanced core takes it when its results have left, and is at rest then.
    works_before = holds_one_job(settings.config)
    look = "if (status[0] === 1) was_busy = 1;"
    yield "  // The job stays on its port until the core has taken it."
    yield "  task give_job;"
    yield "    reg was_busy;"
    yield "    begin"
    yield f"      job__payload = {literal(widths['job__payload'], payload)};"
    yield "      job__valid = 1;"
    yield "      was_busy = 0;"
    yield "      while (!job__ready) begin"
    yield "        @(negedge clk);"
    if works_before:
        yield f"        {look}"
    yield "      end"
    yield "      @(negedge clk);"
    yield "      job__valid = 0;"
    yield "      if (status[4:1] !== 0)"
    yield '        $fatal(1, "FAIL: the job was refused with error %0d", status[4:2]);'
    if not works_before:
        yield f"      {look}"
    yield '      if (!was_busy) $fatal(1, "FAIL: the core has a job, and is at rest");'
    yield "    end"
    yield "  endtask"
    yield ""


def _at_rest(widths: Mapping[str, int], example: Example) -> Iterable[str]:
    """Yield the checks of the status of a bare core."""
    if "status" in widths:
        yield '    if (status[0] !== 0) $fatal(1, "FAIL: the core is not at rest");'
        problem = example.problem
        is_empty = int(isinstance(problem, Pooling) and problem.empty_windows > 0)
        yield f"    if (status[5] !== {is_empty})"
        yield '      $fatal(1, "FAIL: status tells of empty windows: %b", status[5]);'
