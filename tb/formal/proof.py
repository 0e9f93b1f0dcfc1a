"""What belongs to a proof."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from extremum.tb.formal.fault import Fault
from extremum.tb.formal.property import Property


@dataclass(frozen=True)
class Proof:
    """A property of a block, how it is proved, and what shows that the proof says something.

    Parameters
    ----------
    name
        A short name, of words with hyphens.
    block
        The file that holds the block.
    claim
        What is proved, in one sentence.
    state
        Builds the block and states the property.
    depth
        With induction, the number of clocks that the induction looks back. Else the number of
        clocks after reset for which the property is proved.
    search
        Clocks within which every cover is reached, and each fault breaks a claim.
    faults
        Each must break a claim, not only an invariant that helps to prove it.
    bounded
        The property is proved for ``depth`` clocks after reset only; else for any length of time.
    quick
        Whether the quick run, which takes a minute in all, has it: one proof for each kind.
    """

    name: str
    block: str
    claim: str
    state: Callable[[Property], None]
    depth: int
    search: int
    faults: tuple[Fault, ...]
    bounded: bool = False
    quick: bool = False

    @property
    def method(self) -> str:
        """How it is proved, in words."""
        return f"{self.depth} clocks" if self.bounded else f"unbounded, k = {self.depth}"


@dataclass
class Checked:
    """What came of looking at cases one by one.

    Parameters
    ----------
    cases
        How many were looked at.
    seen
        How many of them were of a kind.
    broken
        How the first wrong one is wrong.
    """

    cases: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    broken: str | None = None


@dataclass(frozen=True)
class Exhaustion:
    """A statement about numbers, shown by looking at all cases up to a bound.

    Parameters
    ----------
    name, block, claim, faults, quick
        As those of a :class:`Proof`. A fault may be in a source in C.
    check
        Looks at all cases, up to the first that is wrong. It is given the fault that is planted.
    kinds
        Kinds of cases that must be among them: the cover.
    """

    name: str
    block: str
    claim: str
    check: Callable[[Fault | None], Checked]
    kinds: tuple[str, ...]
    faults: tuple[Fault, ...]
    quick: bool = False

    depth: ClassVar[int] = 0
    bounded: ClassVar[bool] = False
    method: ClassVar[str] = "all cases"


Claim = Proof | Exhaustion
"""Whatever ``make formal`` shows."""
