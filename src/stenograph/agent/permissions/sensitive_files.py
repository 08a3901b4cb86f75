"""Files that make other programs run something: a repository's, an editor's, a shell's own."""

from __future__ import annotations

from collections.abc import Iterable

#: Folders with all their content, and files: a `.git` file may lead to a repository anywhere.
_FOLDERS = frozenset({".git", ".claude", ".vscode", ".idea", ".husky"})
_FILES = frozenset({
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin",
    ".zlogout", ".gitconfig", ".gitmodules", ".mcp.json",
})  # fmt: skip


def sensitive_names(parts: Iterable[str]) -> frozenset[str]:
    """In lower case: some file systems ignore case."""
    names = [part.lower() for part in parts]
    return frozenset(name for name in names if name in _FOLDERS) | _FILES.intersection(names[-1:])
