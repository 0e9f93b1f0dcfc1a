"""The register files of a package say what the register map says, field by field.

That the gateware does as the register map says is tested by the benches of `tb.axi.registers`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]
from systemrdl.compiler import RDLCompiler
from systemrdl.node import AddrmapNode
from systemrdl.rdltypes.builtin_enums import AccessType, OnWriteType, PrecedenceType

from extremum.hdl.axi.register import Access, Register
from extremum.hdl.axi.register_map import WORD_BITS, register_map
from extremum.hdl.config import CoreConfig
from extremum.host.errors import ToolError
from extremum.host.fpga.presets import PRESETS
from extremum.host.package.files import package_files
from extremum.host.package.rdl import system_rdl
from extremum.host.package.registers import register_files
from extremum.host.package.settings import Settings

SOFTWARE = {
    Access.CONSTANT: (AccessType.r, None),
    Access.READ: (AccessType.r, None),
    Access.WRITE: (AccessType.w, None),
    Access.PULSE: (AccessType.w, None),
    Access.STROBE: (AccessType.w, None),
    Access.READ_WRITE: (AccessType.rw, None),
    Access.CLEAR: (AccessType.rw, OnWriteType.woclr),
}
"""What SystemRDL says of a field, by what the register map says."""

XML = {
    Access.CONSTANT: ("read-only", None),
    Access.READ: ("read-only", None),
    Access.WRITE: ("write-only", None),
    Access.PULSE: ("write-only", None),
    Access.STROBE: ("write-only", None),
    Access.READ_WRITE: ("read-write", None),
    Access.CLEAR: ("read-write", "oneToClear"),
}

VOLATILE = (Access.READ, Access.PULSE, Access.CLEAR)
"""What may be read otherwise than it was written: in IP-XACT it says so of itself."""

CORES = {
    "pool2x2-int8": PRESETS["pool2x2-int8"],
    "everything": CoreConfig(max_window=(2, 3, 3), lanes=4),
}
"""A core with few job registers, and one with all."""


@pytest.fixture(scope="module", params=CORES)
def made(request, tmp_path_factory) -> tuple[CoreConfig, Path]:
    """A core, and the folder of its register files."""
    folder = tmp_path_factory.mktemp("registers")
    for path, content in register_files(Settings(CORES[request.param], "blk")).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return CORES[request.param], folder


def by_address(config: CoreConfig) -> list[Register]:
    return sorted(register_map(config), key=lambda register: register.address)


def compiled(path: Path) -> AddrmapNode:
    compiler = RDLCompiler()
    compiler.compile_file(str(path))
    return compiler.elaborate().top


def test_system_rdl(made):
    config, folder = made
    told = [
        (
            node.inst_name, node.absolute_address, node.get_property("desc"),
            [
                (
                    field.inst_name, field.low, field.width, field.get_property("reset"),
                    field.get_property("sw"), field.get_property("onwrite"),
                    field.get_property("desc"),
                )
                for field in node.fields()
            ],
        )
        for node in compiled(folder / "blk_registers.rdl").registers()
    ]  # fmt: skip
    assert told == [
        (
            register.name, register.address, register.text,
            [
                (field.name, field.lowest, field.width, field.reset, *SOFTWARE[field.access],
                 field.text)
                for field in register.fields
            ],
        )
        for register in by_address(config)
    ]  # fmt: skip


def test_what_the_block_does_with_a_field(made):
    """A generator of registers may go by it: what changes a value, and whether it is kept."""
    _, folder = made
    expected = {
        Access.CONSTANT: (False, False, False, False, False),
        Access.READ: (True, False, False, False, False),
        Access.WRITE: (False, True, False, False, False),
        Access.PULSE: (False, True, True, False, False),
        Access.STROBE: (False, True, False, True, False),
        Access.READ_WRITE: (False, True, False, False, False),
        # An event in the clock of its clearing is kept.
        Access.CLEAR: (True, True, False, False, True),
    }
    config, _ = made
    fields = {
        (register.name, field.name): field
        for register in by_address(config)
        for field in register.fields
    }
    seen = set()
    for register in compiled(folder / "blk_registers.rdl").registers():
        for node in register.fields():
            access = fields[register.inst_name, node.inst_name].access
            seen.add(access)
            told = (
                bool(node.is_hw_writable or node.get_property("hwset")), node.is_hw_readable,
                node.get_property("singlepulse"), node.get_property("swmod"),
                node.get_property("precedence") is PrecedenceType.hw,
            )  # fmt: skip
            assert told == expected[access], (register.inst_name, node.inst_name)
    assert seen == {*Access}


def test_a_text_with_quotes_stays_as_it_is(monkeypatch, tmp_path):
    (register, *_) = register_map(CORES["everything"])
    odd = Register("ODD", 0, register.fields, 'Say "no" to C:\\new.')
    monkeypatch.setattr("extremum.host.package.rdl.register_map", lambda _: (odd,))
    (tmp_path / "odd.rdl").write_text(system_rdl(CORES["everything"], "odd", 'An "odd" one'))
    top = compiled(tmp_path / "odd.rdl")
    assert top.get_property("name") == 'An "odd" one'
    assert [node.get_property("desc") for node in top.registers()] == [odd.text]


def test_c_header(made):
    """A compiler that knows C11 agrees on every address and on every field."""
    config, folder = made
    prefix = "BLK_REGISTERS"
    checks = []
    for register in by_address(config):
        offset = f"offsetof(blk_registers_t, {register.name})"
        checks.append((offset, register.address))
        for field in register.fields:
            name = f"{prefix}__{register.name}__{field.name.upper()}"
            facts = {"bm": field.mask, "bp": field.lowest, "bw": field.width, "reset": field.reset}
            checks += [(f"{name}_{fact}", value) for fact, value in facts.items()]
    # Of a structure that may lie anywhere, compilers for some processors access single bytes.
    checks.append(("_Alignof(blk_registers_t)", 4))
    lines = [f'_Static_assert({left} == {right}ULL, "{left}");' for left, right in checks]
    source = "\n".join(["#include <stddef.h>", '#include "blk_registers.h"', *lines, ""])
    (folder / "check.c").write_text(source)
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    command = ["cc", "-std=c11", "-fsyntax-only", "check.c"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    header = (folder / "blk_registers.h").read_text()
    # It needs no C library.
    assert re.findall("#include (.*)", header) == ["<stdint.h>"]
    assert len(re.findall(rf"#define {prefix}__\w+_bm ", header)) == sum(
        len(register.fields) for register in by_address(config)
    )


def test_c_header_in_cpp(made):
    _, folder = made
    if not shutil.which("c++"):
        pytest.skip("no C++ compiler")
    command = ["c++", "-std=c++11", "-fsyntax-only", "-x", "c++", "blk_registers.h"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_ip_xact(made):
    """Checks of written values leave out what is volatile, and must not leave out constants."""
    config, folder = made
    tree = etree.parse(str(folder / "blk_registers.xml"))

    def number(element, tag):
        (text,) = element.xpath(f"./*[local-name()='{tag}']//text()[normalize-space()]")
        return int(text.replace("'h", "0x"), 0)

    def words(element, tag):
        return (element.xpath(f"./*[local-name()='{tag}']/text()") or [None])[0]

    found = [
        (
            words(register, "name"),
            number(register, "addressOffset"),
            [
                (
                    words(field, "name"), number(field, "bitOffset"), number(field, "bitWidth"),
                    number(field, "resets"), words(field, "volatile"), words(field, "access"),
                    words(field, "modifiedWriteValue"),
                )
                for field in register.xpath("./*[local-name()='field']")
            ],
        )
        for register in tree.xpath("//*[local-name()='register']")
    ]  # fmt: skip
    assert found == [
        (
            register.name, register.address,
            [
                (field.name, field.lowest, field.width, field.reset,
                 "true" if field.access in VOLATILE else None,
                 *XML[field.access])
                for field in register.fields
            ],
        )
        for register in by_address(config)
    ]  # fmt: skip


MODEL = """
import json, sys
from peakrdl_python.lib import NormalCallbackSet
from blk_registers.reg_model import RegModel

