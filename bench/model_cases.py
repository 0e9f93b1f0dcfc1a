"""What `model.py` times beside the workloads, and the sources that its times belong to."""

SMALL_POOLINGS = ("pooling 1x4x5x5", "pooling 1x4x5x5, indices")
SMALL_CALLS = ("argmax of 10", "argmax of 10, checked object", "greatest of 10", *SMALL_POOLINGS)
LARGE = {"argmax of 100 million": "argmax", "pooling 1x64x1024x1024": "pooling"}
"""Calls on large tensors by their names, and what the script's option ``--large`` says for them."""

SOURCES = ("model",)
"""Folders of the sources."""
