"""The mark of tests that need tools for synthesis, and are skipped without them."""

import importlib.util

import pytest


def needs(*tools: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test unless all these packages of PyPI are installed."""
    missing = [tool for tool in tools if not importlib.util.find_spec(tool.replace("-", "_"))]
    return pytest.mark.skipif(bool(missing), reason=f"no {', '.join(missing)}")
