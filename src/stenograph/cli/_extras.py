"""What a command needs beyond the core: said before anything of it is imported."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from stenograph.errors import UsageError


def require_extra(extra: str, who: str, *modules: str) -> None:
    """Raises UsageError, with the command that installs what is missing."""
    if missing := [module for module in modules if find_spec(module) is None]:
        raise UsageError(f"{who} needs {' and '.join(missing)}", hint=install_command(extra))


def install_command(extra: str) -> str:
    """In a checkout the name alone would look for a package elsewhere."""
    import stenograph

    checkout = Path(stenograph.__file__).resolve().parents[2]
    name = checkout if (checkout / "pyproject.toml").is_file() else "stenograph"
    return f"pip install '{name}[{extra}]'"
