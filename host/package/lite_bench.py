"""The AXI4-Lite side of a testbench: tasks that write and read, and what the job writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from extremum.hdl.axi.register_map import (
    START_COMMAND,
    WORD_BITS,
    Register,
    command_address,
    command_number,
    register_map,
)
from extremum.host.driver.words import job_values, job_words
from extremum.host.package.bench_text import literal
from extremum.host.package.example import Example
from extremum.host.package.settings import Settings

__all__ = ["Write", "job_writes", "lite_tasks", "registers_after", "registers_before"]


class Write(NamedTuple):
    """A register that a job writes, the word that is written, and the value that it stands for."""

    register: Register
    word: int
    value: int


def job_writes(settings: Settings, example: Example) -> list[Write]:
    """Return what the example job writes, the start at the end."""
    registers = {register.address: register for register in register_map(settings.config)}
    words, values = job_words(example.job), job_values(example.job)
    found = [
        Write(registers[address], words[address], value)
        for name, value in values.items()
        for address in [command_address(command_number(name))]
    ]
    return [*found, Write(registers[command_address(START_COMMAND)], 1, 1)]


def lite_tasks(widths: Mapping[str, int]) -> list[str]:
    """Return the tasks ``write(address, word)`` and ``check(address, mask, word)``."""
    address = widths["s_axil_awaddr"] - 1
    return [
        "  // Address and data are offered together; each stays until it is taken.",
        "  reg address_taken, data_taken;",
        f"  task write(input [{address}:0] address, input [31:0] word);",
        "    begin",
        "      s_axil_awaddr = address;",
        "      s_axil_wdata = word;",
        "      s_axil_wstrb = 4'hf;",
        "      s_axil_awvalid = 1;",
        "      s_axil_wvalid = 1;",
        "      s_axil_bready = 1;",
        "      while (s_axil_awvalid || s_axil_wvalid) begin",
        "        address_taken = s_axil_awvalid && s_axil_awready;",
        "        data_taken = s_axil_wvalid && s_axil_wready;",
        "        @(negedge aclk);",
        "        if (address_taken) s_axil_awvalid = 0;",
        "        if (data_taken) s_axil_wvalid = 0;",
        "      end",
        "      while (!s_axil_bvalid) @(negedge aclk);",
        '      if (s_axil_bresp !== 0) $fatal(1, "FAIL: writing %h is refused", address);',
        "      @(negedge aclk);",
        "      s_axil_bready = 0;",
        "    end",
        "  endtask",
        "",
        f"  task check(input [{address}:0] address, input [31:0] mask, input [31:0] word);",
        "    begin",
        "      s_axil_araddr = address;",
        "      s_axil_arvalid = 1;",
        "      s_axil_rready = 1;",
        "      while (!s_axil_arready) @(negedge aclk);",
        "      @(negedge aclk);",
        "      s_axil_arvalid = 0;",
        "      while (!s_axil_rvalid) @(negedge aclk);",
        '      if (s_axil_rresp !== 0) $fatal(1, "FAIL: reading %h is refused", address);',
        "      if ((s_axil_rdata & mask) !== word)",
        '        $fatal(1, "FAIL: %h holds %h, expected %h", address, s_axil_rdata & mask, word);',
        "      @(negedge aclk);",
        "      s_axil_rready = 0;",
        "    end",
        "  endtask",
        "",
    ]


def registers_before(settings: Settings, example: Example) -> list[str]:
    """Return the statements that look who is there, write the job, and start it."""
    found = {register.name: register for register in register_map(settings.config)}
    enable = found["IRQ_ENABLE"]
    return [
        *(_check(found[name], (1 << WORD_BITS) - 1, found[name].reset, name)
          for name in ("ID", "VERSION", "CONFIG_HASH")),
        _write(enable, enable.field("done").mask, "IRQ_ENABLE.done"),
        *(_write(write.register, write.word, write.register.name)
          for write in job_writes(settings, example)),
    ]  # fmt: skip


def registers_after(settings: Settings) -> list[str]:
    """Return the statements that look whether the job ended well, and clear its interrupt."""
    found = {register.name: register for register in register_map(settings.config)}
    flags = found["IRQ_STATUS"]
    done, both = flags.field("done").mask, flags.field("done").mask | flags.field("error").mask
    return [
        '    if (irq !== 1) $fatal(1, "FAIL: there is no interrupt");',
        _check(flags, both, done, "IRQ_STATUS: done, no error"),
        _check(found["STATUS"], found["STATUS"].field("busy").mask, 0, "STATUS.busy"),
        _write(flags, done, "IRQ_STATUS.done"),
        "    @(negedge aclk);",
        '    if (irq !== 0) $fatal(1, "FAIL: the interrupt stays");',
    ]


def _write(register: Register, word: int, comment: str) -> str:
    return f"    write('h{register.address:03x}, {literal(WORD_BITS, word)});  // {comment}"


def _check(register: Register, mask: int, word: int, comment: str) -> str:
    numbers = f"{literal(WORD_BITS, mask)}, {literal(WORD_BITS, word)}"
    return f"    check('h{register.address:03x}, {numbers});  // {comment}"
