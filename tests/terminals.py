"""What tests that show clients in a terminal share: whether there is one, and how a client looks that broke."""

from __future__ import annotations

import re
import shutil
import sys

from tests.conftest import Need

#: Traces of a program that broke, as old clients show them (rule 58).
BROKEN = re.compile(r"TypeError|ReferenceError|Cannot read prop|undefined is not|    at \w+ \(|Something went wrong")


def need_tmux(need: Need) -> None:
    if sys.platform == "win32" or shutil.which("tmux") is None:
        need("tmux", "tmux is not installed")
