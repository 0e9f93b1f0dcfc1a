"""Words move through the pipeline: each has a candidate for each lane, and the control of a slot.

They move without a handshake. In a fast core a word that is valid in a clock moves on in that
clock: all waiting, for input and for space in the result queue, is done before its slot enters the
pipeline. In a small or balanced core the pipeline stops as a whole while an output beat waits, and
none of its parts notices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from amaranth.hdl import Module, Shape, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out
from amaranth.utils import bits_for

from extremum.hdl.config import DIMENSIONS, CoreConfig
from extremum.hdl.timing.alignment import Timed


def control_layout(config: CoreConfig) -> data.StructLayout:
    """Return the layout of the control of a slot, which is known without looking at elements.

    For each dimension there are ``emit``: a window is given; ``present``: which of its taps are
    elements, where tap 0 is the newest; ``shift``: the number of tap 0 in the window; and
    ``final``: the window is the line's last. ``empty`` tells that the window has no element.
    ``first`` and ``last`` mark the first and the last of the windows reduced to one result.
    """
    members: dict[str, int] = {}
    for axis in config.axes:
        taps, name = config.max_window[axis], DIMENSIONS[axis]
        members |= {
            f"emit_{name}": 1,
            f"final_{name}": 1,
            f"present_{name}": taps,
            f"shift_{name}": bits_for(taps - 1),
        }
    return data.StructLayout(members | {"empty": 1, "first": 1, "last": 1})


def has_nan_flags(config: CoreConfig) -> bool:
    """Return whether a key alone does not tell NaN, so that an element has a flag for it."""
    return config.has_floats and config.has_values


def element_members(config: CoreConfig) -> dict[str, Shape]:
    """Return the fields that stand for one element: see :mod:`extremum.hdl.key`."""
    members = {"key": unsigned(config.element_width)}
    if has_nan_flags(config):
        members |= {"nan": unsigned(1), "sign": unsigned(1)}
    return members


def candidate_layout(config: CoreConfig, tap_bits: dict[str, int]) -> data.StructLayout:
    """Return the layout of an element and the numbers of the taps at which it won.

    Parameters
    ----------
    config
        Configuration of the core.
    tap_bits
        Bits of each tap number, by name: a dimension's name, where 0 is the newest tap, or
        ``"lane"``.
    """
    numbers = {f"tap_{name}": unsigned(width) for name, width in tap_bits.items()}
    return data.StructLayout(element_members(config) | numbers)


def result_layout(config: CoreConfig, tap_bits: dict[str, int]) -> data.StructLayout:
    """Return the layout of a candidate with its ordinal among the windows that were reduced."""
    members = {
        str(name): Shape.cast(member.shape) for name, member in candidate_layout(config, tap_bits)
    }
    if not config.has_values:
        members = {name: shape for name, shape in members.items() if name.startswith("tap_")}
    if config.has_reduction and config.index_width:
        members["ordinal"] = unsigned(config.index_width)
    return data.StructLayout(members)


class WordPort(Protocol):
    """The signals of a :class:`WordStream`, as a component sees them on its port."""

    token: Signal
    valid: Signal
    step: Signal
    control: data.View
    lanes: data.View


class WordStream(wiring.Signature):
    """A stream of words without a handshake.

    Parameters
    ----------
    config
        Configuration of the core.
    layout
        Layout of one lane.

    Members
    -------
    token : Out(1)
        The next job begins with the next word.
    valid : Out(1)
        There is a word in this clock.
    step : Out(1)
        A token or a word, in a register of its own because it drives many enables. It may also be
        set where no job is under way. It is driven only in front of the sliding windows.
    control : Out(control_layout(config))
        Control of the word's slot.
    lanes : Out(ArrayLayout)
        The word.
    """

    def __init__(self, config: CoreConfig, layout: data.StructLayout):
        super().__init__(
            {
                "token": Out(1),
                "valid": Out(1),
                "step": Out(1),
                "control": Out(control_layout(config)),
                "lanes": Out(data.ArrayLayout(layout, config.lanes)),
            }
        )


@dataclass(frozen=True)
class Words:
    """The members of a :class:`WordStream`, each with the clock in which it is valid."""

    token: Timed
    valid: Timed
    control: Timed
    lanes: Timed
    step: Timed

    @classmethod
    def of(cls, m: Module, port: WordPort, clock: int = 0) -> Words:
        """Return the words on a port, valid in a clock."""
        names = ("token", "valid", "control", "lanes", "step")
        return cls(*(Timed(m, getattr(port, name), clock) for name in names))

    def moved_to(self, clock: int) -> Words:
        """Return the same words, delayed until they are all valid in one clock."""
        parts = (self.token, self.valid, self.control, self.lanes, self.step)
        return Words(*(part.moved_to(clock) for part in parts))

    def drive(self, m: Module, port: WordPort, clock: int, **changed: Timed | None) -> None:
        """Connect the words to a port in a clock; ``changed`` replaces some of the members.

        A member that is None stays unconnected.
        """
        for name in ("token", "valid", "control", "lanes", "step"):
            timed: Timed | None = changed.get(name, getattr(self, name))
            if timed is not None:
                m.d.comb += Value.cast(getattr(port, name)).eq(Value.cast(timed.at(clock)))


class Stage(Protocol):
    """The ports of a component of the pipeline, as :func:`feed` connects them."""

    job: data.View
    i: WordPort


class PassingStage(Stage, Protocol):
    """A component of the pipeline from which words come out again."""

    o: WordPort


def feed(m: Module, component: Stage, words: Words, job: data.View) -> None:
    """Connect what goes into a component of the pipeline."""
    m.d.comb += component.job.eq(job)
    words.drive(m, component.i, words.token.clock)


def pass_through(
    m: Module, component: PassingStage, words: Words, job: data.View, clocks: int
) -> Words:
    """Send words through a component; return those that come out, ``clocks`` clocks later."""
    feed(m, component, words, job)
    return Words.of(m, component.o, words.token.clock + clocks)
