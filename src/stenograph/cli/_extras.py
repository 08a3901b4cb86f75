"""What a command needs beyond the core: said before anything of it is imported."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from stenograph.errors import UsageError


def require_extra(extra: str, who: str, *modules: str) -> None:
    """Raises UsageError, with the command that installs what is missing."""
    if missing := [module for module in modules if find_spec(module) is None]:
        *others, last = missing
        named = f"{', '.join(others)} and {last}" if others else last
        raise UsageError(f"{who} needs {named}", hint=install_command(extra))


def install_command(extra: str) -> str:
    """As steno itself was installed. In a checkout the name alone would look for a package elsewhere."""
    import stenograph

    checkout = Path(stenograph.__file__).resolve().parents[2]
    name = checkout if (checkout / "pyproject.toml").is_file() else "stenograph"
    parts = Path(sys.prefix).parts
    if "pipx" in parts:
        return f"pipx install --force '{name}[{extra}]'"
    if "uv" in parts:
        how = "uv tool install" if "tools" in parts else "uvx --from"
        return f"{how} '{name}[{extra}]'{'' if 'tools' in parts else ' steno'}"
    return f"pip install '{name}[{extra}]'"
