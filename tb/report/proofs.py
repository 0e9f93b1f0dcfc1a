"""Of the formal proofs: what holds, for how long, and what shows that a proof is not empty."""

from __future__ import annotations

from typing import Any

from extremum.tb.report.markdown import count, number, paragraph, table
from extremum.tb.report.section import Told


def formal(evidence: dict[str, Any]) -> Told:
    """Tell each property, whether it is bounded, its cover and the faults planted against it."""
    proofs = evidence["proofs"]
    bounded = [proof for proof in proofs if proof["bounded"]]
    failed = [proof for proof in proofs if proof["status"] != "proved"]
    planted = [fault for proof in proofs for fault in proof["faults"]]
    found = sum(fault["found"] is not None for fault in planted)
    proved = len(proofs) - len(failed)
    summary = (
        f"{number(proved)} of {count(len(proofs), 'property')} proved, {len(bounded)} of these "
        "only for a limited number of clocks; "
        f"{found} of {count(len(planted), 'planted fault')} found"
    ).replace("propertys", "properties")
    columns = ["property", "block", "holds for", "seconds", "cover", "planted faults found"]
    text = [
        paragraph(
            f"{summary}. An unbounded proof is by induction over k clocks, and holds at any time "
            "after reset. The cover is the clock at which the last of the situations that the "
            "property is about has been reached; a planted fault must break the property. What is "
            "said of numbers is shown by looking at all cases up to a bound; there the cover is "
            "the number of cases of the rarest kind that the claim is about."
        ),
        table(columns, map(_row, proofs)),
    ]
    limits = [
        f"The property {proof['name']} (`{proof['block']}`) is proved for the first "
        f"{number(proof['depth'])} clocks after reset only."
        for proof in bounded
    ]
    problems = [f"{proof['name']} is not proved" for proof in failed]
    problems += [
        f"{proof['name']}: a planted fault is not found"
        for proof in proofs
        if any(fault["found"] is None for fault in proof["faults"])
    ]
    return Told(summary, "\n\n".join(text), tuple(problems), tuple(limits))


def _row(proof: dict[str, Any]) -> list[Any]:
    covered, faults = proof["covered"], proof["faults"]
    holds = (
        f"{number(proof['depth'])} clocks" if proof["bounded"] else f"ever, k = {proof['depth']}"
    )
    cover = f"clock {max(covered.values())}" if covered else "none"
    if "cases" in proof:
        holds = f"{number(proof['cases'])} cases"
        cover = f"{number(min(covered.values()))} cases" if covered else "none"
    found = sum(fault["found"] is not None for fault in faults)
    return [
        f"{proof['name']}: {proof['claim']}",
        f"`{proof['block']}`",
        holds if proof["status"] == "proved" else "not shown",
        float(proof["seconds"]["proof"]),
        cover,
        f"{found} of {len(faults)}",
    ]
