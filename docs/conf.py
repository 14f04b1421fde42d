"""How Sphinx builds the pages and the man pages: ``scripts/docs``."""

import sys
from pathlib import Path

from reactor.resource.entry_points import installed_version

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "reactor"
author = "the authors of reactor"
version = release = installed_version()

extensions = ["myst_parser", "generated"]
exclude_patterns = ["_extensions"]
nitpicky = True
smartquotes = False  # `--option` is no dash

myst_heading_anchors = 4

today = " "  # the man pages are the same on every day

html_theme = "furo"
html_title = "reactor"
html_static_path = ["_static"]
html_css_files = ["reactor.css"]
html_copy_source = False
html_show_copyright = False

man_pages = [
    ("commands", "reactor", "make a Linux host match a manifest and keep it matched", [], 1),
    ("manifest-language", "reactor-manifest", "the language of manifests", [], 5),
    ("kinds/index", "reactor-kinds", "the kinds of resources, and their properties", [], 7),
]
