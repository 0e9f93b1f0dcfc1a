"""The entry point: the standard library alone, so that it can say what is missing."""

from __future__ import annotations

import sys
from typing import NoReturn

from extremum.host.errors import ToolError
from extremum.host.tools import require

__all__ = ["main"]


def main() -> NoReturn:
    """Run the command line of this process and exit with its status."""
    try:
        require("numpy", "click", "rich")
        from extremum.host.cli import commands  # noqa: PLC0415 (it imports what was looked for)

        sys.exit(commands.main(sys.argv[1:]))
    except ToolError as error:
        extra = "the command line needs the extra sim (pip install 'extremum[sim]')"
        print(f"extremum: {extra}: {error}", file=sys.stderr)
        sys.exit(4)
    except KeyboardInterrupt:  # while modules are loaded; later, `commands.main` takes it
        sys.exit(130)
