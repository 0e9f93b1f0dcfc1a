"""Whether a change of the gateware's sources changed its netlists: `make netlists`.

Evidence belongs to a revision of the sources. A change that adds a new kind of core, or moves a
function, gives another revision, and yet the same netlists. What was shown of these stays shown. So
``docs/evidence/netlists.json`` has the digest of the netlist of every core and block that the
random regression and the mutation use, and of that around each block that is proved, with its
claims; and of each earlier revision the names of those that are still the same.

What holds results against the golden model, as the regression does, was shown with the model of its
day. So the digest of the golden model stands beside each revision, and such evidence counts only if
it is the present one, too.

The netlist is the RTLIL that Amaranth makes, without the places in the sources. Equal means equal
in every byte.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue] (not in the stubs)

from extremum.hdl.config import CoreConfig
from extremum.hdl.verilog import component_of
from extremum.tb.command import end
from extremum.tb.evidence import FOLDER, known_form, read_evidence, write_evidence
from extremum.tb.formal.proof import Proof
from extremum.tb.formal.proofs import all_proofs
from extremum.tb.formal.property import Property
from extremum.tb.mutation.designs import DESIGNS, scaled
from extremum.tb.regression.pool import TARGETS
from extremum.tb.regression.revision import revision
from extremum.tb.source_digest import source_digest

EVIDENCE = FOLDER / "netlists.json"


def digest(config: CoreConfig, bus: str) -> str:
    """Return twelve hexadecimal digits of the netlist of a core or a block."""
    return _digest_of(rtlil.convert(component_of(config, bus), name="top", emit_src=False))


def digest_of_proof(proof: Proof) -> str:
    """Return twelve hexadecimal digits of the netlist of a block with its claims around it."""
    stated = Property()
    proof.state(stated)
    return _digest_of(rtlil.convert(stated.m, name="top", ports=stated.inputs, emit_src=False))


def _digest_of(netlist: object) -> str:
    return hashlib.sha256(str(netlist).encode()).hexdigest()[:12]


def digests() -> Iterator[tuple[str, str]]:
    """Yield the name of each core and block, and the digest of its netlist."""
    for target in TARGETS:
        yield target.name, digest(target.config, target.bus)
    for name, design in DESIGNS.items():
        with scaled(design):
            yield f"mutated {name}", digest(design.config, design.bus)
    for proof in all_proofs():
        if isinstance(proof, Proof):
            yield f"proof {proof.name}", digest_of_proof(proof)


def golden_model() -> str:
    """Return the digest of the golden model's sources."""
    return source_digest(["model"])


def compared(
    before: dict[str, Any], now: dict[str, str], present: dict[str, str], model: str
) -> dict[str, Any]:
    """Return the evidence: the netlists now, and which of them earlier revisions had already.

    Parameters
    ----------
    before
        The evidence so far; empty if there is none.
    now
        The digests now.
    present
        The present revision: ``gateware`` and ``core``.
    model
        The digest of the present golden model.
    """
    kept: list[dict[str, Any]] = []
    old = before.get("netlists", {})
    unchanged = {name for name, digest in old.items() if now.get(name) == digest}
    last = {"revision": before.get("revision"), "model": before.get("model"), "same": list(old)}
    for each in (*before.get("earlier", ()), *([last] if before else [])):
        names = [name for name in each["same"] if name in unchanged]
        if names and each["revision"] != present:
            kept.append(each | {"same": names})
    return {"revision": present, "model": model, "netlists": now, "earlier": kept}


def earlier_revisions(
    folder: Path = EVIDENCE.parent, *, with_model: bool = False
) -> dict[str, frozenset[str]]:
    """Return what earlier revisions have in common with the present sources.

    Parameters
    ----------
    folder
        Folder of the evidence.
    with_model
        Leave out those that had another golden model.

    Returns
    -------
    dict
        For the digests of each earlier revision: the names of the cores and blocks whose netlists
        it had already. It is empty if nothing is told of the present sources.
    """
    found = read_evidence(folder / EVIDENCE.name)
    now = revision()
    if found.get("revision") != {"gateware": now.gateware, "core": now.core}:
        return {}
    model = golden_model() if with_model else None
    return {
        digest: frozenset(each["same"])
        for each in found["earlier"]
        if model is None or each.get("model") == model
        for digest in each["revision"].values()
    }


def names_for_faults() -> frozenset[str]:
    """Return the names of the cores and blocks that upsets and planted bugs are tried on.

    They are fast and small ones of the random regression, which runs balanced ones, too, and the
    fast ones of the mutation.
    """
    names = (target.name for target in TARGETS if target.config.pipelining != "balanced")
    mutated = (name for name, design in DESIGNS.items() if design.config.pipelining == "fast")
    return frozenset((*names, *(f"mutated {name}" for name in mutated)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the evidence, and tell what has changed; return the exit status.

    What has changed is only written if that is asked for: else it would be told but once.
    """
    parser = argparse.ArgumentParser(prog="python -m extremum.tb.netlists", description=__doc__)
    parser.add_argument(
        "--accept", action="store_true",
        help="write netlists that have changed: what was shown of those before is old then",
    )  # fmt: skip
    accepts = parser.parse_args(arguments).accept
    before = read_evidence(EVIDENCE)
    now, present = dict(digests()), revision()
    here = {"gateware": present.gateware, "core": present.core}
    with known_form(EVIDENCE):
        found = compared(before, now, here, golden_model())
        changed = [name for name, old in before.get("netlists", {}).items() if now.get(name) != old]
    if accepts or not changed:
        write_evidence(EVIDENCE, found, sort_keys=False)
    for name in changed:
        print(f"{name}: the netlist {'is gone' if name not in now else 'has changed'}")
    same = len(now) - sum(name in now for name in changed)
    if accepts:
        same, changed = len(now), []
    elif changed:
        print("nothing is written: --accept writes netlists that have changed on purpose")
    print(f"{len(now)} netlists of the gateware {present.gateware}")
    for each in found["earlier"]:
        print(
            f"{len(each['same'])} of them are those of the gateware {each['revision']['gateware']}"
        )
    print(f"{same} passed, {len(changed)} failed")
    return int(bool(changed))


if __name__ == "__main__":
    end(main)
