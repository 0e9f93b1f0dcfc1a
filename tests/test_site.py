"""The documentation as a site: it is built without a warning, and every link leads somewhere."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from documents import DOCUMENTS, ROOT

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
PUBLIC = ("model", "model/reference.py", "model/onnx.py", "hdl", "host", "host/onnx", "host/torch")
"""Modules of which everything public is in the reference."""


def load(name: str) -> ModuleType:
    """Return a module of `docs`, which is no package."""
    spec = util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


checker = load("check_site")
MAKEFILE = (ROOT / "Makefile").read_text()


def build(source: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a source folder as `make docs` does."""
    (command,) = re.findall(r"^\t\$\(BIN\)/python (-m sphinx .*)$", MAKEFILE, re.MULTILINE)
    options = command.replace("build/site-doctrees", f"{folder}/doctrees").split()
    assert "-W" in options
    return subprocess.run(
        [sys.executable, *options[:-1], str(folder / "site")],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )


def assigned(path: Path, name: str) -> Any:
    """Return what a file of Python assigns to a name, without running it."""
    (value,) = (
        ast.literal_eval(node.value)
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    )
    return value


def test_every_document_is_in_the_navigation() -> None:
    contents = assigned(ROOT / "docs" / "conf.py", "contents")
    named = [page for pages in contents.values() for page in pages]
    assert len(named) == len(set(named))
    decisions = set((ROOT / "docs" / "decisions").glob("0*.md"))
    written = {*DOCUMENTS, ROOT / "CHANGELOG.md", ROOT / "bench" / "RESULTS.md"} - decisions
    assert {str(path.relative_to(ROOT).with_suffix("")) for path in written} - {*named} == {
        "README"
    }
    assert all(list(ROOT.glob(f"{page}.*")) for page in named)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("furo", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("built")
    ran = build(ROOT, folder)
    assert ran.returncode == 0, ran.stderr
    return folder / "site"


@pytest.mark.slow
def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages, links, faults = checker.check(site)
    assert faults == []
    assert pages > 200
    assert links > 10_000


@pytest.mark.slow
def test_every_document_is_on_the_site_and_can_be_searched(site: Path) -> None:
    index = (site / "searchindex.js").read_text()
    for path in [*DOCUMENTS, ROOT / "CHANGELOG.md", ROOT / "bench" / "RESULTS.md"]:
        name = path.relative_to(ROOT).with_suffix("")
        assert site.joinpath(f"{name}.html").is_file()
        assert f'"{name}"' in index
    assert '"dilat":' in index
    assert (site / "index.html").read_text() == (site / "README.html").read_text()


@pytest.mark.slow
def test_everything_public_is_in_the_reference(site: Path) -> None:
    anchors = set().union(*(checker.Page(page).anchors for page in (site / "docs/api").glob("*")))
    listed = {anchor.rpartition(".")[2] for anchor in anchors if anchor.startswith("extremum.")}
    for module in PUBLIC:
        path = ROOT / module if module.endswith(".py") else ROOT / module / "__init__.py"
        assert set(assigned(path, "__all__")) - listed <= {"reference"}, module


@pytest.mark.slow
def test_the_pictures_are_on_their_pages(site: Path) -> None:
    text = (site / "docs" / "integration.html").read_text()
    assert re.search(r'<img[^>]*src="\.\./_images/job\.svg"', text)
    text = (site / "docs" / "verification.html").read_text()
    sections = load("evidence_plots").SECTIONS
    drawn = sum(len(each.plots) for each in sections if each.data(ROOT / "docs" / "evidence"))
    assert text.count('<figure class="evidence"><svg') == drawn > 0
    text = (site / "bench" / "RESULTS.html").read_text()
    assert {path.name for path in (ROOT / "bench" / "results").glob("*.svg")} == set(
        re.findall(r'src="\.\./_images/(\w+\.svg)"', text)
    )


@pytest.mark.slow
def test_links_to_sources_show_them(site: Path) -> None:
    shown = (site / "sources" / "model" / "reference.py.html").read_text()
    assert "<h1>model/reference.py</h1>" in shown
    assert re.search(r'id="line-1"', shown)
    entry = (site / "docs" / "api" / "model.html").read_text()
    assert re.search(r'href="../../sources/model/functions.py.html#line-\d+"', entry)
    assert 'href="sources/model/reference.py.html"' in (site / "README.html").read_text()
    assert not (site / "_downloads").exists()


PROBE = """<iframe id="page" src="{page}" style="width:{width}px; height:900px"></iframe>
<script>
document.getElementById("page").onload = function () {{
  const root = this.contentDocument.documentElement;
  document.title = "overflow " + (root.scrollWidth - root.clientWidth);
}};
</script>"""


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("page", ["index", "docs/fpga", "docs/verification", "docs/api/hdl"])
def test_nothing_overflows_in_a_browser(site: Path, tmp_path: Path, page: str, width: int) -> None:
    probe = tmp_path / "probe.html"
    probe.write_text(PROBE.format(page=(site / f"{page}.html").as_uri(), width=width))
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
        "--enable-logging=stderr", "--virtual-time-budget=5000", f"--user-data-dir={tmp_path}/user",
        "--dump-dom", probe.as_uri(),
    ]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "<title>overflow 0</title>" in ran.stdout
    assert "CONSOLE" not in ran.stderr


