"""A session -> files: one document, or a directory of steps that grows with the session.

A directory of steps is only ever appended to. What it holds must be how the session begins, so two sessions never mix.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from stenograph.disk import append_lines, make_folder, read_lines, read_whole, write_user_file
from stenograph.errors import UsageError
from stenograph.records import Record, parse, to_text
from stenograph.redact import Mask, as_is, mask_json
from stenograph.sessions import Follower, Update, describe, session_at
from stenograph.turns import steps
from stenograph.views.encode import encode_page
from stenograph.views.masking import mask_page
from stenograph.views.pages.export import ExportedMetadata, ExportedStep, ExportPage, exported_status, exported_step
from stenograph.views.pages.page import FileSizePage

if TYPE_CHECKING:
    from stenograph.family import Family, SessionFile
    from stenograph.turns import Session

FORMATS = ("html", "md", "json", "messages", "steps", "zip")
_EVERYTHING = 1 << 60


def export_text(
    session: Session,
    file: SessionFile,
    form: str,
    mask: Mask,
    styles: str = "",
    copies: Collection[int] = (),
    family: Family | None = None,
) -> Iterator[bytes]:
    """A session as one document. `form` is one of `FORMATS` but `steps`; `styles` are for `html`, `copies` as for `session_page`,
    `family` as for `zip_files`.

    Raises UnreadableError.
    """
    from stenograph.sessions import choose_branch

    branch = choose_branch(session, None)
    if form in ("html", "md"):
        from stenograph.views.pages.timeline_turns import Timeline

        page = mask_page(Timeline(session, branch, title=session.title, copies=copies).page(), mask)
        if form == "md":
            from stenograph.views.markdown import render_markdown

            yield render_markdown(page).encode(errors="replace")
        else:
            from stenograph.views.html.export import render_export

            yield render_export(page, styles).encode(errors="replace")
    elif form == "json":
        from stenograph.views.pages.session import session_page

        document = session_page(session, branch, title=session.title, full=True, copies=copies)
        yield encode_page(mask_page(document, mask)) + b"\n"
    elif form == "zip":
        yield zip_files(file.path, mask, family)
    else:
        yield from _messages(file, mask)


def zip_files(path: Path, mask: Mask, family: Family | None = None) -> bytes:
    """The session's own files as they are below its project's directory: what is masked changes its line, and nothing else does.

    `family`: its files; None for all that belong to it.

    Raises UnreadableError.
    """
    import io
    import zipfile

    from stenograph.family import read_family

    family = read_family(path) if family is None else family
    metas = [agent.meta for agent in family.agents if agent.meta]
    files = [path, *(agent.path for agent in family.agents), *metas, *family.tool_results, *family.others]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in dict.fromkeys(files):
            if file.is_relative_to(path.parent):
                name = zipfile.ZipInfo(file.relative_to(path.parent).as_posix())
                archive.writestr(name, _masked_file(file, mask), zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _masked_file(path: Path, mask: Mask) -> bytes:
    if mask is as_is:
        return read_whole(path)
    if path.suffix == ".jsonl":
        return b"".join(_masked_line(line.data, mask) + (b"\n" if line.ended else b"") for line in read_lines(path))
    # As one text: a secret may be on several lines.
    return _masked_text(read_whole(path), mask)


def _masked_line(line: bytes, mask: Mask) -> bytes:
    """A record with its secrets masked; as it is where it has none."""
    try:
        value = parse(line)
        masked = mask_json(value, mask)
        return line if masked == value else to_text(masked)
    except (RecursionError, ValueError):
        return _masked_text(line, mask)


def _masked_text(text: bytes, mask: Mask) -> bytes:
    return mask(text.decode(errors="surrogateescape")).encode(errors="surrogateescape")


def _messages(file: SessionFile, mask: Mask) -> Iterator[bytes]:
    from stenograph.messages import read_for_resume, resume_messages
    from stenograph.records import gc_paused
    from stenograph.releases import NEWEST
    from stenograph.sessions import as_unreadable
    from stenograph.views.encode import encode_long
    from stenograph.views.pages.messages import message_pages, messages_page

    with as_unreadable(file.path), gc_paused():
        graph = read_for_resume(file.path, NEWEST)
        resume = resume_messages(graph, NEWEST)
    heading = messages_page(file.session_id, str(file.path), resume)
    yield from encode_long(heading, (mask_page(message, mask) for message in message_pages(resume, graph)))
    yield b"\n"


class StepsExport:
    """A directory with `steps.jsonl` and `metadata.json` of one session."""

    def __init__(self, file: SessionFile, folder: Path, mask: Mask) -> None:
        self._file = file
        self._mask = mask
        self.steps_file = folder / "steps.jsonl"
        self.metadata_file = folder / "metadata.json"
        self._follower = Follower(file.path)
        self._known = _read_known(self.steps_file)
        self._count = 0
        self._tool_calls = 0
        #: The session was cleared, deleted or rewritten: nothing more will come.
        self.is_over = False

    def start(self) -> ExportPage:
        """Write what is there. Raises UsageError where the directory holds something else, DiskError."""
        make_folder(self.steps_file.parent)
        return self._write(self._follower.start(_EVERYTHING))

    def poll(self) -> ExportPage | None:
        """Append what came since the last look; None for nothing. Raises DiskError."""
        updates = self._follower.poll()
        return self._write(updates) if updates else None

    def _write(self, updates: Iterable[Update]) -> ExportPage:
        fresh = self._new_steps(list(_own_records(updates, self._end)))
        if fresh:
            append_lines(self.steps_file, [encode_page(step) for step in fresh], create=not self.steps_file.exists())
        write_user_file(self.metadata_file, encode_page(mask_page(self._metadata(), self._mask)) + b"\n")
        sizes = tuple(
            FileSizePage(str(path), path.stat().st_size) for path in (self.steps_file, self.metadata_file) if path.exists()
        )
        return ExportPage(self._file.session_id, str(self._file.path), "steps", sizes, self._count, len(fresh))

    def _end(self) -> None:
        self.is_over = True

    def _new_steps(self, records: list[Record]) -> list[ExportedStep]:
        fresh: list[ExportedStep] = []
        for step in steps(records, self._mask):
            self._count += 1
            self._tool_calls += len(step.tool_calls)
            exported = exported_step(step, self._count, self._file.session_id, self._mask)
            if self._count > len(self._known):
                fresh.append(exported)
            elif self._known[self._count - 1] != (exported.session_id, exported.raw_uuid):
                raise _other(self.steps_file)
        if self._count < len(self._known):
            raise _other(self.steps_file)
        return fresh

    def _metadata(self) -> ExportedMetadata:
        info = describe(session_at(self._file.path))
        status = exported_status(info.status)
        return ExportedMetadata(
            session_id=info.id,
            agent_type="claude",
            name=info.title or "",
            project_path=info.cwd or "",
            source_file=str(info.path),
            started_at=info.created,
            ended_at=None if status == "running" else info.last_record,
            last_activity=info.last_record,
            status=status,
            step_count=self._count,
            tool_call_count=self._tool_calls,
        )


def _own_records(updates: Iterable[Update], end: Any) -> Iterator[Record]:
    """The records of the session's own file, up to where it ends or is rewritten."""
    for update in updates:
        if update.kind in ("cleared", "gone", "cut"):
            end()
            return
        if update.kind == "record" and not update.agent_id and update.record is not None:
            yield update.record


def _read_known(path: Path) -> list[tuple[str, str]]:
    """Of each step that was written before, its session and record. Raises UsageError."""
    if not path.exists():
        return []
    try:
        found = [msgspec.json.decode(line.data, type=ExportedStep) for line in read_lines(path) if line.data.strip()]
    except msgspec.DecodeError as error:
        raise _other(path) from error
    return [(step.session_id, step.raw_uuid) for step in found]


def _other(path: Path) -> UsageError:
    return UsageError(f"{path} does not belong to this session as it is now; use another directory")
