"""The register map in the forms that tools read: made by the PeakRDL tools from SystemRDL."""

from __future__ import annotations

import re
from importlib.metadata import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from extremum.hdl.axi.register_map import ADDRESS_BITS
from extremum.host.errors import ToolError
from extremum.host.package.identity import LIBRARY, VENDOR, version_text
from extremum.host.package.names import map_name
from extremum.host.package.rdl import system_rdl
from extremum.host.package.settings import Settings
from extremum.host.tools import require

__all__ = ["PEAKRDL", "memory_map", "register_files"]

PEAKRDL = ("peakrdl", "peakrdl-python")
"""The tools that this module calls."""

STARTERS = re.compile(r"html/(launcher-|\.launcher_data/)")
"""Files beside the pages that start browsers of Windows with fewer checks: they are left out."""


def register_files(settings: Settings) -> dict[str, bytes]:
    """Return the register files of a programmable block, by their names within its package.

    They are a SystemRDL description, and what the PeakRDL tools make of it: pages in HTML, a C
    header, an IP-XACT component of registers alone, and a model in Python.

    Raises
    ------
    ToolError
        One of the PeakRDL tools is missing.
    """
    require(*PEAKRDL)
    from peakrdl_cheader.exporter import CHeaderExporter  # noqa: PLC0415 (the extra `package`)
    from peakrdl_html import HTMLExporter  # noqa: PLC0415
    from peakrdl_python.exporter import PythonExporter  # noqa: PLC0415
    from peakrdl_python.systemrdl_node_hashes import NodeHashingMethod  # noqa: PLC0415

    name = map_name(settings.name)
    with TemporaryDirectory() as made:
        folder = Path(made)
        top = _compiled(settings, folder)
        # By default the pages carry the time; browsers need but a number that changes with them.
        pages = HTMLExporter(user_context={"build_ts": int(settings.hash, 16)})
        title: Any = f"Registers of {settings.name}"  # declared as a dictionary by mistake
        pages.export(top, str(folder / "html"), title=title)
        # The pages come with scripts, styles and fonts, whose authors ask for this.
        licences = [file for file in files("peakrdl-html") or () if "LICENSE" in file.name]
        if not licences:
            raise ToolError(
                "the installed peakrdl-html has no files of licences, with which its pages must "
                "come: install it anew"
            )
        for licence in licences:
            (folder / "html" / licence.name).write_bytes(licence.read_binary())
        header = folder / f"{name}.h"
        CHeaderExporter().export(top, str(header))
        header.write_text(_whole_words(header.read_text()))
        (folder / f"{name}.xml").write_bytes(memory_map(settings, "2014"))
        PythonExporter().export(
            top,
            str(folder / "python"),
            skip_test_case_generation=True,
            skip_library_copy=True,
            hashing_method=NodeHashingMethod.SHA256,  # Python's own differs from run to run
        )
        paths = {
            path.relative_to(folder).as_posix(): path
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        return {name: path.read_bytes() for name, path in paths.items() if not STARTERS.match(name)}


def memory_map(settings: Settings, edition: str) -> bytes:
    """Return the registers alone as an IP-XACT component.

    Its range is all that the block decodes, behind the last register too: a tool that packs blocks
    by their ranges must put nothing there.

    Parameters
    ----------
    settings
        What the package is written for.
    edition
        ``"2009"`` or ``"2014"``: the year of IEEE 1685.
    """
    require("peakrdl")
    from peakrdl_ipxact import IPXACTExporter, Standard  # noqa: PLC0415

    exporter = IPXACTExporter(
        standard=Standard[f"IEEE_1685_{edition}"],
        vendor=VENDOR,
        library=LIBRARY,
        version=version_text(),
    )
    with TemporaryDirectory() as made:
        target = Path(made) / "map.xml"
        exporter.export(_compiled(settings, Path(made)), str(target))
        told = target.read_text(encoding="utf-8")
    whole, count = re.subn(r"(:range>(?:0x|'h))[0-9a-f]+", rf"\g<1>{1 << ADDRESS_BITS:x}", told)
    if count != 1:
        raise ValueError(f"the IP-XACT of the register map must have one range, not {count}")
    return whole.encode()


def _whole_words(header: str) -> str:
    """Return a C header whose structure is accessed by whole words, without the C library.

    The structure comes packed. By this, compilers for processors that load no unaligned words take
    its members for unaligned, and access them byte by byte, which the block refuses.
    """
    for pattern, instead in (
        (r"__attribute__ \(\(__packed__\)\)", "__attribute__ ((__packed__, __aligned__(4)))"),
        (r"#include <assert\.h>\n", ""),
        (r"static_assert(\(.*\);)\n",
         r"#ifdef __cplusplus\nstatic_assert\1\n#else\n_Static_assert\1\n#endif\n"),
    ):  # fmt: skip
        header = re.sub(pattern, instead, header)
    return header


def _compiled(settings: Settings, folder: Path) -> Any:
    """Write the SystemRDL into a folder, and return it compiled."""
    from systemrdl.compiler import RDLCompiler  # noqa: PLC0415 (the extra `package`)

    name = map_name(settings.name)
    source = folder / f"{name}.rdl"
    source.write_text(system_rdl(settings.config, name, f"Registers of {settings.name}"))
    compiler = RDLCompiler()
    compiler.compile_file(str(source))
    return compiler.elaborate().top
