"""A design with all mutants of a block, compiled to machine code, and recordings of its ports."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from extremum.host import cache, tools
from extremum.host.processes import Processes
from extremum.host.simulation import verilated
from extremum.tb.mutation import yosys
from extremum.tb.mutation.designs import TOP, Design

NEVER = (1 << 64) - 1
LIBRARY = "core.so"
REPLAY = Path(str(files("extremum.tb.mutation"))) / "replay.cpp"
VERILATE = (
    "--cc", "-O3", "--x-initial", "unique", "--no-timing", "--top-module", "bench",
    "--prefix", "Vcore", "--Mdir", "model", "-Wno-fatal", "-Wno-lint", "-Wno-UNOPTFLAT",
    *tools.VERILATOR_WORKAROUNDS,
)  # fmt: skip
RUNTIME = ("verilated.cpp", "verilated_threads.cpp")
FAST = ("-O1", "-fvisibility=hidden")


@dataclass(frozen=True)
class Port:
    """A port: its width in bits, and the first of the words of 32 bits that hold it in a row."""

    width: int
    word: int

    @property
    def words(self) -> int:
        """Words that hold it."""
        return -(-self.width // 32)


def ports(text: str, direction: str) -> dict[str, int]:
    """Return the ports of a flat design, ``"input"`` or ``"output"``, with their widths."""
    found = {}
    for line in text.splitlines():
        match = re.fullmatch(rf"  wire(?: width (\d+))? {direction} \d+ \\(\S+)", line)
        if match:
            found[match[2]] = int(match[1] or 1)
    return found


def in_words(widths: dict[str, int]) -> tuple[dict[str, Port], int]:
    """Return where each port stands in a row of words, and how many words there are."""
    placed, word = {}, 0
    for name, width in widths.items():
        placed[name] = Port(width, word)
        word += placed[name].words
    return placed, max(word, 3)  # three words: Verilator's form for wide ports


def _bench(inputs: dict[str, Port], outputs: dict[str, Port], clock: str, sizes: Any) -> str:
    """Return the top module: the design with a register before each of its inputs."""
    connections = [f".{clock}(clk)", f".{yosys.SELECTOR}(mutsel)"]
    connections += [f".{n}(now[{32 * p.word} +: {p.width}])" for n, p in inputs.items()]
    connections += [f".{n}(o[{32 * p.word} +: {p.width}])" for n, p in outputs.items()]
    used = sum(((1 << p.width) - 1) << 32 * p.word for p in outputs.values())
    bits = 32 * sizes[1]
    spare = "\n".join(f"  assign o[{bit}] = 0;" for bit in range(bits) if not used >> bit & 1)
    return f"""module bench (
  input clk, input [{yosys.SELECTOR_BITS - 1}:0] mutsel,
  input [{32 * sizes[0] - 1}:0] i, output [{bits - 1}:0] o
);
  reg [{32 * sizes[0] - 1}:0] now = 0;
  always @(posedge clk) now <= i;
  {TOP} under_test ({", ".join(connections)});
{spare}
endmodule
"""


class CompiledDesign:
    """A design that holds mutants, chosen by number; 0 is the design without a fault.

    Parameters
    ----------
    design
        The design.
    mutants
        The mutants, numbered from 1 on.
    """

    def __init__(self, design: Design, mutants: Sequence[yosys.Mutant]) -> None:
        text = yosys.flat(design)
        widths = {name: ports(text, name) for name in ("input", "output")}
        widths["input"].pop(design.clock)
        self.inputs, in_size = in_words(widths["input"])
        self.outputs, out_size = in_words(widths["output"])
        self.sizes = in_size, out_size
        key = yosys.put_in(
            text, mutants, REPLAY.read_text(), *VERILATE, *FAST, verilated.cache_key()
        )
        bench = _bench(self.inputs, self.outputs, design.clock, self.sizes)

        def make(folder: Path) -> None:
            _compile(folder, text, mutants, bench, self.sizes)

        compiler = verilated.compiler_version()
        folder = cache.kept("mutation", key, make, maker=compiler)
        self._library = library = ctypes.CDLL(str(folder / LIBRARY))
        pointer, number, count = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64
        library.bench_open.restype, library.bench_open.argtypes = pointer, [number]
        library.bench_close.restype, library.bench_close.argtypes = None, [pointer]
        library.bench_tick.restype = None
        library.bench_tick.argtypes = [pointer] * 3
        library.bench_replay.restype = count
        library.bench_replay.argtypes = [number, count, pointer, pointer, pointer, pointer]
        self._opened: int | None = None

    def restart(self) -> None:
        """Begin a simulation of the design without a fault, clock by clock."""
        self.close()
        self._opened = self._library.bench_open(0)

    def tick(self, row: np.ndarray, out: np.ndarray) -> None:
        """Pass a clock edge, from which on the design sees these inputs; tell its outputs."""
        self._library.bench_tick(self._opened, row.ctypes.data, out.ctypes.data)

    def close(self) -> None:
        """End the simulation."""
        if self._opened is not None:
            self._library.bench_close(self._opened)
            self._opened = None

    def replay(self, mutant: int, trial: Trial) -> tuple[int, np.ndarray] | None:
        """Return the first clock in which a mutant differs from the recording, and its outputs.

        None is returned if it never differs.
        """
        found = np.zeros(self.sizes[1], np.uint32)
        clock = self._library.bench_replay(
            mutant, len(trial.inputs), trial.inputs.ctypes.data, trial.outputs.ctypes.data,
            trial.mask.ctypes.data, found.ctypes.data,
        )  # fmt: skip
        return None if clock == NEVER else (clock, found)

    def differing(self, trial: Trial, clock: int, found: np.ndarray) -> str:
        """Return the name of an output that differs from the recording in a clock."""
        wrong = (trial.outputs[clock] ^ found) & trial.mask[clock]
        names = [
            name for name, port in self.outputs.items()
            if wrong[port.word : port.word + port.words].any()
        ]  # fmt: skip
        # A wrong payload says more than a wrong handshake beside it.
        return min(names, key=lambda name: (name.endswith(("valid", "ready")), name))


@dataclass(frozen=True)
class Trial:
    """What the ports of the design without a fault did, and what of it is looked at.

    Parameters
    ----------
    kind
        The kind of trial: ``"jobs"``, ``"stalls"``, ...
    inputs, outputs, mask
        A row of words for each clock, uint32.
    """

    kind: str
    inputs: np.ndarray
    outputs: np.ndarray
    mask: np.ndarray


class Recorder:
    """Drives the ports of the design without a fault clock by clock, and records them.

    Parameters
    ----------
    model
        The design.
    """

    def __init__(self, model: CompiledDesign) -> None:
        self._model = model
        self.inputs = model.inputs
        model.restart()
        self._row = np.zeros(model.sizes[0], np.uint32)
        self._out = np.zeros(model.sizes[1], np.uint32)
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []

    @property
    def clocks(self) -> int:
        """Clocks that were recorded."""
        return len(self._inputs)

    def clock(self, **values: int) -> dict[str, int]:
        """Pass a clock with these inputs; the others stay. Return the outputs of that clock."""
        for name, value in values.items():
            port = self._model.inputs[name]
            if port.width <= 32:
                self._row[port.word] = value
            else:
                words = value.to_bytes(4 * port.words, "little")
                self._row[port.word : port.word + port.words] = np.frombuffer(words, "<u4")
        self._model.tick(self._row, self._out)
        self._inputs.append(self._row.tobytes())
        self._outputs.append(raw := self._out.tobytes())
        return {
            name: int.from_bytes(raw[4 * port.word : 4 * (port.word + port.words)], "little")
            for name, port in self._model.outputs.items()
        }

    def repeat(self, clocks: int) -> None:
        """Pass so many clocks with the inputs of the clock before."""
        for _ in range(clocks):
            self._model.tick(self._row, self._out)
            self._inputs.append(self._inputs[-1])
            self._outputs.append(self._out.tobytes())

    def trial(self, kind: str, valids: dict[str, tuple[str, ...]]) -> Trial:
        """End the recording.

        Parameters
        ----------
        kind
            The kind of trial.
        valids
            For each output that says whether others count: those.
        """
        self._model.close()
        inputs, outputs = (
            np.frombuffer(b"".join(rows), np.uint32).reshape(len(rows), -1)
            for rows in (self._inputs, self._outputs)
        )
        mask = np.full_like(outputs, 0xFFFFFFFF)
        for valid, names in valids.items():
            absent = outputs[:, self._model.outputs[valid].word] == 0
            for name in names:
                port = self._model.outputs[name]
                mask[absent, port.word : port.word + port.words] = 0
        return Trial(kind, inputs, outputs, mask)


def _compile(
    folder: Path, text: str, mutants: Sequence[yosys.Mutant], bench: str, sizes: tuple[int, int]
) -> None:
    """Compile a design with its mutants to a shared library in a folder."""
    with TemporaryDirectory(dir=folder) as name, Processes() as processes:
        build = Path(name)
        yosys.write_mutated(build, text, mutants, "write_verilog -noattr design.v")
        (build / "bench.v").write_text(bench)
        command = ["verilator", *VERILATE, "design.v", "bench.v"]
        processes.run(command, build, verilated.verilator_variables())
        sources = sorted((build / "model").glob("*.cpp"))
        slow = [path for path in sources if path.stem.endswith("Slow")]
        fast = [REPLAY, *(path for path in sources if path not in slow)]
        words = [f"-DIN_WORDS={sizes[0]}", f"-DOUT_WORDS={sizes[1]}"]
        include = f"-I{build / 'model'}"
        groups = {
            "fast": (fast, [*FAST, include, *words]),
            "slow": (slow, ["-O0", "-fvisibility=hidden", include]),
        }
        objects = verilated.compile_groups(processes, groups, build)
        objects.append(verilated.runtime(processes, RUNTIME, (), verilated.compiler_version()))
        link = ["c++", "-shared", *map(str, objects), "-o", LIBRARY, "-pthread"]
        processes.run(link, build)
        (build / LIBRARY).rename(folder / LIBRARY)
