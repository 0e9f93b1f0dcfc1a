"""Flip-flops of a block's Verilog, an upset of one of them, and what may come of it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Any

from cocotb.handle import ValueObjectBase
from cocotb.triggers import FallingEdge

VERILOG = "EXTREMUM_UPSET_VERILOG"
"""Environment variable that names the Verilog of the block that is simulated."""

RECORDS = "EXTREMUM_UPSET_RECORDS"
"""Environment variable that names the file for what came of the upsets."""

COUNT = "EXTREMUM_UPSETS"
"""Environment variable that says how many upsets there are."""

REGISTER_PORT = "lite."
"""What the names of the registers in the block's AXI4-Lite port begin with."""


class Effect(StrEnum):
    """What an upset does to the jobs that are under way, or to the next one."""

    MASKED = "masked"
    """All results are right and come in time, also those of the next job."""
    LATENT = "latent"
    """The jobs that are under way end well. The next one does not, or the core stays busy."""
    WRONG = "wrong result"
    """A result, a packet or an answer of a register is wrong, or an offer does not stay."""
    HANGING = "hanging"
    """Something does not come."""


class Cure(StrEnum):
    """What makes the block work again."""

    SOFT_RESET = "soft reset"
    RESET = "reset"
    NOTHING = "nothing"
    """No reset of the block helps: this must not happen."""


@dataclass(frozen=True)
class FlipFlop:
    """A register of the Verilog.

    Parameters
    ----------
    path
        Names of the instances below the top module, joined by dots.
    name
        Name of the register.
    """

    path: str
    name: str


@dataclass(frozen=True)
class Upset:
    """One upset, and what came of it.

    Parameters
    ----------
    register
        The register, with the instances that it is in.
    bit
        The bit that was flipped.
    clock
        The clock, counted from the start of the jobs.
    effect
        What it did.
    told
        Whether the block reported an error.
    cure
        The mildest reset after which a job was right. It is given behind every upset.
    """

    register: str
    bit: int
    clock: int
    effect: Effect
    told: bool
    cure: Cure


def flip_flops(verilog: str) -> list[FlipFlop]:
    """Return the registers of Amaranth's Verilog: what is assigned at a clock's edge."""
    found = []
    for module, text in re.findall(r"^module (\S+?)\s*\((.*?)^endmodule", verilog, re.M | re.S):
        path = module.removeprefix("\\").partition(".")[2]
        names = re.findall(r"^ *always @\(posedge \S+\)\n *\\?(\S+?) *<= ", text, re.M)
        found += [FlipFlop(path, name) for name in dict.fromkeys(names)]
    return found


def _signals(dut: Any, path: str) -> dict[str, Any]:
    """Return the signals of an instance by their names.

    They are listed, and not looked up: Icarus finds a module in place of a signal of its name.
    """
    for part in filter(None, path.split(".")):
        dut = dut[part]
    signals = (child for child in dut if isinstance(child, ValueObjectBase))
    return {child._name.strip("\\ "): child for child in signals}


def problem_of(upsets: Sequence[Upset], cure_of_hangs: Cure) -> str:
    """Return which upsets nothing helped, or which hangs another cure ended; empty if none.

    A soft reset is a write, so it may not pass a register port that was upset itself.
    """
    if lost := [each for each in upsets if each.cure is Cure.NOTHING]:
        return f"no reset helped after {lost}"
    hangs = [each for each in upsets if each.effect is Effect.HANGING]
    if cure_of_hangs is Cure.SOFT_RESET:
        hangs = [each for each in hangs if not each.register.startswith(REGISTER_PORT)]
    if unlike := [each for each in hangs if each.cure is not cure_of_hangs]:
        return f"these hangs were not ended by a {cure_of_hangs}: {unlike}"
    return ""


class Upsets:
    """Draws upsets of the block that is simulated, and keeps what came of them.

    In every other upset each bit is as likely as any other, as in a device. Most bits hold data, so
    in the others each register is as likely as any other: that is where blocks hang.

    Parameters
    ----------
    dut, clock
        The block, and its clock.
    """

    def __init__(self, dut: Any, clock: Any) -> None:
        self._clock = clock
        self._random = Random(1)
        found = flip_flops(Path(os.environ[VERILOG]).read_text())
        signals = {path: _signals(dut, path) for path in {register.path for register in found}}
        self._registers = [(each, signals[each.path][each.name]) for each in found]
        self._weights = [len(handle) for _, handle in self._registers]
        self.bits = sum(self._weights)
        self.count = int(os.environ[COUNT])
        self._records: list[Upset] = []

    def draw(self, clocks: int) -> tuple[FlipFlop, Any, int, int]:
        """Return a register, its handle, a bit, and one of so many clocks."""
        weights = self._weights if len(self._records) % 2 else None
        ((register, handle),) = self._random.choices(self._registers, weights)
        bit, clock = self._random.randrange(len(handle)), self._random.randrange(clocks)
        return register, handle, bit, clock

    async def flip(self, handle: Any, bit: int, clock: int) -> None:
        """Flip a bit after some clocks, in the middle of a clock."""
        for _ in range(clock + 1):
            await FallingEdge(self._clock)
        handle.value = int(handle.value) ^ 1 << bit

    def note(
        self, drawn: tuple[FlipFlop, Any, int, int], effect: Effect, *, told: bool, cure: Cure
    ) -> None:
        """Keep what came of an upset."""
        register, _, bit, clock = drawn
        name = f"{register.path}.{register.name}".removeprefix(".")
        self._records.append(Upset(name, bit, clock, effect, told, cure))

    def write(self, cure_of_hangs: Cure) -> None:
        """Write what came of all upsets; fail if nothing helped, or if a hang needed another cure.

        Parameters
        ----------
        cure_of_hangs
            What must have ended every hang.
        """
        told = {"bits": self.bits, "upsets": [asdict(each) for each in self._records]}
        Path(os.environ[RECORDS]).write_text(json.dumps(told))
        problem = problem_of(self._records, cure_of_hangs)
        assert not problem, problem
        assert len(self._records) == self.count
