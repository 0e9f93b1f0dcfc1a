"""The proofs, a file for each subject: each has a tuple ``PROOFS``."""

from __future__ import annotations

from importlib import import_module

from extremum.tb.formal.proof import Claim

SUBJECTS = (
    "key", "winner", "fold", "timing", "counter", "reduction", "queue", "admission", "job_port",
    "buffers", "packets", "outputs", "lite", "event_counters", "control", "ports", "schedule",
    "slots", "storage", "position", "results", "pooling", "plan",
)  # fmt: skip
"""The files of proofs, in the order in which the report lists them."""


def all_proofs() -> list[Claim]:
    """Return all proofs.

    Raises
    ------
    ValueError
        Two proofs have one name.
    """
    proofs = [
        proof for subject in SUBJECTS for proof in import_module(f"{__name__}.{subject}").PROOFS
    ]
    names = [proof.name for proof in proofs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two proofs are called {name!r}")
    return proofs


def proof_named(name: str) -> Claim:
    """Return the proof of that name.

    Raises
    ------
    ValueError
        There is none.
    """
    for proof in all_proofs():
        if proof.name == name:
            return proof
    raise ValueError(f"there is no proof {name!r}")
