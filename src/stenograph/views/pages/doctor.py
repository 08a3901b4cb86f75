"""What is installed, where things are, what is wrong and how to fix it; and the completion script of a shell."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from stenograph import __version__
from stenograph.disk import Finding, projects_folder
from stenograph.sessions import count_projects, find_projects
from stenograph.views.pages.page import Document, FindingPage, Page


class ProblemPage(FindingPage, frozen=True):
    """Something that is wrong, and how to fix it."""

    fix: str


class HomeHealthPage(Page, frozen=True):
    """A Claude config directory."""

    path: str
    exists: bool
    readable: bool
    projects: int
    sessions: int
    empty_sessions: int
    loose_agents: int
    """Files of subagents that are not in a session's own directory."""
    size: int
    """Of all sessions."""


class TracingPage(Page, frozen=True):
    """How traces are sent."""

    config_file: str | None
    installed: tuple[str, ...]
    """Settings files of Claude Code that contain our hooks."""
    destinations: tuple[str, ...]
    is_off: bool
    """`$STENO_TRACE_OFF` is set."""


class TerminalPage(Page, frozen=True):
    """The terminal that shows the output."""

    kind: str | None
    """`$TERM`; null when stdout is not a terminal."""
    columns: int
    encoding: str


class DoctorPage(Document, frozen=True, tag="doctor/1"):
    """`steno doctor`: what is installed, where things are, what is wrong and how to fix it."""

    version: str
    """Of Stenograph."""
    python: str
    executable: str
    platform: str
    config_file: str | None
    """Null if there is none."""
    usual_config_file: str | None
    """Where the config file is looked for."""
    state_directory: str | None
    cache_directory: str | None
    archive_directory: str | None
    """Where originals of edited and removed sessions are kept."""
    index_file: str | None
    """The search index."""
    index_size: int | None
    """In bytes; null if it is not built yet."""
    clients: tuple[str, ...]
    """Clients on `$PATH`."""
    tracing: TracingPage
    terminal: TerminalPage
    homes: tuple[HomeHealthPage, ...]
    problems: tuple[ProblemPage, ...]
    warnings: tuple[ProblemPage, ...]
    """What will be lost unless you act."""


class DemoCopyPage(Document, frozen=True, tag="demo/1"):
    """`steno demo --copy`: a copy of the demo sessions."""

    home: str
    sessions: int
    list: str
    """The command that lists them."""


class Installation(Struct, frozen=True):
    """What runs, and where its own files are."""

    executable: str
    #: The client on `$PATH`.
    client: str | None
    config_file: Path | None
    usual_config_file: Path | None
    state: Path | None
    cache: Path | None
    archive: Path | None
    index: Path | None


def problem(code: str, detail: str, fix: str, path: str | None = None) -> ProblemPage:
    return ProblemPage(code, path, None, detail, fix)


def doctor_page(
    homes: Iterable[Path],
    installed: Installation,
    tracing: TracingPage,
    terminal: TerminalPage,
    known: Sequence[ProblemPage],
    warnings: Sequence[ProblemPage] = (),
) -> DoctorPage:
    """Look at everything; never raises. `known` are problems of the configuration, which whoever read it met."""
    problems = [*known]
    if terminal.encoding.lower().replace("-", "") != "utf8":
        told = f"the output is {terminal.encoding}, not UTF-8"
        problems.append(problem("encoding", told, "Set PYTHONUTF8=1 or a UTF-8 locale"))
    if installed.archive is not None and not _can_be_written(installed.archive):
        problems.append(
            problem(
                "archive", "cannot write to the archive, so nothing can be edited or removed", _WRITABLE, str(installed.archive)
            )
        )
    looked_at = []
    for home in homes:
        page, findings = _home(home)
        looked_at.append(page)
        problems += [_problem(finding) for finding in findings if finding.code not in _NO_PROBLEM]
    return DoctorPage(
        version=__version__,
        python=platform.python_version(),
        executable=installed.executable,
        platform=platform.platform(),
        config_file=_text(installed.config_file),
        usual_config_file=_text(installed.usual_config_file),
        state_directory=_text(installed.state),
        cache_directory=_text(installed.cache),
        archive_directory=_text(installed.archive),
        index_file=_text(installed.index),
        index_size=_size(installed.index) if installed.index else None,
        clients=(installed.client,) if installed.client else (),
        tracing=tracing,
        terminal=terminal,
        homes=tuple(looked_at),
        problems=tuple(problems),
        warnings=tuple(warnings),
    )


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _home(home: Path) -> tuple[HomeHealthPage, list[Finding]]:
    listings, findings = find_projects([home])
    files = [file for listing in listings for file in listing.sessions]
    page = HomeHealthPage(
        path=str(home),
        exists=os.path.isdir(home),  # noqa: PTH112 - never raises
        readable=os.access(projects_folder(home), os.R_OK | os.X_OK),
        projects=count_projects(listings),
        sessions=len(files),
        empty_sessions=sum(not file.size for file in files),
        loose_agents=sum(len(listing.loose_agents) for listing in listings),
        size=sum(file.size for file in files),
    )
    unread = [file.path for file in files if not _may(file.path, os.R_OK)]
    return page, [*findings, *(Finding("unreadable-file", path, detail="it cannot be read") for path in unread)]


def _can_be_written(folder: Path) -> bool:
    """Whether files can be made in a directory, or the directory itself."""
    there = next((each for each in (folder, *folder.parents) if os.path.exists(each)), folder)  # noqa: PTH110 - never raises
    return _may(there, os.W_OK | os.X_OK)


def _may(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


# Somebody put the link there.
_NO_PROBLEM = frozenset({"linked-file"})
_LOOK = "Check it; nothing else is affected"
_READABLE = "Make it readable for this user"
_WRITABLE = "Make it writable for this user"
_FIXES = {
    "unreadable": _READABLE,
    "unreadable-file": _READABLE,
    "unreadable-folder": _READABLE,
    "broken-link": "Delete the link, or restore its target",
    "left-unfinished": "Delete it",
}


def _problem(finding: Finding) -> ProblemPage:
    return problem(finding.code, finding.detail, _FIXES.get(finding.code, _LOOK), _text(finding.path))


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


class CompletionPage(Document, frozen=True, tag="completion/1"):
    """`steno completion`: the script for a shell."""

    shell: str
    """`bash`, `zsh` or `fish`."""
    script: str
