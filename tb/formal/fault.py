"""Faults that are planted into the gateware, to see that a proof notices them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType


@dataclass(frozen=True)
class Fault:
    """A change of one place in a module's source.

    Parameters
    ----------
    what
        The fault in a few words, for the report.
    module
        Full name of the module; or the path of a source in C, from the project's folder on.
    find, replace
        Text that stands exactly once in the module, and what takes its place.
    """

    what: str
    module: str
    find: str
    replace: str

    @property
    def is_in_c(self) -> bool:
        """Whether the source is in C."""
        return self.module.endswith(".c")

    @property
    def path(self) -> Path:
        """The source, from the project's folder on."""
        if self.is_in_c:
            return Path(self.module)
        return Path(*self.module.split(".")[1:]).with_suffix(".py")

    def planted_in(self, source: str) -> str:
        """Return a source with the fault.

        Raises
        ------
        ValueError
            The text to replace does not stand there exactly once.
        """
        if source.count(self.find) != 1:
            raise ValueError(
                f"the fault {self.what!r} must fit one place of {self.module}, "
                f"and fits {source.count(self.find)}"
            )
        return source.replace(self.find, self.replace)

    def plant(self) -> None:
        """Make every later import of the module, in this process, bring the faulty one.

        Raises
        ------
        RuntimeError
            The module has been imported already.
        """
        if self.module in sys.modules:
            raise RuntimeError(f"{self.module} was imported before the fault was planted")
        sys.meta_path.insert(0, _Finder(self))


class _Finder(MetaPathFinder):
    """Finds the faulty module where the sound one would be found."""

    def __init__(self, fault: Fault):
        self._fault = fault

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._fault.module:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"there is no module {fullname}", name=fullname)
        spec.loader = _Loader(self._fault, spec.origin)
        return spec


class _Loader(SourceFileLoader):
    """Compiles the faulty source; neither reads nor writes compiled files."""

    def __init__(self, fault: Fault, path: str):
        super().__init__(fault.module, path)
        self._fault = fault

    def get_code(self, fullname: str) -> CodeType:
        source = self._fault.planted_in(self.get_source(fullname) or "")
        return compile(source, self.path, "exec")
