"""What a register of a register map is: an address, and fields of bits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Access(Enum):
    """What software may do with a register or a field."""

    CONSTANT = "const"
    """Reading always returns the same value."""
    READ = "r"
    """Reading returns what the block sets."""
    WRITE = "w"
    """Writing sets the value, which cannot be read."""
    PULSE = "w1p"
    """Writing a 1 does something once; nothing is kept, and nothing can be read."""
    STROBE = "wp"
    """Any write does something once; its value means nothing, and nothing can be read."""
    READ_WRITE = "rw"
    """Writing sets the value, and reading returns it."""
    CLEAR = "w1c"
    """Reading returns the flag; writing a 1 clears it, unless the block sets it in that clock."""

    @property
    def is_read(self) -> bool:
        """Whether software may read."""
        return self not in (Access.WRITE, Access.PULSE, Access.STROBE)

    @property
    def is_written(self) -> bool:
        """Whether software may write."""
        return self not in (Access.CONSTANT, Access.READ)


@dataclass(frozen=True)
class Field:
    """Bits of a register that mean one thing.

    Parameters
    ----------
    name
        Name in lower case.
    lowest, width
        Number of its lowest bit, and how many bits it has.
    access
        What software may do with it.
    reset
        Its value after reset; of a constant, its value.
    text
        What it means, in a sentence or two.
    """

    name: str
    lowest: int
    width: int
    access: Access
    reset: int = 0
    text: str = ""

    @property
    def mask(self) -> int:
        """The bits of the field within the register."""
        return ((1 << self.width) - 1) << self.lowest

    def of(self, word: int) -> int:
        """Return the value of the field in a word of its register."""
        return (word & self.mask) >> self.lowest


@dataclass(frozen=True)
class Register:
    """A word of the register map.

    Parameters
    ----------
    name
        Name in upper case.
    address
        Byte address within the block.
    fields
        Its fields, the lowest first.
    text
        What it is for.
    """

    name: str
    address: int
    fields: tuple[Field, ...]
    text: str

    @property
    def is_readable(self) -> bool:
        """Whether a read is answered with OKAY; otherwise it is answered with SLVERR."""
        return any(field.access.is_read for field in self.fields)

    @property
    def is_writable(self) -> bool:
        """Whether a write is answered with OKAY; otherwise it is answered with SLVERR."""
        return any(field.access.is_written for field in self.fields)

    @property
    def reset(self) -> int:
        """The word after reset."""
        return sum(field.reset << field.lowest for field in self.fields)

    def field(self, name: str) -> Field:
        """Return a field by its name."""
        return next(field for field in self.fields if field.name == name)
