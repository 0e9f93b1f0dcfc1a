"""The blocks of the documents, run one after the other as a reader would.

What a block does is told by its language:

- ``console``: every line that begins with ``$`` is a command, run by a shell; the lines behind it
  are its output on stdout. All commands of a file share a folder. A command that fails ends with
  ``|| true``, or shows its status.
- ``python`` with prompts ``>>>``: a doctest. All blocks of a file share their names.
- ``python`` without prompts: a script. A block without a language directly behind it is its output.
- any other language: text, which must be marked as the content of a file, see below.
- ``text``: a drawing or an example that nobody runs.

An HTML comment on the line above a block changes that: ``<!-- file: NAME -->`` writes the block to
a file of the folder, ``<!-- not run: REASON -->`` leaves it alone. In an expected output ``...``
stands for whatever may differ from run to run.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

FLAGS = doctest.ELLIPSIS
TIMEOUT = 600
"""Seconds after which a command is given up: it hangs."""

SHIM = f"""#!/bin/sh
exec '{sys.executable}' -c 'import sys
sys.argv[0] = "extremum"
from extremum.host.cli.main import main
main()' "$@"
"""
"""A script that runs the command line of this environment, whose own scripts may not be on PATH."""


@dataclass(frozen=True)
class Block:
    """One fenced block of a document."""

    path: Path
    line: int
    language: str
    text: str
    note: str
    """The HTML comment above the block; empty if there is none."""
    output: str | None = None
    """What a script prints; None if the document does not show it."""

    @property
    def name(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}"

    @property
    def file(self) -> str | None:
        """The name of the file to write the block to; None if it is not the content of one."""
        return self.note.removeprefix("file: ") if self.note.startswith("file: ") else None

    @property
    def reason(self) -> str | None:
        """Why the block is not run; None if it is run."""
        return self.note.removeprefix("not run:").strip() if self.is_left_out else None

    @property
    def is_left_out(self) -> bool:
        return self.note.startswith("not run:")

    @property
    def commands(self) -> list[tuple[str, str]]:
        """The commands of a console, each with its output."""
        found: list[tuple[str, str]] = []
        lines = iter(self.text.splitlines())
        for line in lines:
            if line.startswith("$ "):
                command = line.removeprefix("$ ")
                while command.endswith("\\"):
                    command += "\n" + next(lines)
                found.append((command, ""))
            else:
                command, output = found.pop()
                found.append((command, output + line + "\n"))
        return found


FENCED = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def blocks_of(path: Path) -> list[Block]:
    """Return the blocks of a document, in order; a script and its output are one block."""
    document, end = path.read_text(), 0
    found: list[Block] = []
    fences = len(re.findall("^ *```", document, re.MULTILINE))
    for match in FENCED.finditer(document):
        line = document.count("\n", 0, match.start("language")) + 1
        block = Block(path, line, match["language"], match["text"], match["note"] or "")
        follows = found and not document[end : match.start()].strip()
        if not block.language and follows and found[-1].language == "python":
            block = replace(found.pop(), output=block.text)
        found.append(block)
        end = match.end()
        fences -= 2
    assert fences == 0, f"{path}: a block has no end, or is indented"
    return found


BLOCKS = [block for path in DOCUMENTS for block in blocks_of(path)]


@dataclass
class Notebook:
    """The blocks of one document, run in a folder of their own, each of them once."""

    path: Path
    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    results: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        scripts = self.folder / ".venv" / "bin"
        scripts.mkdir(parents=True)
        (scripts / "extremum").write_text(SHIM)
        (scripts / "extremum").chmod(0o755)
        (scripts / "python").write_text(f"#!/bin/sh\nexec '{sys.executable}' \"$@\"\n")
        (scripts / "python").chmod(0o755)
        (self.folder / "examples").symlink_to(ROOT / "examples")

    def problem(self, block: Block) -> str:
        """Run a block, and those before it that were not run; return what is wrong with it."""
        for earlier in blocks_of(self.path):
            if earlier.line <= block.line and earlier.line not in self.results:
                self.results[earlier.line] = self._run(earlier)
        return self.results[block.line]

    def _run(self, block: Block) -> str:
        if block.is_left_out or (block.language == "text" and not block.note):
            return ""
        if block.file:
            (self.folder / block.file).write_text(block.text)
            return ""
        if block.language == "console":
            return "\n".join(self._commands(block))
        if block.language != "python":
            return f"a block of language {block.language!r} is neither run nor marked"
        with contextlib.chdir(self.folder):
            return self._doctest(block) if ">>> " in block.text else self._script(block)

    def _commands(self, block: Block) -> Iterator[str]:
        scripts = self.folder / ".venv" / "bin"
        environment = os.environ | {
            "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "100",
        }
        for command, wanted in block.commands:
            ran = subprocess.run(
                ["bash", "-c", command],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                check=False,
            )
            if ran.returncode:
                told = ran.stdout + ran.stderr
                yield f"$ {command}\nends with status {ran.returncode}:\n{told}"
            yield from _difference(f"$ {command}", wanted, ran.stdout)

    def _doctest(self, block: Block) -> str:
        parser, told = doctest.DocTestParser(), io.StringIO()
        test = parser.get_doctest(block.text, self.names, block.name, str(self.path), block.line)
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.write, clear_globs=False)
        self.names = test.globs
        return told.getvalue()

    def _script(self, block: Block) -> str:
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(block.text, block.name, "exec"), self.names)
        except Exception:
            return traceback.format_exc()
        return "".join(_difference("the script", block.output or "", printed.getvalue()))


def _difference(what: str, wanted: str, got: str) -> Iterator[str]:
    wanted, got = (
        "".join(f"{line.rstrip()}\n" for line in text.splitlines()) for text in (wanted, got)
    )
    checker = doctest.OutputChecker()
    if not checker.check_output(wanted, got, FLAGS):
        example = doctest.Example("", wanted)
        yield f"{what}\n{checker.output_difference(example, got, FLAGS)}"


def missing_tool(block: Block) -> str | None:
    """Return the name of a simulator that a console needs and this machine lacks."""
    if block.language != "console":
        return None
    needed = {command.split()[0] for command, _ in block.commands} & {"iverilog", "vvp"}
    return next((tool for tool in sorted(needed) if not shutil.which(tool)), None)
