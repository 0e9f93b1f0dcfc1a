"""A counterexample as a table: what the inputs were, clock by clock, and which claim broke."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from vcd.reader import TokenKind, tokenize

PERIOD = 10
"""Units of time from clock to clock in the waveform."""

DIGITS = 10
"""Most digits of a value that are shown."""


@dataclass(frozen=True)
class Trace:
    """A counterexample.

    Parameters
    ----------
    broken
        The claim that does not hold.
    clock
        The clock in which it does not.
    values
        For each signal that is shown, its value in each clock.
    """

    broken: str
    clock: int
    values: dict[str, list[int]]

    @classmethod
    def read(cls, folder: Path) -> Trace:
        """Read a counterexample from the waveform and the labels in a folder."""
        told = json.loads((folder / "labels.json").read_text())
        labels: dict[str, str] = told["labels"]
        values = _waveform(folder / "trace.vcd", {*told["shown"], *labels})
        clocks = max(len(line) for line in values.values())
        clock, broken = min(
            (clock, labels[name])
            for name, line in values.items()
            if name.startswith("claim_")
            for clock in range(clocks)
            if not line[clock]
        )
        return cls(broken, clock, {name: values[name] for name in told["shown"] if name in values})

    def __str__(self) -> str:
        """Return the claim, and a table with a line for each signal and a column for each clock."""
        width = max(map(len, self.values), default=0)
        lines = []
        for name, line in self.values.items():
            texts = [_short(value) for value in line[: self.clock + 1]]
            column = max(map(len, texts))
            lines.append(f"{name:{width}} " + " ".join(f"{text:>{column}}" for text in texts))
        return "\n".join([f"{self.broken!r} is broken in clock {self.clock} of", *lines])


def _short(value: int) -> str:
    """Return a value in hexadecimal, of a very wide one the lowest digits."""
    digits = f"{value:x}"
    return digits if len(digits) <= DIGITS else f"~{digits[1 - DIGITS :]}"


def _waveform(path: Path, names: set[str]) -> dict[str, list[int]]:
    """Return the values of some signals of the outermost module in each clock."""
    known: dict[str, str] = {}
    values: dict[str, list[int]] = {}
    now: dict[str, int] = {}
    depth = 0
    with path.open("rb") as file:
        for token in tokenize(file):
            if token.kind is TokenKind.SCOPE:
                depth += 1
            elif token.kind is TokenKind.UPSCOPE:
                depth -= 1
            elif token.kind is TokenKind.VAR and token.var.reference in names and depth == 1:
                known[token.var.id_code] = token.var.reference
            elif token.kind is TokenKind.CHANGE_TIME:
                # The waveform has the clock's falling edge as well, where nothing changes.
                if token.time_change % PERIOD == 0:
                    for name, value in now.items():
                        values.setdefault(name, []).append(value)
            elif token.kind in (TokenKind.CHANGE_SCALAR, TokenKind.CHANGE_VECTOR):
                change = (
                    token.scalar_change
                    if token.kind is TokenKind.CHANGE_SCALAR
                    else (token.vector_change)
                )
                if change.id_code in known:
                    value = change.value
                    now[known[change.id_code]] = value if isinstance(value, int) else int(value, 2)
    return values