calls = []
def read(addr, width, accesswidth):
    calls.append(["read", addr, width])
    return addr
def write(addr, width, accesswidth, data):
    calls.append(["write", addr, data])
model = RegModel(callbacks=NormalCallbackSet(read_callback=read, write_callback=write))
for register in model.get_registers():
    if hasattr(register, "read"):
        register.read()
    if hasattr(register, "write"):
        register.write(5)
print(json.dumps(calls))
"""


def test_python_model(made):
    """It reads and writes what may be read and written, at its address."""
    config, folder = made
    ran = subprocess.run(
        [sys.executable, "-c", MODEL],
        env=os.environ | {"PYTHONPATH": str(folder / "python")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    expected = []
    for register in by_address(config):
        if register.is_readable:
            expected.append(["read", register.address, WORD_BITS])
        if register.is_writable:
            expected.append(["write", register.address, 5])
    assert json.loads(ran.stdout) == expected


def test_pages_bring_the_licences_of_what_others_wrote_for_them():
    package = package_files(Settings(CORES["pool2x2-int8"], "part"))
    brought = {
        path.removeprefix("registers/html/"): content.decode()
        for path, content in package.items()
        if path.startswith("registers/html/LICENSE")
    }
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in brought["LICENSE"]
    assert "FontAwesome" in brought["LICENSE-3RD-PARTY"]
    told = package["README.md"].decode().partition("## Licence\n")[2]
    assert "Apache-2.0" in told
    assert "LGPL-3.0" in told
    assert re.findall(r"`registers/html/(LICENSE\S*)`", told) == sorted(brought)
    bare = package_files(Settings(CORES["pool2x2-int8"], "part", bus="none"))
    assert "LGPL" not in bare["README.md"].decode()


@pytest.mark.parametrize("installed", [None, []])
def test_pages_are_not_written_without_their_licences(installed, monkeypatch):
    monkeypatch.setattr("extremum.host.package.registers.files", lambda _: installed)
    with pytest.raises(ToolError, match="has no files of licences, with which its pages must come"):
        package_files(Settings(CORES["pool2x2-int8"], "part"))
