"""The documentation site: `make site` builds these pages with Sphinx and fails on any broken link."""

from __future__ import annotations

from stenograph import __version__

project = "Stenograph"
author = "The Stenograph developers"
release = __version__
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "Stenograph"
html_theme_options = {"navigation_with_keys": True}
html_show_sourcelink = False
html_copy_source = False
exclude_patterns = ["schemas"]
myst_heading_anchors = 4
# `text` and `console` examples are shown as they are.
highlight_language = "text"
