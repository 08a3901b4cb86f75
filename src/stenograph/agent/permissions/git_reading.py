"""git commands that only read, and repositories whose configuration runs nothing by itself.

Options are listed; anything else needs a rule. A repository's own configuration can name programs that even `git status` runs
(filters, monitors, text converters), so only one with nothing but plain settings is read without a rule. Submodules are
repositories of their own, which git looks into.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from stenograph.agent.permissions.known_options import KnownOptions
from stenograph.agent.tools.base import ToolFailed
from stenograph.agent.tools.texts import read_bytes

_LOG = KnownOptions(
    "pusawbqzMCRDWgiEFPcmrtne0123456789",
    "nSGULl",
    "--oneline --graph --all --stat --shortstat --numstat --dirstat --summary --name-only --name-status --patch --no-patch"
    " --raw --decorate --decorate= --no-decorate --merges --no-merges --first-parent --reverse --follow --abbrev-commit"
    " --no-abbrev-commit --abbrev= --date= --relative-date --format= --pretty --pretty= --since= --until= --after= --before="
    " --author= --committer= --grep= --all-match --invert-grep --regexp-ignore-case --max-count= --skip= --branches --tags"
    " --remotes --branches= --tags= --remotes= --topo-order --date-order --author-date-order --cherry-pick --left-right"
    " --no-color --color --color= --no-renames --find-renames --find-renames= --find-copies --unified= --word-diff"
    " --word-diff= --color-words --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-space-at-eol"
    " --minimal --patience --histogram --diff-algorithm= --diff-filter= --cached --staged --merge-base --check --exit-code"
    " --quiet --full-index --binary --compact-summary --no-ext-diff --no-textconv --stat= --function-context"
    " --inter-hunk-context= --text --relative --no-prefix --boundary --simplify-by-decoration --full-history --no-walk"
    " --count --left-only --right-only --cherry --cherry-mark --ancestry-path --children --parents --pickaxe-all"
    " --pickaxe-regex",
)
_OPTIONS = {
    "blame": KnownOptions("lfwsetcbpnMC", "L", "--porcelain --line-porcelain --date= --show-name --show-number"),
    "branch": KnownOptions(
        "arvl",
        words="--show-current --list --all --remotes --verbose --contains --merged --no-merged --sort= --format= --no-color",
    ),
    "cat-file": KnownOptions("ptse"),
    "config": KnownOptions(words="--get"),
    "describe": KnownOptions(words="--tags --always --long --abbrev= --match= --dirty --all --exact-match"),
    "diff": _LOG,
    "for-each-ref": KnownOptions(words="--format= --sort= --count= --contains --merged --no-merged --points-at="),
    "grep": KnownOptions(
        "nilcwvEFPGhHoqIaW0123456789",
        "eABCm",
        "--line-number --ignore-case --files-with-matches --files-without-match --name-only --count --word-regexp"
        " --extended-regexp --fixed-strings --perl-regexp --cached --untracked --heading --break --show-function --and --or --not"
        " --max-depth= --threads= --color= --no-color --invert-match --only-matching",
    ),
    "log": _LOG,
    "ls-files": KnownOptions(
        "mcdosutzkv",
        words="--others --exclude-standard --modified --cached --deleted --stage --error-unmatch --full-name --ignored --unmerged"
        " --killed --directory",
    ),
    "merge-base": KnownOptions("a", words="--all --is-ancestor --fork-point --octopus --independent"),
    "reflog": _LOG,
    "remote": KnownOptions("v", words="--verbose"),
    "rev-list": _LOG,
    "rev-parse": KnownOptions(
        "q",
        words="--show-toplevel --abbrev-ref --short --short= --verify --git-dir --is-inside-work-tree --show-prefix --show-cdup"
        " --absolute-git-dir --all --branches --symbolic-full-name --quiet --git-common-dir",
    ),
    "shortlog": _LOG,
    "show": _LOG,
    "stash": _LOG,
    "status": KnownOptions(
        "sbuvz",
        words="--short --branch --porcelain --porcelain= --long --ignored --untracked-files= --untracked-files --no-renames"
        " --show-stash --ahead-behind --column -uno -unormal -uall",
    ),
    "tag": KnownOptions("ln", words="--list --sort= --contains --points-at --merged --no-merged --format="),
    "worktree": KnownOptions(words="--porcelain"),
}
#: They show what is in files.
_SHOWS_FILES = frozenset({"blame", "cat-file", "diff", "grep", "show"})
_PATCHES = re.compile(
    r"-[^-]*[pucUWSGL]|--(?:patch|cherry.*|word-diff.*|color-words|unified=.*|function-context|check|text|binary)"
)
#: With one of these, other words choose what is listed.
_LISTING = frozenset({"-l", "--list", "--contains", "--merged", "--no-merged", "--points-at"})
#: Members of a repository's own configuration that run nothing and lead nowhere else.
_PLAIN = re.compile(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf"
    r"|longpaths|quotepath|sparsecheckout|sparsecheckoutcone|untrackedcache|abbrev|commentchar|whitespace|protectntfs"
    r"|protecthfs|preloadindex|multipackindex|commitgraph|splitindex)"
    r"|extensions\.(?:objectformat|refstorage|worktreeconfig)"
    r"|(?:user|branch|pull|push|rebase|color|column|gc|init|fetch|advice|commit|rerere|tag|status|index|pack|feature"
    r"|maintenance|versionsort|log|author|committer|checkout|clone|grep|format|help|stash|gui|i18n|notes)\..*"
    r"|blame\.(?:coloring|date|blankboundary|showroot|showemail|markunblamablelines|markignoredlines)"
    r"|merge\.(?:ff|conflictstyle|renames|stat|log)|diff\.(?:algorithm|renames|colormoved|mnemonicprefix|noprefix|renamelimit)"
    r"|remote\..*\.(?:url|fetch|pushurl|push|tagopt|prune|mirror|gh-resolved)|remote\.pushdefault|submodule\.active",
    re.IGNORECASE | re.DOTALL,
)
#: The mode of a repository in an index.
_REPOSITORY = (0o160000).to_bytes(4, "big")
_TIMEOUT = 5.0
#: Bytes of a file with one line.
_MOST = 4096


def reads_by_git(arguments: Sequence[str], *, may_read_files: bool) -> bool:
    """Whether a git command with these arguments only reads, in a repository whose configuration runs nothing."""
    if not arguments or (known := _OPTIONS.get(arguments[0])) is None:
        return False
    name, rest = arguments[0], list(arguments[1:])
    if name in ("stash", "worktree"):
        if not rest or rest[0] not in (("list", "show") if name == "stash" else ("list",)):
            return False
        name, rest = f"{name} {rest[0]}", rest[1:]
    options = [word for word in rest if word.startswith("-") and word != "-" and word != "--"]
    if not all(map(known.hold, options)) or any("%G" in word for word in rest):
        return False
    others = [word for word in rest if word not in options and word != "--"]
    match name:
        case "branch" | "tag":
            is_fine = not others or not _LISTING.isdisjoint(options)
        case "remote" | "stash list" | "worktree list":
            is_fine = not others
        case "config":
            is_fine = options == ["--get"] and len(others) == 1 and rest[0] == "--get"
        case "reflog":
            is_fine = not others or others[0] == "show"
        case _:
            is_fine = True
    if may_read_files:
        return is_fine
    shows = name in _SHOWS_FILES or name == "stash show" or any(map(_PATCHES.match, options))
    return is_fine and not shows


def is_plain_repository(folder: Path, search_path: str) -> bool:
    """Whether git runs no program but itself there because of what is in the repository. True where there is none."""
    import subprocess  # asyncio has it already

    environ = {"PATH": search_path, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "HOME": os.devnull}
    environ |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.bareRepository", "GIT_CONFIG_VALUE_0": "explicit"}

    def ask(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", *arguments],
                cwd=folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_TIMEOUT,
                check=False,
            )
        except (OSError, ValueError, subprocess.SubprocessError):
            return None
        return os.fsdecode(done.stdout) if not done.returncode else None

    places = ask("rev-parse", "--show-toplevel", "--absolute-git-dir")
    if places is None:
        # None here, or one that git itself refuses to look at.
        return not any(os.path.lexists(parent / ".git") for parent in (folder, *folder.parents))
    top, directory = places.split("\n")[:2]
    if os.path.lexists(os.path.join(top, ".gitmodules")) or not _belongs(Path(top), Path(directory)):  # noqa: PTH118 - text
        return False
    if _holds_repositories(Path(directory)) or _leads_elsewhere(Path(directory)):
        return False
    names = ask("config", "--list", "--name-only", "--show-scope", "-z")
    if names is None:
        return False
    scoped = names.split("\0")
    return all(
        scope == "command" or _PLAIN.fullmatch(name) is not None for scope, name in zip(scoped[::2], scoped[1::2], strict=False)
    )


def _holds_repositories(directory: Path) -> bool:
    """Whether the index names another repository, whose own configuration git would use. Rather too often than too seldom."""
    try:
        indexes = [read_bytes(path) for path in (directory / "index", *directory.glob("sharedindex.*")) if path.exists()]
    except (OSError, ToolFailed):  # a pipe would never end
        return True
    return any(_REPOSITORY in index for index in indexes)


def _leads_elsewhere(directory: Path) -> bool:
    """Whether objects or references of another repository would be shown: by a link, as alternates, as the common directory."""
    common = directory
    if os.path.lexists(directory / "commondir"):
        common = directory.parent.parent
        # Of a worktree, git writes no other.
        if directory.parent.name != "worktrees" or _line_of(directory / "commondir") != "../..":
            return True
    if os.path.lexists(common / "objects" / "info" / "alternates"):
        return True
    folders = {directory, common, common / "objects", common / "objects" / "info", common / "objects" / "pack"}
    try:
        return any(map(_has_link, folders)) or any(_has_link(Path(folder)) for folder, _, _ in os.walk(common / "refs"))
    except OSError:
        return True


def _has_link(folder: Path) -> bool:
    """But for hooks, which no command that only reads runs."""
    if not folder.is_dir():
        return False
    with os.scandir(folder) as entries:
        return any(entry.is_symlink() and entry.name != "hooks" for entry in entries)


def _line_of(path: Path) -> str:
    """Empty for what is not a short text file."""
    try:
        return read_bytes(path, _MOST).decode().strip()
    except (OSError, ValueError, ToolFailed):
        return ""


def _belongs(top: Path, directory: Path) -> bool:
    """Whether a repository is below the directory, or knows it as one of its worktrees."""
    if directory == top / ".git":
        return True
    back = _line_of(directory / "gitdir")
    return bool(back) and os.path.realpath(back) == os.path.realpath(top / ".git")
