"""How traces are set up, and a change of the client's settings that installs or removes the hooks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import asdict

from stenograph.archive import Entry
from stenograph.client_settings import SettingsChange
from stenograph.config import Content, TraceConfig
from stenograph.redact import Masker
from stenograph.views.pages.changing import CommandLine
from stenograph.views.pages.page import Document, Page


class DestinationPage(Page, frozen=True):
    """A receiver of traces."""

    name: str
    kind: str
    endpoint: str


class TraceSettingsPage(Page, frozen=True):
    """What traces hold."""

    project: str
    """The project's name at the receiver."""
    environment: str | None
    user: str | None
    tags: tuple[str, ...]
    redact: bool
    """Secrets are masked."""
    shape: str
    content: dict[str, int]
    """Maximum number of characters of each kind of text; 0: none of it is sent."""
    changed_content: tuple[str, ...]
    """The members of `content` that are not as usual."""


class TracePage(Document, frozen=True, tag="trace/1"):
    """`steno trace`: which settings hold the hooks, where traces go, and what they hold."""

    config_file: str | None
    directory: str
    """Our own state of traces."""
    is_off: bool
    """`$STENO_TRACE_OFF` is set."""
    installed: tuple[str, ...]
    """The client's settings that hold the hooks."""
    destinations: tuple[DestinationPage, ...]
    settings: TraceSettingsPage | None
    """Null while everything is off."""
    problem: str | None
    """Why nothing is sent."""
    notes: tuple[str, ...]


class SettingsChangePage(Document, frozen=True, tag="trace-install/1"):
    """`steno trace install` and `uninstall`: what becomes of the client's settings."""

    action: str
    """`install` or `uninstall`."""
    path: str
    changed: bool
    """False: there is nothing to do."""
    applied: bool
    diff: tuple[str, ...]
    """Lines of a unified diff, secrets masked."""
    warnings: tuple[str, ...]
    entry: int | None
    """Its number in the journal; null where nothing was written."""
    next: tuple[str, ...]
    """What is left to do, as lines for a person."""
    undo: str | None
    """The command that takes it back."""


def trace_page(
    config: TraceConfig, config_file: Path | None, folder: Path, *, installed: Sequence[Path], notes: Sequence[str], missing: str
) -> TracePage:
    """`missing`: what to say where there is no destination."""
    return TracePage(
        config_file=None if config_file is None else str(config_file),
        directory=str(folder),
        is_off=config.is_off,
        installed=tuple(map(str, installed)),
        destinations=tuple(DestinationPage(each.name, each.kind.value, each.endpoint) for each in config.destinations),
        settings=None if config.is_off else _settings(config),
        problem="everything is off: STENO_TRACE_OFF is set" if config.is_off else None if config.destinations else missing,
        notes=tuple(notes),
    )


def settings_change_page(
    action: str, change: SettingsChange, steps: Sequence[str], again: CommandLine, *, entry: Entry | None, applied: bool
) -> SettingsChangePage:
    mask = Masker().mask  # settings may hold keys beside what is changed
    return SettingsChangePage(
        action=action,
        path=str(change.path),
        changed=not change.is_empty,
        applied=applied,
        diff=tuple(mask(line) for line in change.diff()),
        warnings=change.warnings,
        entry=entry.number if entry else None,
        next=tuple(steps),
        undo=again("undo", "--entry", str(entry.number)) if entry else None,
    )


def _settings(config: TraceConfig) -> TraceSettingsPage:
    content, usual = asdict(config.content), asdict(Content())
    return TraceSettingsPage(
        project=config.project,
        environment=config.environment or None,
        user=config.user or None,
        tags=config.tags,
        redact=config.redact,
        shape=config.shape.value,
        content=content,
        changed_content=tuple(name for name, length in content.items() if length != usual[name]),
    )
