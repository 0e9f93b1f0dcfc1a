"""Upsets flip-flops of simulated blocks, and records what came of it.

``python -m extremum.tb.faults --upsets 1000`` ends with the line ``N passed, N failed``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cocotb_tools.check_results import get_results

from extremum.hdl.verilog import TOPS
from extremum.host import cache
from extremum.host.simulation.cocotb_simulator import compile_core
from extremum.tb.command import at_least, end, is_kept, refuse_unwritable
from extremum.tb.cores import CORE, CORES
from extremum.tb.evidence import FOLDER, known_form, read_evidence, write_evidence
from extremum.tb.faults.upsets import COUNT, RECORDS, VERILOG
from extremum.tb.regression.revision import require_unchanged, revision

EVIDENCE = FOLDER / "faults.json"
RUNS = (("none", "reduction"), ("none", "image"), ("axi", "reduction"))
"""The bus and the core of each block that is upset."""

LONGEST = 3600
"""Seconds after which a simulation is given up."""


def name_of(bus: str, core: str) -> str:
    """Return the name of a block in the evidence."""
    return f"{core}{', AXI block' if bus == 'axi' else ''}"


def main() -> int:
    """Upset each block, print a line for each, write the evidence; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m extremum.tb.faults", description=__doc__)
    parser.add_argument(
        "--upsets", type=at_least(1), default=1000, help="upsets of each block, 1 or more"
    )
    parser.add_argument("--evidence", type=Path, default=EVIDENCE, help="the file to write")
    options = parser.parse_args()
    gateware = revision().gateware
    refuse_unwritable(parser, options.evidence)
    told = read_evidence(EVIDENCE) if options.evidence.resolve() == EVIDENCE.resolve() else {}
    with known_form(EVIDENCE):
        before = max((block["count"] for block in told.get("blocks", ())), default=0)
    if shutil.which("iverilog") is None:
        parser.error("there is no iverilog: 'make icarus' installs it")
    blocks = [upset(bus, core, options.upsets) for bus, core in RUNS]
    failed = sum(block["result"] != "passed" for block in blocks)
    evidence = {
        "blocks": blocks,
        "failed": failed,
        "passed": len(blocks) - failed,
        "revision": {"gateware": gateware},
        "versions": {
            "cocotb": version("cocotb"),
            "icarus": subprocess.run(
                ["iverilog", "-V"], capture_output=True, text=True, check=True
            ).stdout.split("\n")[0],
        },
    }
    if failed or not is_kept("upsets", before, options.upsets):
        require_unchanged()
        write_evidence(options.evidence, evidence)
    print(f"{len(blocks) - failed} passed, {failed} failed")
    return int(failed > 0)


def upset(bus: str, core: str, count: int) -> dict[str, Any]:
    """Upset the core (bus ``"none"``) or its AXI block many times; return what came of it."""
    with tempfile.TemporaryDirectory(prefix="extremum-faults-") as name:
        folder = Path(name)
        (folder / "block.v").write_text(cache.verilog(CORES[core], bus=bus))
        request = {
            "simulator": "icarus",
            "build_dir": str(compile_core(CORES[core], "icarus", bus=bus)),
            "top": TOPS[bus],
            "test_dir": name,
            "module": f"extremum.tb.faults.{'core' if bus == 'none' else 'block'}",
            "environment": {
                CORE: core,
                VERILOG: str(folder / "block.v"),
                RECORDS: str(folder / "records.json"),
                COUNT: str(count),
                "COCOTB_ANSI_OUTPUT": "0",
            },
        }
        process = [sys.executable, "-m", "extremum.host.simulation.cocotb_process"]
        try:
            ran = subprocess.run(
                [*process, "simulate", json.dumps(request)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                env=dict(os.environ), timeout=LONGEST, check=False,
            )  # fmt: skip
            ended, said = ran.returncode == 0, ran.stdout
        except subprocess.TimeoutExpired as error:
            ended, said = False, (error.stdout or b"") + f"no end after {LONGEST} s\n".encode()
        records = folder / "records.json"
        told = json.loads(records.read_text()) if records.exists() else {"bits": 0, "upsets": []}
        report = folder / "results.xml"
        is_right = ended and report.exists() and not get_results(report)[1]
    upsets = told["upsets"]
    result = "passed" if is_right and len(upsets) == count else "failed"
    if result != "passed":
        print(said.decode(errors="replace")[-6000:], file=sys.stderr)
    effects = Counter(each["effect"] for each in upsets)
    unlike = [each for each in upsets if each["effect"] == "hanging" or each["cure"] == "reset"]
    block = name_of(bus, core)
    shown = ", ".join(f"{number} {effect}" for effect, number in sorted(effects.items()))
    print(f"{block:22} {told['bits']:5} flip-flops: {shown}; {result}", flush=True)
    return {
        "block": block,
        "count": len(upsets),
        "cures": {effect: _cures(upsets, effect) for effect in sorted(effects)},
        "effects": dict(sorted(effects.items())),
        "flip_flops": told["bits"],
        "hanging": [each for each in unlike if each["effect"] == "hanging"],
        "latent": [each for each in upsets if each["effect"] == "latent"],
        "needs aresetn": [each for each in unlike if bus == "axi" and each["cure"] == "reset"],
        "reported": sum(each["told"] for each in upsets),
        "result": result,
    }


def _cures(upsets: list[dict[str, Any]], effect: str) -> dict[str, int]:
    """Return how many upsets of an effect each cure ended."""
    return dict(sorted(Counter(u["cure"] for u in upsets if u["effect"] == effect).items()))


if __name__ == "__main__":
    end(main)
