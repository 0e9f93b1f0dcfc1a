"""Verilog models of the ECP5's block memories, as far as `hdl/ecp5.py` uses them.

They are for simulation and lint; synthesis has the part's own. They follow the memory usage guide
of the part's maker, which leaves one thing open: the models assume that in words of 36 bits a
single enable serves both halves. A word that is written in the clock in which it is read comes out
inverted, so that a core that relies on it gives wrong results.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from extremum.hdl.ecp5 import PORT_BITS
from extremum.host.package.settings import Settings
from extremum.host.package.verilog import header

__all__ = ["MODELS", "models"]

_ABOUT = "// Models of the part's block memories for simulation and lint: synthesis has its own.\n"


def models(settings: Settings, verilog: str) -> str | None:
    """Return a file with the models of what a package's Verilog uses, or None if that is nothing.

    A model that nothing uses would be a top level of its own. Of several files with a model in one
    simulation the first one counts.
    """
    used = [kind for kind in MODELS if re.search(rf"\b{kind} ", verilog)]
    guarded = [
        f"`ifndef EXTREMUM_{kind}\n`define EXTREMUM_{kind}\n{MODELS[kind]}`endif\n" for kind in used
    ]
    return f"{header(settings)}{_ABOUT}{''.join(guarded)}" if used else None


def _pins(name: str, count: int) -> list[str]:
    return [f"{name}{pin}" for pin in range(count)]


def _vector(pins: Sequence[str]) -> str:
    return f"{{{', '.join(reversed(pins))}}}"


def _module(
    name: str, parameters: Sequence[str], inputs: Sequence[str], outputs: Sequence[str], body: str
) -> str:
    ports = [f"input {pin}" for pin in inputs] + [f"output {pin}" for pin in outputs]
    listed = ", ".join(f"parameter {parameter} = 0" for parameter in parameters)
    return f"module {name} #({listed}) ({', '.join(ports)});\n{body}endmodule\n"


def _memory(width: int, shift: int | str, mode: str) -> str:
    """Return what both models share: the words, the register behind them, the output register."""
    return f"""
  reg [{width - 1}:0] words [0:16383];
  reg [{width - 1}:0] read, out;
  integer n;
  initial for (n = 0; n < 16384; n = n + 1) words[n] = 0;
  wire [13:0] at = write_address >> {shift}, from = read_address >> {shift};
  always @(posedge write_clock) if (write) words[at] <= (words[at] & ~mask) | (data & mask);
  always @(posedge read_clock) begin
    if (read_enable) read <= write && at == from ? ~words[from] : words[from];
    if (output_enable) out <= read;
  end
  wire [{width - 1}:0] shown = {mode} == "OUTREG" ? out : read;
"""


def _two_ports() -> str:
    """Return a DP16KD. A word of 18 bits takes 16 addresses, a word of one bit takes one."""
    clocked = ["CLKA", "CLKB", "CEA", "CEB", "OCEA", "OCEB", "WEA", "WEB", "RSTA", "RSTB"]
    selects = [f"CS{port}{n}" for port in "AB" for n in range(3)]
    address = {port: _pins(f"AD{port}", 14) for port in "AB"}
    data = {port: _pins(f"DI{port}", PORT_BITS) for port in "AB"}
    out = _pins("DOB", PORT_BITS)
    body = f"""
  localparam SHIFT = DATA_WIDTH_A == 18 ? 4 : DATA_WIDTH_A == 9 ? 3 : DATA_WIDTH_A == 4 ? 2 :
                     DATA_WIDTH_A == 2 ? 1 : 0;
  wire write_clock = CLKA, read_clock = CLKB;
  wire [13:0] write_address = {_vector(address["A"])}, read_address = {_vector(address["B"])};
  wire [17:0] data = {_vector(data["A"])};
  wire [17:0] mask = DATA_WIDTH_A != 18 ? {{18{{1'b1}}}} : {{{{9{{ADA1}}}}, {{9{{ADA0}}}}}};
  wire write = CEA && WEA && !{_vector(selects[:3])};
  wire read_enable = CEB && !WEB && !{_vector(selects[3:])}, output_enable = OCEB;
{_memory(PORT_BITS, "SHIFT", "REGMODE_B")}
  assign {_vector(out)} = shown & ((1 << DATA_WIDTH_B) - 1);
  initial if (DATA_WIDTH_A != DATA_WIDTH_B || WRITEMODE_A != "NORMAL")
    $fatal(1, "a setting that is not modelled");
"""
    parameters = [
        f"{name}_{port}"
        for name in ("DATA_WIDTH", "REGMODE", "CSDECODE", "WRITEMODE")
        for port in "AB"
    ]
    inputs = [*clocked, *selects, *address["A"], *address["B"], *data["A"], *data["B"]]
    return _module("DP16KD", [*parameters, *SHARED], inputs, out, body)


def _port_each_way() -> str:
    """Return a PDPW16KD. The lower half of a word is read on the upper half of the pins."""
    clocked = ["CLKW", "CLKR", "CEW", "CER", "OCER", "RST"]
    selects = [f"CS{port}{n}" for port in "WR" for n in range(3)]
    write, read = _pins("ADW", 9), _pins("ADR", 14)
    enables, data, out = _pins("BE", 4), _pins("DI", 2 * PORT_BITS), _pins("DO", 2 * PORT_BITS)
    body = f"""
  wire write_clock = CLKW, read_clock = CLKR;
  wire [13:0] write_address = {_vector(write)} << 5, read_address = {_vector(read)};
  wire [35:0] data = {_vector(data)};
  wire [35:0] mask = {{{{9{{BE3}}}}, {{9{{BE2}}}}, {{9{{BE1}}}}, {{9{{BE0}}}}}};
  wire write = CEW && !{_vector(selects[:3])};
  wire read_enable = CER && !{_vector(selects[3:])}, output_enable = OCER;
{_memory(2 * PORT_BITS, 5, "REGMODE")}
  assign {_vector(out)} = {{shown[17:0], shown[35:18]}};
  initial if (DATA_WIDTH_W != 36 || DATA_WIDTH_R != 36)
    $fatal(1, "a setting that is not modelled");
"""
    parameters = ["DATA_WIDTH_W", "DATA_WIDTH_R", "REGMODE", "CSDECODE_W", "CSDECODE_R"]
    inputs = [*clocked, *selects, *write, *read, *enables, *data]
    return _module("PDPW16KD", [*parameters, *SHARED], inputs, out, body)


SHARED = ("RESETMODE", "ASYNC_RESET_RELEASE", "GSR")
"""Parameters that both kinds have, and that change nothing here."""

MODELS = {"DP16KD": _two_ports(), "PDPW16KD": _port_each_way()}
"""The model of each kind of block."""
