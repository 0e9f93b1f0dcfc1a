"""The systems in `examples`: a processor runs the C driver, and the block pools for it."""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from simulation import NEEDS_ICARUS

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
SHOWN = re.findall(r"```text\n(.*?)```", (ROOT / "docs" / "soc.md").read_text(), re.DOTALL)
"""What the document shows of each system."""

NEEDS_COMPILER = pytest.mark.skipif(
    not shutil.which("riscv64-unknown-elf-gcc"), reason="no compiler for RISC-V"
)
NEEDS_LITEX = pytest.mark.skipif(find_spec("litex") is None, reason="no LiteX: see make soc")

SIMULATORS = ["verilator", pytest.param("icarus", marks=[NEEDS_ICARUS, pytest.mark.slow])]


def run(*command):
    """Run an example; return what it prints."""
    ran = subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=1500,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def refusal(folder, *words):
    """Return what an example says on stderr where it cannot write a file."""
    # What Python keeps of imported modules would be written by halves, too, and be read later.
    ran = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, timeout=600, check=False,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (1, "")
    return ran.stderr


def test_verilog_that_cannot_be_written(tmp_path):
    (tmp_path / "extremum_core.v").mkdir()
    said = refusal(tmp_path, sys.executable, EXAMPLES / "verilog_of_an_argmax_core.py")
    assert said == "extremum_core.v cannot be written: Is a directory\n"


@NEEDS_COMPILER
def test_a_program_for_which_there_is_no_space(tmp_path):
    example = EXAMPLES / "picorv32" / "run.py"
    limited = 'ulimit -f 8; exec "$@"'
    said = refusal(tmp_path, "bash", "-c", limited, "bash", sys.executable, example)
    assert said == "error: [Errno 27] File too large\n"


def without_numbers(text):
    return re.sub(r" +\d+", " N", text)


def check_shown(said):
    """The document must show what a system says; its figures may be a little older.

    How many clocks a processor takes also depends on the compiler.
    """
    texts = [text for text in SHOWN if without_numbers(text) == without_numbers(said)]
    numbers = [[int(n) for n in re.findall(r" (\d+)", text)] for text in (said, *texts)]
    said_numbers, *shown = numbers
    assert any(near == pytest.approx(said_numbers, rel=0.1, abs=2) for near in shown), numbers


def check(said):
    """Every operator must be right, on the word of the processor, and the document shows it."""
    check_shown(said)
    first, *_, last = said.splitlines()
    assert first == "A short packet and a soft reset: told, and carried out"
    assert last == "PASS"
    lines = re.findall(r"^(\S.{29})((?: +\d+){6})  (.+)$", said, re.MULTILINE)
    assert len(lines) == 7
    for name, numbers, judgement in lines:
        jobs, to_plan, to_run, clocks, beats_in, _ = map(int, numbers.split())
        assert judgement == "right", name
        assert jobs == (2 if "wide lines" in name else 1)
        assert 0 < beats_in < clocks < to_run
        assert to_plan > 0


@NEEDS_COMPILER
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_picorv32(simulator):
    check(run(EXAMPLES / "picorv32" / "run.py", "--simulator", simulator))


OWN_PROGRAM = """
#include "console.h"
#include "system.h"

static struct extremum_block block;

int main(void)
{
    enum extremum_error error = extremum_open(&block, &SYSTEM_BLOCK);
    print(error ? extremum_error_text(error) : "the block is there");
    print(error ? "\\n" : "\\nPASS\\n");
    return error != EXTREMUM_OK;
}
"""


SMALL_PROGRAM = """
#include "console.h"
static unsigned char flags[3];
int main(void)
{
    print(flags[0] ? "FAIL\\n" : "PASS\\n");
    return 0;
}
"""
"""It has nothing that is aligned but its code."""


SENDING_PROGRAM = """
#include "console.h"
#include "system.h"
static uint32_t values[4], positions[4];
int main(void)
{
    struct extremum_block block;
    static struct extremum_plan plan;
    static struct extremum_job job;
    static const struct extremum_reduction row = {
        .function = EXTREMUM_ARGMAX, .rank = 1, .sizes = {64}, .data_type = EXTREMUM_INT8,
        .axis_count = 1,
    };
    extremum_open(&block, &SYSTEM_BLOCK);
    extremum_plan_reduction(&plan, &block.core, &row);
    extremum_next_job(&plan, &job);
    system_receive(values, 16, positions, 16);
    extremum_start(&block, &job);
    system_send((const void *)0x1FFE0, 64);
    extremum_wait(&block, 1000);
    print("PASS\\n");
    return 0;
}
"""
"""It sends what lies at the end of the memory, and behind it."""


