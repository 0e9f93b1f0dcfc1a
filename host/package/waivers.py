"""Which warnings of Verilator's lint are waived for a block, and why."""

from __future__ import annotations

from extremum.host.package.settings import Settings
from extremum.host.package.verilog import header

__all__ = ["REASONS", "waivers"]

REASONS = {
    "PROCASSINIT": "An FPGA loads the value of a register with its bitstream, so registers have "
    "one where they are declared; a reset gives it to them again.",
    "UNUSEDSIGNAL": "A part of the block gets whole beats and whole layouts, and reads those bits "
    "that this configuration needs; the carry of a sum may have no reader; of some signals that "
    "are left out the name remains.",
    "WIDTHEXPAND": "Widths are settled in the generator, which extends operands to the width of "
    "the result; the Verilog leaves that to the rules of the language.",
    "WIDTHTRUNC": "`!x` asks whether all bits of a word are 0, and a shifted word is cut to the "
    "bits that are selected; both are meant.",
    "CMPCONST": "A register is compared with a limit of this configuration that it cannot exceed.",
    "UNSIGNED": "A number is compared with a limit or a fixed register of this configuration that "
    "is 0.",
    "DECLFILENAME": "The block and its parts are one file.",
    "VARHIDDEN": "A part of the block and a signal within it may have the same name.",
}
"""The reason for each rule that a block may break."""

OF_PRIMITIVES = {
    "PINMISSING": "The outputs of a part's block memory that nothing reads are left out.",
}
"""The same for a block with a part's own block memories."""

FOLDERS = ("", "*/")
"""Where a tool may look for the block's file: a name alone would fit `my` before it too."""


def waivers(settings: Settings, *, has_models: bool = False) -> str:
    """Return a file for Verilator that waives these rules, for the block's own file alone.

    The file with models of a part's block memories, if there is one, is left alone altogether.
    """
    lines = ["`verilator_config", header(settings)]
    for rule, reason in (REASONS | (OF_PRIMITIVES if has_models else {})).items():
        lines.append(f"// {reason}")
        lines += [f'lint_off -rule {rule} -file "{folder}{settings.name}.v"' for folder in FOLDERS]
    if has_models:
        lines.append("// The models of the part's block memories stand for what is not Verilog.")
        lines += [f'lint_off -file "{folder}{settings.name}_ecp5.v"' for folder in FOLDERS]
    return "\n".join(lines) + "\n"
