"""The sources of the C driver: they compile everywhere, and have the names of the package."""

import re
from itertools import pairwise

import pytest
from c_compiler import SANITIZERS, compiler, run

from extremum.hdl.axi import register_map as regs
from extremum.hdl.config import CoreConfig
from extremum.hdl.register_table import register_names
from extremum.model import DataType
from extremum.tb.c_driver.operators import (
    DIRECTIONS,
    FUNCTIONS,
    INDEX_TYPES,
    LAYOUTS,
    NAN_MODES,
    TYPES,
)
from extremum.tb.c_driver.structures import FOLDER, HEADER, NAMES, members

WARNINGS = [
    "-std=c99",
    "-ffreestanding",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wsign-conversion",
    "-Wshadow",
    "-Wundef",
    "-Wcast-qual",
    "-Wstrict-prototypes",
    "-Wmissing-prototypes",
    "-Werror",
]
TARGETS = {
    "64 bits": ("gcc", "-m64"),
    "32 bits": ("gcc", "-m32"),
    "RISC-V of 32 bits": ("riscv64-unknown-elf-gcc", "-march=rv32i", "-mabi=ilp32"),
}

COMPILERS_OWN = re.compile(
    r"__u?(div|mod|divmod)[sdt]i[34]|__(mul|ashl|lshr|ashr|cmp|ucmp)[sd]i[23]|__x86.*"
    r"|mem(cpy|move|set)|_GLOBAL_OFFSET_TABLE_"
)
"""What a compiler may call by itself: arithmetic that its processor lacks, and how to copy a
structure."""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("level", ["-O0", "-O2", "-Os"])
def test_it_is_freestanding_and_free_of_warnings(target, level, tmp_path):
    name, *options = TARGETS[target]
    output = tmp_path / "extremum.o"
    run(compiler(name), *WARNINGS, *options, level, "-c", FOLDER / "extremum.c", "-o", output)
    symbols = run("nm", "-u", output).split()
    assert [s for s in symbols if s != "U" and not COMPILERS_OWN.fullmatch(s)] == []


def test_the_header_is_for_cpp_as_well():
    run(
        compiler(),
        *["-x", "c++", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"],
        FOLDER / "extremum.h",
    )


def named(prefix, names):
    return [f"EXTREMUM_{prefix}{name.upper().replace('.', '_')}" for name in names]


@pytest.mark.parametrize(
    ("enum", "names"),
    [
        ("register", [*named("REGISTER_", NAMES), "EXTREMUM_REGISTERS"]),
        ("data_type", named("", TYPES)),
        ("function", named("", FUNCTIONS)),
        ("axis_direction", named("", DIRECTIONS)),
        ("nan", named("", NAN_MODES)),
        ("index_type", named("INDEX_", INDEX_TYPES)),
        ("index_layout", named("LAYOUT_", LAYOUTS)),
    ],
)
def test_the_header_has_the_names_of_the_package_in_their_order(enum, names):
    assert members(f"extremum_{enum}") == names


README = (FOLDER / "README.md").read_text()
PROGRAM, FUNCTION = re.findall(r"```c\n(.*?)```", README, re.DOTALL)
"""What the document shows: a program that prints jobs, and a function that uses the block."""


def test_the_example_of_the_readme_prints_what_it_shows(tmp_path):
    (shown,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    source = tmp_path / "example.c"
    source.write_text(PROGRAM)
    sources = source, FOLDER / "extremum.c"
    flags = "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", FOLDER
    run(compiler(), *flags, *SANITIZERS, *sources, "-o", tmp_path / "example")
    assert run(tmp_path / "example", cwd=tmp_path) == shown


@pytest.mark.parametrize("target", TARGETS)
def test_the_function_of_the_readme_compiles(target, tmp_path):
    name, *options = TARGETS[target]
    source = tmp_path / "function.c"
    source.write_text(FUNCTION)
    flags = [flag for flag in WARNINGS if flag != "-Wmissing-prototypes"]
    output = tmp_path / "function.o"
    run(compiler(name), *flags, *options, "-I", FOLDER, "-c", source, "-o", output)


def test_the_header_has_the_addresses_of_the_register_map():
    everything = CoreConfig(tuple(DataType), lanes=4, max_window=(3, 3, 3), max_dilation=(2, 2, 2))
    known = {register.name: register.address for register in regs.register_map(everything)}
    named = dict(re.findall(r"EXTREMUM_ADDRESS_(\w+) = (0x\w+)", HEADER))
    assert len(named) == 19
    assert {name: int(address, 16) for name, address in named.items()} == {
        name: known[name] for name in named
    }
    # The driver counts from these addresses on.
    for first, second in (
        *pairwise(name for name, _ in regs.COUNTERS),
        *pairwise(name.replace(".", "_").upper() for name in register_names()),
        *pairwise(f"MAX_DILATION_{axis}" for axis in ("DEPTH", "HEIGHT", "WIDTH")),
        *((f"{name}_LOW", f"{name}_HIGH")
          for name in ("DATA_TYPES", "JOB_REGISTERS", "FIXED_REGISTERS")),
    ):  # fmt: skip
        assert known[second] - known[first] == regs.WORD_BYTES, second
    version = [int(re.findall(rf"VERSION_{part} (\d+)", HEADER)[0]) for part in ("MAJOR", "MINOR")]
    assert tuple(version) == regs.VERSION
