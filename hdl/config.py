"""The configuration of a core, chosen when it is generated: types, lanes, operators, limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from extremum.model import DataType
from extremum.model.checks import boolean, integer, integers

from .fixed import check_fixed
from .register_table import DIMENSIONS, POSITION_WIDTH

__all__ = [
    "BUSES",
    "DIMENSIONS",
    "FASTEST_TO_SIMULATE",
    "MAX_DILATION",
    "MAX_LANES",
    "MAX_LINE",
    "MAX_PLANE",
    "MAX_WINDOW",
    "OPERATORS",
    "PIPELINING",
    "POSITION_WIDTH",
    "CoreConfig",
    "check_is_config",
]

OPERATORS = ("argmin", "argmax", "max-pool")
"""The operators that a core can be built for.

The reductions MIN and MAX, which give values, need ``max-pool`` beside ``argmin`` or ``argmax``.
"""

BUSES = ("none", "axi")
"""What is generated: the bare core, or the AXI block around it."""

PIPELINING = ("small", "balanced", "fast")
"""The settings of ``pipelining``, from the fewest registers to the highest clock."""

FASTEST_TO_SIMULATE = PIPELINING[0]
"""The setting for a core that is simulated: what has no register takes a simulator no time."""

MAX_LANES = 64
"""The most elements that a beat can carry."""

MAX_WINDOW, MAX_DILATION = 255, 255
"""The largest values of ``max_window`` and ``max_dilation`` in each dimension."""

MAX_LINE, MAX_PLANE = 1 << 16, 1 << 24
"""The largest values of ``max_line`` and ``max_plane``."""

LEAST_COORDINATE_WIDTH, MOST_COORDINATE_WIDTH = 4, 24
"""The least and the greatest value of ``coordinate_width``."""


@dataclass(frozen=True)
class CoreConfig:
    """The parameters of a core. Whatever is not decided here is a job register.

    Everything is checked when the configuration is made, so a configuration that exists can be
    generated.

    Parameters
    ----------
    data_types
        The types that a job may select. A lane is as wide as the widest of them. Cost: every width
        adds a multiplexer before and after the pipeline; floats add two bits to each stored word
        in a core that gives values.
    lanes
        Elements per beat, 1 to 64. Cost: every lane has a datapath and storage of its own.
    max_window
        Largest window (depth, height, width), each 1 to 255. A 1 leaves the stage of that dimension
        out. Cost: one comparator per tap and lane; ``window - 1`` stored lines (height) or planes
        (depth).
    max_dilation
        Largest dilation (depth, height, width), each 1 to 255. Cost: it multiplies the stored
        elements, lines and planes of its dimension; a dilation above 1 also needs a subtraction for
        every tap.
    max_line
        Longest line of pooled outputs that is kept on chip, for windows higher than 1; 1 to 65536.
        Cost: as many words of storage for each stored line. With a
        ``max_dilation`` above 1 in height, lines without dilation may be that many times as long,
        and shorter lines more dilated: what must fit is the dilation times the outputs of a line
        (:attr:`max_spacing`).
    max_plane
        Largest plane of pooled outputs that is kept on chip, for windows deeper than 1; 1 to
        ``2**24``. Cost: as many words of storage for each stored plane. It goes with the dilation
        of the depth as a line does with that of the height.
    coordinate_width
        Bits of a spatial coordinate, 4 to 24. Without padding, the elements of a line and the
        extent of a window, less one, are together less than ``2**coordinate_width``; longer lines
        are cut into tiles. Cost: the width of the counters that walk over lines and planes.
    operators
        Some of :data:`OPERATORS`, in any order: it takes theirs. Without ``"max-pool"``, no values
        leave the core, and it keeps only what decides the order of the elements. Without
        ``"argmin"`` and ``"argmax"``, it has no reducer.
    index_width
        Bits of a position on the output port, 0 to 32. With 0, no positions leave the core. Cost:
        the width of the adders that compute positions, and of the result queue.
    padding
        Whether windows may reach into padding. Without padding, every clock takes an element and
        every tap meets one, so the counters and comparators that find missing ones are left out.
    fixed
        Job registers that never change, as pairs of name and value: ``("width.stride", 2)``. They
        leave the job port, and no hardware is generated for other values. A value that no job of
        this core asks for is refused (:mod:`extremum.hdl.fixed`).
    pipelining
        One of :data:`PIPELINING`: how much is done in one clock. ``"small"`` has the fewest
        registers and the shortest latency, ``"fast"`` reaches the highest clock. It changes no
        result (:mod:`extremum.hdl.timing.parameters`).

    Raises
    ------
    TypeError
        A parameter is not of its type.
    ValueError
        A parameter is out of range.
    """

    data_types: tuple[DataType, ...] = (DataType.FLOAT32,)
    lanes: int = 1
    max_window: tuple[int, int, int] = (3, 7, 7)
    max_dilation: tuple[int, int, int] = (1, 2, 2)
    max_line: int = 256
    max_plane: int = 3136
    coordinate_width: int = 16
    operators: tuple[str, ...] = OPERATORS
    index_width: int = POSITION_WIDTH
    padding: bool = True
    fixed: tuple[tuple[str, int], ...] = ()
    pipelining: str = "fast"

    def __post_init__(self) -> None:
        if not isinstance(self.data_types, tuple):
            raise TypeError(
                f"data_types must be a tuple of DataType members, not {self.data_types!r}"
            )
        for data_type in self.data_types:
            if not isinstance(data_type, DataType):
                raise TypeError(f"data_types must hold DataType members, not {data_type!r}")
        if not self.data_types or len(set(self.data_types)) != len(self.data_types):
            names = ", ".join(data_type.value for data_type in self.data_types) or "none"
            raise ValueError(f"data_types must name one or more types, each once, not {names}")
        for name, most in (("max_window", MAX_WINDOW), ("max_dilation", MAX_DILATION)):
            sizes: Any = getattr(self, name)
            if not isinstance(sizes, tuple) or len(sizes) != 3:
                form = "" if isinstance(sizes, tuple) else " in a tuple"
                raise TypeError(f"{name} must be (depth, height, width){form}, not {sizes!r}")
            sizes = integers(name, sizes, None)
            _check_range(name, sizes, 1, most)
            object.__setattr__(self, name, sizes)
        for name, least, most in (
            ("lanes", 1, MAX_LANES),
            ("max_line", 1, MAX_LINE),
            ("max_plane", 1, MAX_PLANE),
            ("coordinate_width", LEAST_COORDINATE_WIDTH, MOST_COORDINATE_WIDTH),
            ("index_width", 0, POSITION_WIDTH),
        ):
            number = integer(name, getattr(self, name), None)
            _check_range(name, number, least, most)
            object.__setattr__(self, name, number)
        known = isinstance(self.operators, tuple) and all(
            name in OPERATORS for name in self.operators
        )
        if not known or not self.operators or len(set(self.operators)) != len(self.operators):
            form = "" if isinstance(self.operators, tuple) else " and in a tuple"
            raise ValueError(
                f"operators must be one or more of {', '.join(OPERATORS)}, each once{form}, not "
                f"{self.operators!r}"
            )
        in_order = tuple(name for name in OPERATORS if name in self.operators)
        object.__setattr__(self, "operators", in_order)
        object.__setattr__(self, "padding", boolean("padding", self.padding))
        if self.pipelining not in PIPELINING:
            raise ValueError(
                f"pipelining must be one of {', '.join(PIPELINING)}, not {self.pipelining!r}"
            )
        if not self.has_values and not self.index_width:
            raise ValueError(
                "index_width must be at least 1 where no values leave the core, not 0: without "
                "max-pool in operators, positions are all that it gives"
            )
        check_fixed(self)
        fixed = tuple((name, int(value)) for name, value in self.fixed)
        object.__setattr__(self, "fixed", fixed)

    @property
    def element_width(self) -> int:
        """Bits of one lane on the ports."""
        return max(data_type.format.width for data_type in self.data_types)

    @property
    def has_floats(self) -> bool:
        """Whether one of the types has NaN and two zeros."""
        return any(data_type.format.is_float for data_type in self.data_types)

    @property
    def has_values(self) -> bool:
        """Whether the core gives winning elements, and not just their positions."""
        return "max-pool" in self.operators

    @property
    def has_reduction(self) -> bool:
        """Whether consecutive windows can be reduced to one result."""
        return "argmin" in self.operators or "argmax" in self.operators

    @property
    def has_windows(self) -> bool:
        """Whether a window can slide."""
        return self.max_window != (1, 1, 1)

    @property
    def can_fold(self) -> bool:
        """Whether the lanes can carry consecutive elements of one reduction."""
        return self.has_reduction and self.lanes > 1 and not self.lanes & (self.lanes - 1)

    @property
    def axes(self) -> tuple[int, ...]:
        """The dimensions that windows can slide over, innermost first, by their place in a triple.

        There are none if no window can slide. Otherwise they are width and height, and the depth
        as well if the largest window is deep.
        """
        if not self.has_windows:
            return ()
        return (2, 1, 0) if self.max_window[0] > 1 else (2, 1)

    @property
    def max_spacing(self) -> tuple[int, int, int]:
        """Largest distance of two neighbouring taps (depth, height, width), in stored words.

        The stage of the height stores lines and that of the depth planes, so a tap's neighbour is
        a whole line or plane away.
        """
        depth, height, width = self.max_dilation
        return (depth * self.max_plane, height * self.max_line, width)

    def data_type_code(self, data_type: DataType) -> int:
        """Return the value of the job register that selects ``data_type``.

        Raises
        ------
        ValueError
            The core was not built for this type.
        """
        try:
            return self.data_types.index(data_type)
        except ValueError:
            built = ", ".join(built.name for built in self.data_types)
            raise ValueError(
                f"the core was built for {built}, not for {data_type.name}: add it to data_types"
            ) from None


def check_is_config(config: object) -> None:
    """Refuse what is no configuration.

    Raises
    ------
    TypeError
        ``config`` is no :class:`CoreConfig`.
    """
    if not isinstance(config, CoreConfig):
        raise TypeError(f"config must be a CoreConfig, not {config!r}")


def _check_range(name: str, given: int | tuple[int, ...], low: int, high: int) -> None:
    """Refuse a number beyond its limits, or several of which one is."""
    numbers = given if isinstance(given, tuple) else (given,)
    if not all(low <= number <= high for number in numbers):
        raise ValueError(f"{name} must be from {low} to {high}, not {given!r}")
