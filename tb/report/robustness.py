"""Of code coverage, upsets of flip-flops, and fuzzing."""

from __future__ import annotations

from typing import Any

from extremum.tb.report.markdown import bullets, count, number, paragraph, share, table
from extremum.tb.report.section import Told


def code_coverage(evidence: dict[str, Any]) -> Told:
    """Tell what of the generated Verilog ran, by kind, and which sources have holes."""
    kinds = evidence["kinds"]
    rows = [
        [name, each["total"], each["hit"], each["waived"], _holes(each), _share(each)]
        for name, each in kinds.items()
    ]
    holes = sum(map(_holes, kinds.values()))
    hit, points, waived = (
        sum(each[name] for each in kinds.values()) for name in ("hit", "total", "waived")
    )
    summary = f"{hit:,} of {count(points, 'point')} hit, {waived:,} waived with a reason"
    files = [
        f"`{path}`: "
        + ", ".join(f"{kind} {_holes(each)}" for kind, each in found.items() if _holes(each))
        for path, found in sorted(evidence["files"].items())
        if any(map(_holes, found.values()))
    ]
    text = [
        paragraph(
            "What of the generated Verilog ran, mapped back to the source of the gateware. A "
            "waived point has its reason in a file, and does not count in the last column."
        ),
        table(["kind", "points", "hit", "waived", "holes", "hit of the others"], rows),
        paragraph("Sources with holes, and how many:") if files else "",
        bullets(files),
    ]
    cores = ", ".join(f"`{core}`" for core in evidence["cases"])
    limits = [
        f"{count(waived, 'point')} of the code coverage did not run and have a reason instead; "
        "that a point ran does not say that its result was looked at.",
        f"The code coverage is of these cores: {cores}.",
    ]
    problems = (f"{count(holes, 'hole')}",) if holes else ()
    return Told(summary, "\n\n".join(filter(None, text)), problems, tuple(limits))


def _holes(each: dict[str, int]) -> int:
    return each["total"] - each["hit"] - each["waived"]


def _share(each: dict[str, int]) -> str:
    return share(each["hit"], each["total"] - each["waived"])


CURES = ("soft reset", "reset", "nothing")
"""What may make a block right behind an upset; the mildest that does is counted."""


def faults(evidence: dict[str, Any]) -> Told:
    """Tell what came of upsets, by block, and what made the block right again."""
    blocks = evidence["blocks"]
    effects = sorted({effect for block in blocks for effect in block["effects"]})
    rows = (
        [
            block["block"], block["flip_flops"], block["count"],
            *(block["effects"].get(effect, 0) for effect in effects),
            *(_cured(block, cure) for cure in CURES), block["reported"], block["result"],
        ]
        for block in blocks
    )  # fmt: skip
    upsets = sum(block["count"] for block in blocks)
    sums = (f"{number(sum(block['effects'].get(e, 0) for block in blocks))} {e}" for e in effects)
    summary = f"{count(upsets, 'upset')}: {', '.join(sums)}"
    columns = ["block", "flip-flops", "upsets", *effects, *(f"ended by {cure}" for cure in CURES)]
    text = [
        paragraph(
            "One flip-flop is inverted while jobs run, and the results are compared with the right "
            f"ones. {summary}. An upset is latent if these jobs end well, and the next one, "
            "without a reset between them, does not, or if the core stays busy behind them. Behind "
            "each upset other jobs run after the mildest reset that makes the block right; a core "
            "has one reset only. An upset is reported if the block itself tells an error."
        ),
        table([*columns, "reported", "result"], rows),
    ]
    problems = [f"{b['block']}: {b['result']}" for b in blocks if b["result"] != "passed"]
    problems += [f"{b['block']}: no upset" for b in blocks if not b["count"]]
    if endless := sum(_cured(block, "nothing") for block in blocks):
        problems.append(f"{count(endless, 'upset')} that no reset ends")
    all_bits = sum(block["flip_flops"] for block in blocks)
    limits = (
        f"The upsets are {number(upsets)} draws from {count(all_bits, 'flip-flop')} and all the "
        "clocks of a few jobs; memories, and two upsets at once, are left out. Nothing in the "
        "gateware corrects an upset.",
    )
    return Told(summary, "\n\n".join(text), tuple(problems), limits)


def _cured(block: dict[str, Any], cure: str) -> int:
    return sum(cures.get(cure, 0) for cures in block["cures"].values())


def fuzz(evidence: dict[str, Any]) -> Told:
    """Tell how many inputs each target of the fuzzing took, and what it did with them."""
    targets = evidence["targets"]
    fields = ("name", "purpose", "engine", "inputs", "seconds", "result")
    rows = ([target[field] for field in fields] for target in targets)
    failed = [target for target in targets if target["result"] != "passed"]
    names = {target["name"] for target in targets}
    inputs = sum(target["inputs"] for target in targets)
    summary = (
        f"{count(inputs, 'input')} to {count(len(names), 'target')}, in "
        f"{number(evidence['minutes'])} minutes: {count(len(failed), 'failure')}"
    )
    text = [
        paragraph(f"{summary}. A failure is a traceback, a hang, a crash, or a byte out of place."),
        table(["target", "what it shows", "engine", "inputs", "seconds", "result"], rows),
    ]
    problems = [f"{target['name']}: {target['result']}" for target in failed]
    if only := evidence.get("only"):
        problems.append(f"only {', '.join(only)} was fuzzed")
    limits: list[str] = []
    if not any(target["engine"] == "atheris" for target in targets):
        limits.append("No fuzzing was guided by coverage, since atheris was not installed.")
    return Told(summary, "\n\n".join(text), tuple(problems), tuple(limits))
