"""Coverage of the generated Verilog: what is counted, where it is told, and how holes are kept."""

import subprocess
from pathlib import Path

import pytest
from amaranth.hdl import Elaboratable, Module, Signal

from extremum.host.simulation.verilated import include_folder, verilator_variables
from extremum.tb.code_coverage import holes
from extremum.tb.code_coverage.build import CORE, KINDS
from extremum.tb.code_coverage.points import Point, points
from extremum.tb.code_coverage.sources import annotated, toggles_of_ports

HERE = Path(__file__)
ROOT = HERE.parent

MAIN = """
#include "Vcore.h"
#include "verilated.h"
#include "verilated_cov.h"
int main() {
    VerilatedContext context;
    Vcore core{&context};
    for (int clock = 0; clock < 8; ++clock) {
        core.a = clock & 1;
        core.b = clock >> 1 & 1;
        core.rst = 0;
        core.clk = 0; core.eval();
        core.clk = 1; core.eval();
    }
    context.coveragep()->write("coverage.dat");
}
"""


class Tiny(Elaboratable):
    """Counts when `a` and `b` are set; `c` is never driven."""

    def __init__(self):
        self.a = Signal()
        self.b = Signal()
        self.c = Signal()
        self.o = Signal(4)

    def elaborate(self, platform):
        m = Module()
        both = Signal()
        m.d.comb += both.eq(self.a & self.b)  # and
        with m.If(self.c):
            m.d.sync += self.o.eq(9)  # never
        with m.Elif(both):
            m.d.sync += self.o.eq(self.o + 1)  # counts
        return m


def source_of(mark):
    lines = HERE.read_text().splitlines()
    number = next(n for n, line in enumerate(lines, 1) if line.endswith(f"# {mark}"))
    return f"{HERE.name}:{number}"


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    tiny = Tiny()
    design = annotated(tiny, "tiny", ports=[tiny.a, tiny.b, tiny.c, tiny.o])
    (folder / CORE).write_text(toggles_of_ports(design))
    (folder / "main.cpp").write_text(MAIN)
    command = ["verilator", "--cc", "--top-module", "tiny", "--prefix", "Vcore", *KINDS]
    subprocess.run(
        [*command, "-Wno-fatal", "--Mdir", ".", CORE],
        cwd=folder,
        env=verilator_variables(),
        check=True,
        capture_output=True,
    )
    include = include_folder()
    runtime = [include / f"{name}.cpp" for name in ("verilated", "verilated_cov")]
    runtime.append(include / "verilated_threads.cpp")
    flags = ["-std=c++17", "-w", "-O0", "-DVM_COVERAGE=1", f"-I{include}", f"-I{include}/vltstd"]
    (folder / "all.cpp").write_text(
        "".join(f'#include "{path}"\n' for path in [*runtime, *folder.glob("*.cpp")])
    )
    subprocess.run(["c++", *flags, "all.cpp", "-o", "run", "-pthread"], cwd=folder, check=True)
    subprocess.run([folder / "run"], cwd=folder, check=True)
    return points(design, (folder / "coverage.dat").read_text(), {})[0]


def test_points_are_told_at_the_line_of_their_statement(counted):
    counts = source_of("counts")
    assert counted["line", counts, ""]
    assert counted["branch", counts, "taken"]
    assert counted["branch", counts, "not taken"] > counted["branch", counts, "taken"]
    for outcome in ("left 1, right 1 gives 1", "left 0 gives 0", "right 0 gives 0"):
        assert counted["expression", source_of("and"), f"& {outcome}"]


def test_what_is_never_executed_is_a_hole(counted):
    unmet = {point for point, count in counted.items() if not count}
    assert Point("line", source_of("never"), "") in unmet
    assert Point("branch", source_of("never"), "taken") in unmet
    assert Point("toggle", "tiny", "c.0 0->1") in unmet
    assert Point("toggle", "tiny", "a.0 0->1") in counted.keys() - unmet


def test_a_hole_needs_an_explanation_and_an_explanation_a_hole(counted):
    line = "m.d.sync += self.o.eq(9)  # never"
    names = [f"{HERE.name} | line | {line}", f"{HERE.name} | branch | {line} | taken"]
    without = holes.report(counted, ROOT, [], [])
    assert set(names) <= set(without.new)
    assert without.kinds["line"]["waived"] == without.kinds["line"]["open"] == 0

    made = holes.report(counted, ROOT, [*names[:1], "tiny | toggle | c.*"], names[1:])
    assert made.new == [n for n in without.new if n not in names and "toggle | c." not in n]
    assert made.kinds["line"]["waived"] == 1
    assert made.kinds["branch"]["open"] == 1
    assert not made.stale

    hit = f"{HERE.name} | line | m.d.sync += self.o.eq(self.o + 1)  # counts"
    assert holes.report(counted, ROOT, [hit, "gone.py | line | *"], []).stale == [
        hit,
        "gone.py | line | *",
    ]


def test_an_explanation_has_a_reason(tmp_path):
    path = tmp_path / "holes.toml"
    path.write_text('[[hole]]\npoints = ["hdl/core.py | line | x"]\nreason = " "\n')
    with pytest.raises(ValueError, match="must have a reason"):
        holes.explanations(path)


def test_the_lists_of_holes_do_not_overlap():
    assert not set(holes.explanations()) & set(holes.open_holes())
