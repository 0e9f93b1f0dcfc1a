"""What a case is: plain data that say all that is run, and that JSON can hold."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from extremum.model import Pooling, Reduction
from extremum.tb.regression.case_fields import checked_fields

Rests = int | list[list[int]]
"""Stalls of one side of a stream: a percentage, or pairs of clocks and percentage."""


@dataclass(frozen=True)
class Item:
    """An operator, and the tensor that it works on.

    Parameters
    ----------
    operator
        ``"reduction"`` or ``"pooling"``.
    arguments
        What :meth:`extremum.model.Reduction.of` or :meth:`extremum.model.Pooling.of` takes, by
        name.
    fill
        How the tensor is filled: a name of :data:`extremum.tb.regression.tensors.FILLS`.
    fill_seed
        Seed of the tensor.
    jobs
        Jobs of the operator's plan that are run, at the most; from the ``first`` on.
    first
        Number of the first of these, modulo the number of jobs.
    refused
        Number of a bad job that is offered before them, among all that can be made; or None.
    fault
        What is wrong with a job that is started on an AXI block before them: one of
        :data:`extremum.tb.regression.faults.FAULTS`; or None.
    fault_number
        Number of that fault, among all of its kind.
    """

    operator: str
    arguments: dict[str, Any]
    fill: str = "few"
    fill_seed: int = 0
    jobs: int = 4
    first: int = 0
    refused: int | None = None
    fault: str | None = None
    fault_number: int = 0

    @property
    def problem(self) -> Reduction | Pooling:
        """The operator as the model knows it."""
        kind = Reduction if self.operator == "reduction" else Pooling
        return kind.of(**self.arguments)


@dataclass(frozen=True)
class Batch:
    """Jobs that follow each other without a pause, with stalls at the ports.

    Parameters
    ----------
    items
        The operators, in order.
    input_stalls, output_stalls, job_stalls
        Rests of the source of beats, of the sinks of results, and of the source of jobs; an AXI
        block has no such source.
    seed
        Selects the stalls, and what stands on the ports where nothing is offered.
    reset_after
        Clock in which the batch is ended by a reset; or None.
    reset_clocks
        Length of that reset. On an AXI block 0 stands for the soft reset.
    accesses
        On an AXI block, how often registers are accessed as its driver never does, in percent of
        the places where that is possible.
    """

    items: list[Item]
    input_stalls: Rests = 0
    output_stalls: Rests = 0
    job_stalls: Rests = 0
    seed: int = 0
    reset_after: int | None = None
    reset_clocks: int = 1
    accesses: int = 0

    @property
    def has_stalls(self) -> bool:
        """Whether one of the ports rests now and then."""
        return any((self.input_stalls, self.output_stalls, self.job_stalls))


@dataclass(frozen=True)
class Case:
    """All that is run for one seed: batches on one core, which keeps its state between them.

    Parameters
    ----------
    target
        Name of the core or block in the pool.
    batches
        The batches, in order.
    """

    target: str
    batches: list[Batch]

    def to_json(self) -> str:
        """Return the case in one line; what has its default is left out."""
        batches = []
        for batch in self.batches:
            items = [_changed(asdict(item), _ITEM) for item in batch.items]
            batches.append(_changed(asdict(batch) | {"items": items}, _BATCH))
        made = {"target": self.target, "batches": batches}
        return json.dumps(made, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Case:
        """Return the case that :meth:`to_json` wrote.

        Raises
        ------
        ValueError
            The text is no case.
        """
        try:
            case = checked_fields(json.loads(text), cls)
            batches = [checked_fields(batch, Batch) for batch in case["batches"]]
            for batch in batches:
                batch["items"] = [Item(**checked_fields(item, Item)) for item in batch["items"]]
            return cls(case["target"], [Batch(**batch) for batch in batches])
        except (ValueError, RecursionError) as error:
            raise ValueError(f"this is no case: {error}") from error


def _changed(fields: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in fields.items()
        if name not in defaults or value != defaults[name]
    }


_ITEM = {k: v for k, v in asdict(Item("", {})).items() if k not in ("operator", "arguments")}
_BATCH = {k: v for k, v in asdict(Batch([])).items() if k != "items"}
