"""Links to files and folders of the repository, for the site.

The documents link to sources such as ``../hdl/core.py``, and name them as code. On a code host such
a link shows the file; here every file that is linked or named gets a page with its highlighted
text, and a link to a folder leads to the page ``index`` of that folder.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from docutils import nodes
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.environment import BuildEnvironment
from sphinx.util.typing import ExtensionMetadata

ROOT = Path(__file__).parents[1]

PAGES = "sources"
"""The folder of the site that holds the pages of source files."""

SCHEME = "source:"
"""What the address of a link to a source begins with, until it is known on which page it is."""

FOLDERS = {"model", "hdl", "host", "tb", "tests", "bench", "docs", "drivers", "examples"}
"""What a path begins with that is named in the documents."""

NAME = re.compile(r"extremum(\.[A-Za-z_]\w*)+(\(\))?")
"""A name in the package."""


def link_sources(app: Sphinx, doctree: nodes.document) -> None:
    """Turn links to files, and code that names a file, into links to pages of sources."""
    root, docname = Path(app.srcdir), app.env.docname
    folder = (root / docname).parent
    for link in list(doctree.findall(addnodes.download_reference)):
        replace(link, (folder / link["reftarget"]).resolve().relative_to(root))
    for link in list(doctree.findall(addnodes.pending_xref)):
        index = folder / link["reftarget"] / "index"
        page = index.resolve().relative_to(root).as_posix() if link["reftype"] == "myst" else ""
        if page in app.env.found_docs:
            link["refdomain"], link["reftarget"], link["reftargetid"] = "doc", page, None
    for code in list(doctree.findall(nodes.literal)):
        if not is_linked(code):
            link_code(app, code)


def link_code(app: Sphinx, code: nodes.literal) -> None:
    """Make code a link if it names a file of the project, or what has a name in the package."""
    root, env = Path(app.srcdir), app.env
    path = Path(code.astext())
    link = {"refdoc": env.docname, "refexplicit": True, "refwarn": True}
    if NAME.fullmatch(code.astext()):
        name = code.astext().removesuffix("()")
        link |= {"refdomain": "py", "reftype": "obj", "reftarget": name}
    elif len(path.parts) > 1 and path.parts[0] in FOLDERS and (root / path).is_file():
        page = env.path2doc(root / path)
        if page not in env.found_docs:
            replace(code, path, code.deepcopy())
            return
        link |= {"refdomain": "std", "reftype": "doc", "reftarget": f"/{page}"}
    else:
        return
    code.replace_self(addnodes.pending_xref("", code.deepcopy(), **link))


def is_linked(node: nodes.Node) -> bool:
    """Tell whether a node is within a link or a heading already."""
    while node := node.parent:
        if isinstance(node, nodes.reference | addnodes.pending_xref | nodes.title):
            return True
    return False


def replace(node: nodes.Element, path: Path, *content: nodes.Node) -> None:
    """Put a link to the page of a source file in the place of a node."""
    link = nodes.reference(
        "", "", *(content or node.children), internal=True, refuri=f"{SCHEME}{path.as_posix()}"
    )
    node.replace_self(link)


def link_names(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, content: nodes.Element
) -> nodes.Element | None:
    """Link a name in a docstring that Sphinx does not find, since it is used as in its module.

    It leads to its entry in the reference, or to the file it is in if the reference has none.
    """
    if node.get("refdomain") != "py":
        return None
    module, owner = node.get("py:module") or "", node.get("py:class") or ""
    found = named(node["reftarget"], module, owner)
    home = found if inspect.ismodule(found) else inspect.getmodule(found)
    if home is None or not is_ours(home.__name__):
        return None
    full = f"{home.__name__}.{getattr(found, '__qualname__', '')}".rstrip(".")
    python, document = env.domains.python_domain, node["refdoc"]
    if full in python.objects:
        return python.resolve_xref(env, document, app.builder, "obj", full, node, content)
    return nodes.reference("", "", content, internal=True, refuri=address_of(found, home))


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Return where the link "source" of an entry of the reference leads; None if nowhere.

    This is a hook of ``sphinx.ext.linkcode``.
    """
    found = named(f"{info['module']}.{info['fullname']}", "", "")
    found = getattr(found, "fget", None) or getattr(found, "func", None) or found  # properties
    home = inspect.getmodule(found)
    if domain != "py" or home is None or not is_ours(home.__name__):
        return None
    return address_of(found, home)


def address_of(found: Any, home: ModuleType) -> str:
    """Return the address of something in a module, with its line, as :func:`resolve` takes it."""
    path = Path(str(home.__file__)).resolve().relative_to(ROOT).as_posix()
    with suppress(TypeError, OSError):
        if found is not home:
            return f"{SCHEME}{path}#line-{inspect.getsourcelines(found)[1]}"
    return f"{SCHEME}{path}"


def named(name: str, module: str, owner: str) -> object:
    """Return what a docstring or an annotation means by a name; None if there is no such thing.

    Parameters
    ----------
    name
        A full name, one that is known where the docstring is, or that of a class of the package
        which shares it with no other.
    module, owner
        The module and the class whose documentation it is; empty if none.
    """
    if owner:
        home = getattr(named(f"{module}.{owner}", "", ""), "__module__", module)
        names = [name, f"{home}.{name}"]
    else:
        names = [name, f"{module}.{name}"]
    for full in names:
        if is_ours(full):
            with suppress(ImportError, AttributeError, ValueError):
                return pkgutil.resolve_name(full)
    # An annotation in a module that is documented under the name of its package.
    loaded = (vars(each).get(name) for full, each in sys.modules.items() if is_ours(full))
    classes = {found for found in loaded if isinstance(found, type) and is_ours(found.__module__)}
    return classes.pop() if len(classes) == 1 else None


def is_ours(name: str) -> bool:
    """Tell whether a module is of this package."""
    return name.startswith("extremum.")


def resolve(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Fill in where the links to sources lead, as seen from the page they are on."""
    for link in doctree.findall(nodes.reference):
        if link.get("refuri", "").startswith(SCHEME):
            path, _, anchor = link["refuri"].removeprefix(SCHEME).partition("#")
            address = app.builder.get_relative_uri(docname, f"{PAGES}/{path}")
            link["refuri"] = f"{address}#{anchor}" if anchor else address
            link["internal"] = True
            shown(app.env).add(path)


def shown(env: BuildEnvironment) -> set[str]:
    """Return the paths of the source files that have a page."""
    if not hasattr(env, "source_pages"):
        env.source_pages = set()  # pyright: ignore[reportAttributeAccessIssue]
    return env.source_pages  # pyright: ignore[reportAttributeAccessIssue]


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the page of every source file: its name, title and body, and the template."""
    builder = cast(StandaloneHTMLBuilder, app.builder)  # no other asks for pages
    for path in sorted(shown(app.env)):
        text = (Path(app.srcdir) / path).read_text()
        try:
            language = get_lexer_for_filename(path).aliases[0]
        except ClassNotFound:
            language = "text"
        body = builder.highlighter.highlight_block(
            text, language, linenos="inline", lineanchors="line"
        )
        yield f"{PAGES}/{path}", {"title": path, "body": f"<h1>{path}</h1>{body}"}, "page.html"


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register what is above with Sphinx."""
    app.connect("doctree-read", link_sources, priority=100)  # before files are collected
    app.connect("missing-reference", link_names)
    app.connect("doctree-resolved", resolve)
    app.connect("html-collect-pages", pages)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
