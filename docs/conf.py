"""The configuration of Sphinx for the site that `make docs` builds.

The sources are where they are read on a code host: Sphinx's source folder is the root of the
repository, and README.md is the front page. Nothing is fetched from the network.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))  # the extensions of this site

from source_pages import linkcode_resolve  # noqa: E402, F401 (read by sphinx.ext.linkcode)

METADATA = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

project = METADATA["name"]
version = release = METADATA["version"]
author = "the authors of extremum"
html_title = f"{project} {release}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.linkcode",
    "docstrings",
    "evidence_plots",
    "front_page",
    "source_pages",
]

root_doc = "README"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "bench/RESULTS.md",
    "docs/**.md",
    "docs/**.rst",
    "drivers/**.md",
]
exclude_patterns = ["**/.*", ".*", "**/__pycache__", "build", "dist", "typings", "*.egg-info"]

# Sections of the navigation, and what each holds.
contents = {
    "Guides": [
        "docs/golden-model",
        "docs/command-line",
        "docs/onnx",
        "docs/verilog",
        "docs/fpga",
        "docs/integration",
        "docs/driver",
        "drivers/c/README",
        "docs/soc",
    ],
    "Reference": ["docs/api/index", "docs/glossary"],
    "How it works": ["docs/architecture", "docs/decisions/index", "docs/extending", "docs/site"],
    "Evidence": [
        "docs/verification",
        "docs/regression",
        "docs/mutation",
        "docs/formal",
        "docs/code-coverage",
        "docs/faults",
        "bench/RESULTS",
    ],
    "Releases": ["CHANGELOG"],
}

# Markdown: headings have the anchors that a code host gives them.
myst_heading_anchors = 4

# Every reference must lead somewhere. What other projects document is not looked for, since there
# is no network; a word in single backquotes is a link if something has this name, and code if not.
nitpicky = True
default_role = "py:obj"
nitpick_ignore_regex = [
    ("py:obj", r".*"),
    ("py:.*", r"(numpy|np|collections|pathlib|onnx|torch|amaranth)\..*"),
    ("py:class", r"ArrayLike|DTypeLike|ModelProto|NDArray|Path|Tensor|ndarray"),
    ("py:class", r"array_like|bytes-like|collection|dtype_like|sequence"),  # words, as in NumPy
    # Aliases and variables of types.
    ("py:class", r"BytesLike|Coordinate|Dims|Integers|OperatorDesc|Sizes|TellProgress|_Result"),
]

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_mock_imports = ["torch"]  # need not be installed
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
napoleon_google_docstring = False
napoleon_preprocess_types = True
napoleon_type_aliases = {"dtype": "numpy.dtype"}
napoleon_attr_annotations = False
napoleon_custom_sections = ["Members"]

html_theme = "furo"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1d5c8a", "color-brand-content": "#1d5c8a"},
    "dark_css_variables": {"color-brand-primary": "#6db3e8", "color-brand-content": "#6db3e8"},
}
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_last_updated_fmt = None