COPYING_PROGRAM = """
#include <stddef.h>
#include "console.h"
void *memmove(void *to, const void *from, size_t count);
int memcmp(const void *one, const void *other, size_t count);
static char text[] = "abcdef";
int main(void)
{
    int unused;
    memmove(text + 1, text, 4);
    if (memcmp(text, "aabcdf", 6)) return 1;
    memmove(text, text + 1, 4);
    if (memcmp(text, "abcddf", 6)) return 2;
    if (memcmp("ab", "ac", 2) >= 0 || memcmp("b", "a", 1) <= 0) return 3;
    if (memcmp("\\x7f", "\\x80", 1) >= 0 || memcmp("ab", "ac", 1)) return 4;
    print("PASS\\n");
    return 0;
}
"""
"""It needs functions of the C library, and the compiler warns about it."""


@NEEDS_COMPILER
def test_a_program_of_ones_own_runs_on_the_picorv32(tmp_path):
    example = EXAMPLES / "picorv32" / "run.py"
    program = tmp_path / "own.c"
    program.write_text(OWN_PROGRAM)
    assert run(example, "--program", program) == "the block is there\nPASS\n"
    command = [sys.executable, str(example), "--program", str(program)]
    for text, told in (
        (OWN_PROGRAM.replace("PASS", "DONE"), "the program did not say that all is right"),
        (OWN_PROGRAM.replace("return error", "return 3 + error"), "ended with status 1"),
        (OWN_PROGRAM.replace("return error != EXTREMUM_OK", "return 256"), "ended with status 256"),
        (SMALL_PROGRAM.replace("return 0;", '__asm__(".word 0"); return 0;'), "an instruction"),
        (SMALL_PROGRAM.replace("return 0;", "return *(int *)0x20000;"), "that nothing has"),
        (SMALL_PROGRAM.replace("return 0;", "return *(int *)0x80000400;"), "that nothing has"),
        (SMALL_PROGRAM.replace("return 0;", "return *(int *)0x80000020;"), "the block refused"),
        (
            SMALL_PROGRAM.replace("return 0;", "*(int *)0x80000000 = 0; return 0;"),
            "the block refused",
        ),
        (SENDING_PROGRAM, "let the DMA leave the memory"),
    ):
        program.write_text(text)
        ran = subprocess.run(command, capture_output=True, text=True, timeout=1500, check=False)
        assert ran.returncode == 1, text
        assert told in ran.stderr
    program.write_text(SMALL_PROGRAM)
    assert run(example, "--program", program) == "PASS\n"
    program.write_text(COPYING_PROGRAM)
    ran = subprocess.run(command, capture_output=True, text=True, timeout=1500, check=False)
    assert (ran.returncode, ran.stdout) == (0, "PASS\n")
    assert "unused variable" in ran.stderr
    (tmp_path / "own.txt").write_text(SMALL_PROGRAM)
    for path in ("nosuch.c", str(tmp_path / "own.txt")):
        ran = subprocess.run(
            [*command[:-1], path], capture_output=True, text=True, timeout=1500, check=False
        )
        assert ran.returncode == 2
        told = f"error: --program wants files of C or assembly, .c or .S, not: {path}\n"
        assert ran.stderr.endswith(told)


@NEEDS_COMPILER
@NEEDS_LITEX
@pytest.mark.slow
def test_litex(tmp_path):
    check(run(EXAMPLES / "litex" / "soc.py", "simulate", "--output", tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=NEEDS_ICARUS)])
def test_memory_to_memory(simulator):
    said = run(EXAMPLES / "memory_to_memory" / "run.py", "--simulator", simulator)
    check_shown(said)
    assert said.endswith("all bytes are those of the golden model\n")
    counted = {name.strip(): int(n) for name, n in re.findall(r"^(.{16}) +(\d+)", said, re.M)}
    assert (counted["jobs"], counted["beats in"], counted["beats out"]) == (16, 12544, 3600)
    # The block takes a beat in every clock, and the memory is never the slower one.
    assert counted["stalls in"] <= counted["jobs"]
    assert counted["beats in"] < counted["cycles"] < counted["memory to memory"] < 14000
