"""Pieces of Verilog that both kinds of testbench are made of."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["array", "clock_and_reset", "literal", "sink", "source"]

RESTS = {"source": 3, "m_axis_value": 5, "m_axis_index": 7, "o": 5}
"""Each agent rests in every clock whose number is a multiple of its number here."""


def literal(width: int, number: int) -> str:
    """Return a hexadecimal literal."""
    return f"{width}'h{number:0{-(-width // 4)}x}"


def array(name: str, width: int, numbers: Sequence[int]) -> tuple[str, list[str]]:
    """Return the declaration of a memory, and the statements that fill it."""
    ranged = f"[{width - 1}:0] " if width > 1 else ""
    declaration = f"  reg {ranged}{name} [0:{len(numbers) - 1}];"
    fills = [f"    {name}[{n}] = {literal(width, number)};" for n, number in enumerate(numbers)]
    return declaration, fills


def clock_and_reset(clock: str, reset: str, active: int) -> list[str]:
    """Return the statements that begin the bench: a clock, and some clocks of reset.

    AXI lets a source offer its first beat behind the first rising edge without reset. Clock and
    reset get their first values here and not in their declarations, which would be no event to a
    simulator of SystemVerilog: logic that waits for one would stay unknown.
    """
    return [
        f"    {clock} = 0;",
        f"    {reset} = {active};",
        f"    repeat (4) @(negedge {clock});",
        f"    {reset} = {1 - active};",
        f"    @(negedge {clock});",
        "    #1 running = 1;",
    ]


def source(valid: str, ready: str, drives: Sequence[tuple[str, int, str]]) -> list[str]:
    """Return the statements of a source: an offered beat stays until it is taken.

    Parameters
    ----------
    valid, ready
        Names of the handshake.
    drives
        For each other signal: its name, its width, and its value for beat ``sent``.
    """
    lines = [
        "    // The source. A beat that is offered stays until it is taken.",
        "    if (taken) begin",
        "      if (sent == 0) first_clock = clocks - 1;",
        "      sent = sent + 1;",
        "    end",
        f"    if (taken || !{valid}) begin",
        f"      {valid} = may_send && sent < BEATS",
        f"          && (STALLS == 0 || clocks % {RESTS['source']} != 0);",
    ]
    for name, width, value in drives:
        lines.append(f"      {name} = {valid} ? {value} : {{{width}{{1'bx}}}};")
    return [*lines, "    end", f"    taken = {valid} && {ready};"]


def sink(
    name: str, valid: str, ready: str, checks: Sequence[tuple[str, str]], *, most: str = "RESULTS"
) -> list[str]:
    """Return the statements of a sink, which compares each beat and counts it in ``NAME_seen``.

    Parameters
    ----------
    name
        Name of the stream.
    valid, ready
        Names of the handshake.
    checks
        Each signal, and what it must be in beat ``NAME_seen``.
    most
        How many beats may come: ``RESULTS``, and those of a next tensor that wait for no element.
    """
    seen = f"{name}_seen"
    lines = [
        f"    {ready} = STALLS == 0 || clocks % {RESTS[name]} != 0;",
        f"    if ({valid} && {ready}) begin",
        f'      if ({seen} == {most}) $fatal(1, "FAIL: {name} gives a beat too many");',
    ]
    for signal, expected in checks:
        lines += [
            f"      if ({signal} !== {expected})",
            f'        $fatal(1, "FAIL: {signal} of beat %0d is %h, expected %h",',
            f"               {seen}, {signal}, {expected});",
        ]
    is_last = "" if most == "RESULTS" else f"if ({seen} <= RESULTS) "
    return [
        *lines,
        f"      {seen} = {seen} + 1;",
        f"      {is_last}last_clock = clocks;",
        "    end",
    ]
