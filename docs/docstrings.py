"""What Sphinx and napoleon have to be told of the docstrings of this project."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata


def keep_whole(app: Sphinx, what: str, *told: Any) -> None:
    """Keep napoleon from taking "Clocks: at most 9" under an attribute for a type, and its text.

    It looks at the first line alone, which becomes an empty comment. The last argument of the
    event holds the lines.
    """
    if what in ("attribute", "data", "property"):
        told[-1][:0] = ["..", ""]


def name_defaults(app: Sphinx, *told: Any) -> tuple[str, str | None] | None:
    """Write defaults that a dataclass makes anew as ``...``, since ``<factory>`` is no Python.

    The last arguments of the event are the signature and the annotation of what is returned.
    """
    *_, signature, returns = told
    return (signature.replace("<factory>", "..."), returns) if signature else None


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register what is above with Sphinx, to be called before napoleon is."""
    app.connect("autodoc-process-docstring", keep_whole, priority=400)
    app.connect("autodoc-process-signature", name_defaults)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
