"""A core for argmax and argmin of int16 alone, as Verilog: no window stages, two lanes.

Run it with ``.venv/bin/python examples/verilog_of_an_argmax_core.py`` after ``make demo``.
"""

import sys
from pathlib import Path

from extremum.hdl import CoreConfig, generate
from extremum.model import DataType

config = CoreConfig(
    (DataType.INT16,), lanes=2, max_window=(1, 1, 1), operators=("argmin", "argmax")
)
try:
    Path("extremum_core.v").write_text(generate(config))
except OSError as error:
    sys.exit(f"extremum_core.v cannot be written: {error.strerror}")
print(Path("extremum_core.v").stat().st_size, "bytes of Verilog in extremum_core.v")
