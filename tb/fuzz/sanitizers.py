"""How code is built and run under the address and undefined-behaviour sanitizers."""

from __future__ import annotations

import subprocess

SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")
"""Options of the compiler and the linker."""


def environment() -> dict[str, str]:
    """Return what must be in the environment of a Python that loads such a library.

    The sanitizer's library has to be the first that is loaded. That of C++ comes with it, since the
    sanitizer looks at its start for the function that throws exceptions.
    """
    libraries = [
        subprocess.run(
            ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in ("libasan.so", "libstdc++.so")
    ]
    return {"LD_PRELOAD": " ".join(libraries), "ASAN_OPTIONS": "detect_leaks=0"}
