"""Files that make other programs run something: a repository's, an editor's, a shell's own.

In: the parts of a path. Out: those of them that say so. Knows neither rules nor modes, and looks at no file.
"""

from __future__ import annotations

from collections.abc import Iterable

#: As folders with all that is in them, and as files: a `.git` may be a file that leads to a repository anywhere.
_FOLDERS = frozenset({".git", ".claude", ".vscode", ".idea", ".husky"})
_FILES = frozenset({
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin",
    ".zlogout", ".gitconfig", ".gitmodules", ".mcp.json",
})  # fmt: skip


def sensitive_names(parts: Iterable[str]) -> frozenset[str]:
    """The sensitive names in a path, in lower case: some file systems don't tell `.GIT` from `.git`."""
    names = [part.lower() for part in parts]
    return frozenset(name for name in names if name in _FOLDERS) | _FILES.intersection(names[-1:])
