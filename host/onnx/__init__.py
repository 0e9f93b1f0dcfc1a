"""ONNX networks whose poolings, argmax, argmin, max and min run on the gateware.

:func:`run` runs a network; :mod:`extremum.onnx.backend` is the interface that ONNX itself defines.

- `layers` says which operator a node is, or why it is none of ours.
- `agreement` says for which values ONNX Runtime gives other bits than the contract.
- `loading` reads and checks a model, and `network` is what it gives: a graph, and its nodes that
  may be ours; `graphs` tells what a graph holds.
- `inputs` checks what is given to a network, and `values` are ONNX Runtime's tensors.
- `segments` cuts a network, `runtime` runs the parts that are not ours in ONNX Runtime,
  `execution` runs the whole, and `outcome` is what it gives.
- `reference` is what ONNX Runtime alone gives for the whole, and `differences` compares.
- `core` chooses the smallest core for a network.
"""

import os

from extremum.host.tools import require

require("onnx", "onnxruntime")

# ONNX Runtime would write files about its use into the user's folders, and lines to stderr if it
# cannot. It looks at this when it is imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

from extremum.onnx.core import core_for  # noqa: E402 (after what it needs was looked for)
from extremum.onnx.execution import run  # noqa: E402
from extremum.onnx.layers import Layer  # noqa: E402
from extremum.onnx.loading import load  # noqa: E402
from extremum.onnx.network import Candidate, Network, NetworkError  # noqa: E402
from extremum.onnx.outcome import NodeReport, Outputs  # noqa: E402

__all__ = [
    "Candidate",
    "Layer",
    "Network",
    "NetworkError",
    "NodeReport",
    "Outputs",
    "core_for",
    "load",
    "run",
]
