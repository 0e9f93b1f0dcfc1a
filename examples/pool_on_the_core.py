"""Max pooling on the simulated core, with stalls on both sides, checked against the golden model.

Run it with ``.venv/bin/python examples/pool_on_the_core.py`` after ``make demo``.
"""

import sys

import numpy as np

from extremum import model
from extremum.host import Accelerator

x = np.random.default_rng(1).standard_normal((2, 6, 20, 30)).astype(np.float16)
x[0, 0, 3, 4] = np.nan

# The source of beats and the sink of results each rest in 30 % of the clocks, at random.
with Accelerator(
    ("float16",), lanes=3, max_window=(1, 3, 2), input_stalls=30, output_stalls=30
) as accelerator:
    values, indices = accelerator.max_pooling(
        x, (3, 2), strides=2, start_padding=1, return_indices=True
    )
    report = accelerator.report

golden_values, golden_indices = model.max_pooling(
    x, (3, 2), strides=2, start_padding=1, return_indices=True
)
same_values = values.tobytes() == golden_values.tobytes()
if not same_values or indices.tobytes() != golden_indices.tobytes():
    sys.exit("the core and the golden model differ")
print(report)
