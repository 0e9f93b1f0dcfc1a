"""Compiles the program for a system: the C driver, the operators, and the system's own source."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import cases

COMPILER = "riscv64-unknown-elf-gcc"
"""Debian's compiler, from the package ``gcc-riscv64-unknown-elf``."""

FIRMWARE = Path(__file__).parent
MAIN = FIRMWARE / "main.c"
DRIVER = FIRMWARE.parents[1] / "drivers" / "c"

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion")


def build(
    folder: Path,
    system: Path,
    *,
    march: str,
    optimisation: str = "-Os",
    system_headers: Sequence[Path] = (),
    program: Sequence[Path] = (MAIN,),
) -> Path:
    """Compile the program.

    Parameters
    ----------
    folder
        Where to leave ``firmware.bin``, and ``firmware.hex`` with a word of 32 bits on each line.
    system
        Folder of the system, with ``system.c`` and ``link.ld``.
    march
        The instructions that the processor has, such as ``"rv32im"``.
    optimisation
        The compiler's option.
    system_headers
        Folders of headers that are not ours, so that nothing is said about them.
    program
        The sources with ``main`` and what it needs beside the driver, the console and the system.
        The compiler's warnings about others than the example's are shown, and are no errors.

    Returns
    -------
    Path
        The binary image.

    Raises
    ------
    FileNotFoundError
        The compiler is not installed.
    RuntimeError
        It refused the program; the message has its words.
    """
    if shutil.which(COMPILER) is None:
        raise FileNotFoundError(
            f"{COMPILER} is missing: apt-get install gcc-riscv64-unknown-elf installs it"
        )
    cases.write(folder / "cases.h")
    sources = [
        FIRMWARE / "start.S",
        system / "system.c",
        *sorted(set(FIRMWARE.glob("*.c")) - {MAIN}),
        *program,
        DRIVER / "extremum.c",
    ]
    folders = [f"-I{path}" for path in (folder, FIRMWARE, DRIVER)]
    folders += [word for path in system_headers for word in ("-isystem", str(path))]
    elf, image = folder / "firmware.elf", folder / "firmware.bin"
    target = [f"-march={march}", "-mabi=ilp32", "-ffreestanding", "-nostdlib", "-static"]
    # Otherwise the compiler would make of memcpy a call of memcpy.
    target.append("-fno-tree-loop-distribute-patterns")
    linking = ["-Wl,--build-id=none,--gc-sections", f"-T{system / 'link.ld'}"]
    strict = ["-Werror"] if list(program) == [MAIN] else []
    _run(
        COMPILER, "-std=c99", *WARNINGS, *strict, optimisation, *target, "-ffunction-sections",
        "-fdata-sections", *folders, *linking, *sources, "-lgcc", "-o", elf,
    )  # fmt: skip
    _run(COMPILER.replace("gcc", "objcopy"), "-O", "binary", elf, image)
    data = image.read_bytes()
    data += bytes(-len(data) % 4)
    words = (data[place : place + 4][::-1].hex() for place in range(0, len(data), 4))
    (folder / "firmware.hex").write_text("\n".join(words) + "\n")
    return image


def _run(*command: object) -> None:
    words = [str(word) for word in command]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(f"{words[0]} refused the program:\n{ran.stderr}")
    # Of one memory for code and data the linker always warns.
    warnings = [line for line in ran.stderr.splitlines() if "RWX permissions" not in line]
    print(*warnings, sep="\n", end="\n" * bool(warnings), file=sys.stderr)
