"""What the README shows in Python is run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.corpora import DEMO, ROOT


def test_the_readmes_python_runs_on_a_home_with_sessions(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    home = tmp_path / "home"
    shutil.copytree(DEMO, home / ".claude")
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout.count(" -> ") >= 1
    assert done.stderr == ""


def test_the_readme_is_about_a_hundred_lines_and_names_every_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    from stenograph.cli._group import COMMANDS

    assert [name for name in COMMANDS if f"steno {name}" not in text] == []


def test_every_link_of_the_pages_outside_the_site_resolves() -> None:
    broken = [
        f"{name}: {target}"
        for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
        for target in re.findall(r"\]\(([^)#]+)", (ROOT / name).read_text(encoding="utf-8"))
        if "://" not in target and not (ROOT / target).exists()
    ]
    assert broken == []
