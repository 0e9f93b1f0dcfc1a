"""What the registers of a job mean: the slots walked one by one, as the core walks them.

Of each dimension this says what the proofs of ``extremum.tb.formal.proofs.schedule`` show of the
gateware: which slots hold elements, which give windows, and which taps of these are present.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from extremum.hdl.job import DimensionRegisters, JobRegisters

POSITIONS = 1 << 32
"""Positions are modulo this."""


NONE = -1
"""The beat of a word without an element."""


class Given(NamedTuple):
    """What a slot of one dimension gives.

    Attributes
    ----------
    window, is_final
        Whether it gives a window, and whether that is the line's last.
    taps
        The taps that are present, in scan order: how far back, and the number of the tap counted
        from the window's last tap.
    """

    window: bool
    is_final: bool
    taps: list[tuple[int, int]]


class Result(NamedTuple):
    """A result of a job.

    Attributes
    ----------
    group
        Its group of slices.
    taps
        For each tap that is present, in scan order: the input beat, and the position in lane 0.
    """

    group: int
    taps: list[tuple[int, int]]


class Line:
    """One dimension of a job.

    Parameters
    ----------
    registers
        The registers of the dimension.
    padding
        Whether the core was built with padding. Otherwise it gives every window that fits, with all
        of its taps, whatever the registers say of the last one.
    """

    def __init__(self, registers: DimensionRegisters, *, padding: bool):
        self.registers = registers
        self.padding = padding
        self.lead = max(-registers.head, 0)
        self.more = max(registers.head, 0)

    def element(self, slot: int) -> tuple[int, bool]:
        """Return the line of elements that a slot is in, and whether it holds an element."""
        line, place = divmod(slot, self.registers.period)
        return line, self.lead <= place < self.lead + self.registers.size

    def window(self, slot: int) -> tuple[int, Given]:
        """Return the line of windows that a slot is in, and what it gives."""
        if slot < self.more:
            return 0, Given(False, False, [])
        line, place = divmod(slot - self.more, self.registers.period)
        return line, self._given[place]

    @cached_property
    def _given(self) -> list[Given]:
        """What each slot of a line of windows gives."""
        return [self._at(self.registers.head + place) for place in range(self.registers.period)]

    def _at(self, coordinate: int) -> Given:
        r = self.registers
        is_final = coordinate == r.final
        on_grid = (coordinate - r.head) % r.stride == 0
        given, shift = on_grid and coordinate < r.period, 0
        if self.padding:
            given = is_final or (on_grid and coordinate <= r.regular)
            shift = r.shift if is_final else 0
        taps = [
            (tap, tap + shift)
            for tap in reversed(range(r.window - shift))
            if 0 <= coordinate - tap * r.dilation < r.size
        ]
        return Given(given, is_final, taps)


def walk(job: JobRegisters, *, padding: bool) -> tuple[list[Result], int, list[str]]:
    """Walk over the slots of a pooling's job, on a core built with padding or without.

    Returns
    -------
    (results, beats, wrong)
        The results, the input beats, and what is wrong: a tap that is present and has no element,
        or a job whose last slot gives nothing and takes nothing.
    """
    lines = [Line(registers, padding=padding) for registers in (job.width, job.height, job.depth)]
    # What each dimension stores: single elements, lines of winners, planes of winners.
    # A slot of padding stores a word without an element: nothing may come of it.
    stored: list[list[list[tuple[int, int]]]] = [[], [], []]
    results, wrong = list[Result](), list[str]()
    beats, group, position, is_useful = 0, 0, job.origin, False
    for slot in range(job.slots):
        place, is_element = slot, True
        for line in lines:
            place, present = line.element(place)
            is_element &= present
        is_element &= place < job.volumes
        word = [(beats if is_element else NONE, 0)]
        beats += is_element
        is_useful = is_element
        place, finals = slot, []
        for line, kept in zip(lines, stored, strict=True):
            place, given = line.window(place)
            kept.append(word)
            if not given.window:
                break
            word = []
            for back, tap in given.taps:
                number = len(kept) - 1 - back * line.registers.spacing
                older = kept[number] if number >= 0 else [(NONE, 0)]
                word += [(beat, way + tap * line.registers.tap_step) for beat, way in older]
            finals.append(given.is_final)
        else:
            taps = [(beat, (position + way) % POSITIONS) for beat, way in word]
            if any(beat == NONE for beat, _ in taps):
                wrong.append(f"in slot {slot} a tap is present that has no element")
            results.append(Result(group, taps))
            is_useful = True
            group += all(finals)
            for is_final, line in zip(finals, lines, strict=True):
                if not is_final:
                    position += line.registers.position_step
                    break
            else:
                position += job.group_step
    if not is_useful:
        wrong.append("the last slot of the job is of no use")
    if group != job.groups:
        wrong.append(f"{group} groups of results are given, not {job.groups}")
    return results, beats, wrong