SMALL = """
exec(open({conf!r}).read().replace("__file__", repr({conf!r})))
contents = {{"Guides": ["docs/guide"]}}
extensions.remove("evidence_plots")
"""
GUIDE = """# Guide

## Part

See [the part](#part), [the front page](../README.md) and [a source](../model/types.py).
"""
FAULTS = {
    "": "",
    "[nothing](nothing.md)": "nothing.md",
    "[nothing](#nothing)": "nothing",
    "[nothing](../README.md#nothing)": "nothing",
    "[nothing](../model/nothing.py)": "nothing.py",
    "![nothing](nothing.svg)": "nothing.svg",
    "```{eval-rst}\n:class:`extremum.model.Nothing`\n```": "Nothing",
}
"""What is appended to a guide, and what the complaint about it names; nothing, for the first."""


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_document_fails_the_build(fault: str, tmp_path: Path) -> None:
    pytest.importorskip("furo", reason="the extra docs is not installed")
    for folder in ("docs", "model"):
        (tmp_path / folder).mkdir()
    (tmp_path / "docs" / "conf.py").write_text(SMALL.format(conf=str(ROOT / "docs" / "conf.py")))
    (tmp_path / "docs" / "static").mkdir()
    (tmp_path / "docs" / "static" / "site.css").touch()
    (tmp_path / "README.md").write_text("# Front page\n")
    (tmp_path / "model" / "types.py").write_text("x = 1\n")
    (tmp_path / "docs" / "guide.md").write_text(f"{GUIDE}\n{fault}\n")
    ran = build(tmp_path, tmp_path / "out")
    assert (ran.returncode != 0) == bool(fault), ran.stderr
    assert FAULTS[fault] in ran.stderr
    assert (tmp_path / "out" / "site" / "sources" / "model" / "types.py.html").exists()


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ('<a href="other.html#there">', None),
        ('<a href="#here">', None),
        ('<a href="folder/">', None),
        ('<a href="https://example.org/#x">', None),
        ('<img src="data:image/png;base64,AAAA">', None),
        ('<a href="gone.html">', "no such file"),
        ('<a href="other.html#gone">', "no such anchor"),
        ('<a href="#gone">', "no such anchor"),
        ('<a href="../outside.html">', "outside of the site"),
        ('<a href="/other.html">', "outside of the site"),
        ('<img src="gone.svg">', "no such file"),
        ('<script src="https://example.org/x.js"></script>', "another host"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "another host"),
        ('<link rel="stylesheet" href="gone.css">', "no such file"),
        ('<style href="x"></style><link rel="icon" href="gone.png">', "no such file"),
    ],
)
def test_the_checker_finds_what_leads_nowhere(page: str, fault: str | None, tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "folder").mkdir(parents=True)
    (tmp_path / "outside.html").touch()
    (site / "folder" / "index.html").touch()
    (site / "other.html").write_text('<p id="there">')
    (site / "index.html").write_text(f'<h1 id="here"></h1>{page}')
    pages, links, faults = checker.check(site)
    assert (pages, links) == (3, 1)
    assert len(faults) == (fault is not None)
    if fault is not None:
        assert fault in faults[0]


def test_the_checker_reads_style_sheets(tmp_path: Path) -> None:
    (tmp_path / "site.css").write_text("p { background: url('https://example.org/x.png'); }")
    _, _, (fault,) = checker.check(tmp_path)
    assert "another host" in fault
