"""One conversation -> lines in its file, each written before the next step.

The chain is linear, parallel calls included, so that every release reads all of it (rule 59); nothing hangs off a progress
line. Times strictly increase (rule 19). The file is locked from the first line on. Without fsync: a crash of the machine may
cost the last lines, `kill -9` costs none.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from stenograph.disk import LockedFile, append_lines, lock, make_folder, read_ends, read_whole
from stenograph.errors import BusyError
from stenograph.records import Envelope, Json, Position, begins_with_a_value, write

#: Bytes. Readers look for titles and the last prompt in the last 64 KiB, so they are repeated.
ANCHOR_EVERY = 48 * 1024
#: Seconds to wait for a short-lived writer.
_PATIENCE = 1.0

#: In milliseconds. A session that is already there stays there.
_LATEST_MS = 253_402_300_799_999
_FIRST = Position()


class Recorder:
    """The one writer of a conversation's file."""

    def __init__(self, path: Path, envelope: Envelope) -> None:
        self.path = path
        self.envelope = envelope
        #: The parent of the next line; None at the root.
        self.tip: str | None = None
        #: The line before the tip, where that only says how long a turn took.
        self._said: str | None = None
        #: Of the last turn; None if the chain does not say, and then no later one does (rule 62).
        self.position: Position | None = Position()
        self.prompt_id = str(uuid4())
        self.title = ""
        #: Called for every line of the chain.
        self.watch: Callable[[Json], None] | None = None
        self._last_ms = 0
        self._last_prompt = ""
        self._since_anchor = 0
        self._chained = 0
        #: The last line of the chain.
        self._last: Json = {}
        #: Written with the next line of the chain, behind it.
        self._after_next: list[Json] = []
        #: Written with the next line of the chain, before it.
        self._ahead: list[Json] = []
        #: Lines of the chain wait for the next one outside `deferring`.
        self._is_deferring = False
        #: The last prompt was taken back, and nothing was written since.
        self.is_withdrawn = False
        self._held = contextlib.ExitStack()
        self._file: LockedFile | None = None

    def hold(self) -> None:
        """Lock an existing file. Raises BusyError."""
        try:
            self._file = self._held.enter_context(lock(self.path, timeout=_PATIENCE))
        except BusyError as error:
            raise BusyError(
                f"{self.path} is in use by another writer",
                hint="end that one, or add --fork-session to continue in a copy",
                path=self.path,
            ) from error

    def go_on_from(self, tip: str | None, *, last_ms: int = 0, position: Position | None = _FIRST) -> None:
        """`last_ms`: the next line is later than this, in milliseconds."""
        self.tip, self.position = tip, position
        self._last_ms = max(self._last_ms, last_ms)

    def cut_torn_tail(self) -> None:
        """Remove an incomplete last line of the locked file.

        A newline behind it would not do: the newest client reads on to the line that ends the object, and loses all in between
        (rule 15).
        """
        if self._file is None or not read_ends(self._file.path, 0, 1).torn:
            return
        state = self._file.state()
        data = read_whole(self._file.path)
        whole = data.rfind(b"\n") + 1
        # A whole object with more behind it is read up to there.
        if not begins_with_a_value(data[whole:]):
            self._file.replace(data[:whole], expect=state)

    def close(self) -> None:
        self._held.close()
        self._file = None

    @property
    def is_begun(self) -> bool:
        return self._file is not None

    def now(self) -> str:
        """Later than the line before by at least a millisecond."""
        self._last_ms = min(max(time.time_ns() // 1_000_000, self._last_ms + 1), _LATEST_MS)
        moment = datetime.fromtimestamp(self._last_ms // 1000, UTC)
        return f"{moment.isoformat()[:19]}.{self._last_ms % 1000:03d}Z"

    # Lines of the chain

    def prompt(
        self, content: str | list[Json], *, permission_mode: str, snapshot: Json | None = None, uuid: str | None = None
    ) -> str:
        """A prompt, and the state of the files that it starts with.

        Clients mostly write the state first; but a line outside the chain belongs to the release of the chained line before it.
        """
        self._begin_turn(prompts=1)
        self._last_prompt = plain_text(content)
        members = write.prompt_members(
            self.envelope, content, prompt_id=self.prompt_id, permission_mode=permission_mode, position=self.position
        )
        return self._chain([members], after=[snapshot] if snapshot else [], uuids=[uuid or str(uuid4())])[0]

    def notification(self, content: str, *, permission_mode: str) -> str:
        self._begin_turn(prompts=0)
        members = write.notification_members(
            self.envelope, content, prompt_id=self.prompt_id, permission_mode=permission_mode, position=self.position
        )
        return self._chain([members])[0]

    def meta(self, content: str | list[Json], *, is_companion: bool = False, source: str = "") -> str:
        """`is_companion`: it belongs to the prompt or the result before it; `source` is the call of that result."""
        members = write.meta_members(self.envelope, content, prompt_id=self.prompt_id, is_companion=is_companion, source=source)
        return self._chain([members])[0]

    def note(self, body: Json) -> None:
        """An attachment that no model reads; 2.0 has none of it."""
        if not self.envelope.is_old:
            self._chain([write.attachment_members(body, [])])

    def beside_turn(self, content: str) -> str:
        """What the user did without asking the model: a shell command, its output."""
        return self._chain([write.beside_members(self.envelope, content, prompt_id=self.prompt_id)])[0]

    def attachment(self, body: Json, rendered: Sequence[str]) -> Json:
        """Words that nobody typed as a prompt, in a form that readers know. Returns the line. Not for 2.0, which writes none."""
        self._chain([write.attachment_members(body, rendered)])
        return self._last

    def delivery(self, body: Json, rendered: Sequence[str], text: str) -> Json:
        """What was queued and goes into the turn under way, in one write with its end in the queue."""
        taken = write.queue_delivery(
            text,
            session_id=self.envelope.session_id,
            timestamp=self.now(),
            uuid=body["source_uuid"],
            delivery_id=body["delivery_id"],
        )
        self._chain([write.attachment_members(body, rendered)], after=[taken])
        return self._last

    def response(
        self,
        message: Json,
        blocks: Sequence[Json],
        *,
        request_id: str,
        requested_model: str,
        input_ms: Mapping[str, int] | None = None,
        more: Json | None = None,
    ) -> list[str]:
        """One line a block, all in one write: whole in the file or not at all. `input_ms`: by the id of a call."""
        return self._chain(
            [
                write.answer_members(
                    self.envelope,
                    message,
                    block,
                    index=index,
                    request_id=request_id,
                    requested_model=requested_model,
                    input_ms=(input_ms or {}).get(block.get("id", ""), 0),
                    more=more,
                )
                for index, block in enumerate(blocks)
            ]
        )

    def result(
        self,
        block: Json,
        *,
        structured: object,
        source: str,
        denied_by: str = "",
        permission: Json | None = None,
        more: Json | None = None,
    ) -> str:
        """`source` is the line of the call."""
        members = write.result_members(
            self.envelope,
            block,
            prompt_id=self.prompt_id,
            structured=structured,
            source=source,
            denied_by=denied_by,
            permission=permission,
            more=more,
        )
        return self._chain([members])[0]

    def interruption(self, text: str) -> str:
        return self._chain([write.interruption_members(self.envelope, text, prompt_id=self.prompt_id)])[0]

    def synthetic(self, text: str, *, error: str = "", status: int = 0) -> str:
        return self._chain([write.synthetic_members(self.envelope, str(uuid4()), text, error=error, status=status)])[0]

    def api_error(self, *, words: str, status: int, request_id: str, wait: float, attempt: int, max_retries: int) -> None:
        members = write.api_error_members(
            self.envelope,
            words=words,
            status=status,
            request_id=request_id,
            wait=wait,
            attempt=attempt,
            max_retries=max_retries,
        )
        self._chain([members])

    def informational(self, text: str) -> None:
        """For the reader of the file."""
        self._chain([write.informational_members(text, level="warning")])

    def stop_hooks(self, summary: Json) -> None:
        if not self.envelope.is_old:
            self._chain([write.stop_hook_summary_members(summary)])

    def turn_duration(self, duration_ms: int) -> None:
        if not self.envelope.is_old:
            said = self.tip
            self._chain([write.turn_duration_members(duration_ms, self._chained)])
            self._said = said

    def compaction(self, text: str, *, trigger: str, before: int, after: int, took: int) -> str:
        """The boundary, a new root, and the summary, in one write (rule 49). Returns the summary's uuid."""
        is_old = self.envelope.is_old
        boundary = write.boundary_members(
            logical_parent=self.tip, trigger=trigger, before=before, after=None if is_old else after, took=took
        )
        self.tip = None
        knows_turns = not is_old and self.envelope.agent_id is None
        summary = write.summary_members(
            text, prompt_id="" if is_old else self.prompt_id, position=self.position if knows_turns else None
        )
        return self._chain([boundary, summary])[1]

    def progress(self, data: Json, *, tool_use_id: str, parent_tool_use_id: str = "") -> None:
        """2.0 has no such lines: they would cut its chain (rule 24)."""
        if self.envelope.is_old or self.envelope.agent_id is not None:
            return
        tip = self.tip
        self._chain([write.progress_members(data, tool_use_id=tool_use_id, parent_tool_use_id=parent_tool_use_id or tool_use_id)])
        self.tip = tip

    # Lines beside the chain

    def beside(self, record: Json, *, newer: bool = False) -> None:
        """A line outside the chain. `newer`: of a kind unknown to 2.0."""
        if not (newer and self.envelope.is_old):
            self._append([record])

    def queue(self, operation: str, content: str | None = None) -> None:
        session = self.envelope.session_id
        self._append([write.queue_operation(operation, content, session_id=session, timestamp=self.now())])

    def modes(self, permission_mode: str) -> None:
        """In one write with the next line: no file holds them without a prompt.

        Behind it in a resumed session: right behind an older release's lines they would pass for its own.
        """
        session = self.envelope.session_id
        records = [] if self.envelope.is_old else write.modes(permission_mode, session)
        if self.title:
            # At the start, so that a session killed in its first turn has its name.
            records.append(write.custom_title(self.title, session))
        if self.is_begun:
            self._after_next += records
        else:
            self._ahead += records

    def pull_request(self, number: int, url: str, repository: str) -> None:
        session = self.envelope.session_id
        line = write.pull_request(number, url, repository, session_id=session, timestamp=self.now())
        self.beside(line, newer=True)

    def begin_branch(self) -> None:
        """Lines from here on are the live branch (rule 21). Written with the next line."""
        if not self.envelope.is_old:
            self._after_next.append(write.new_end(self.envelope.session_id))

    def mark(self) -> Callable[[], None]:
        """Goes back to this place: what was written since stays in the file, as a branch."""
        tip, said, position, last_prompt = self.tip, self._said, self.position, self._last_prompt

        def withdraw() -> None:
            self.tip, self._said, self.position, self._last_prompt = tip, said, position, last_prompt
            self.begin_branch()
            self.is_withdrawn = True

        return withdraw

    def keep_branch(self) -> bool:
        """Make the branch that begins here the one that clients resume, before anything is said on it.

        2.1.45 goes by the last prompt or answer, so there it holds from the next one on. False at the root: no release resumes a
        branch on which nothing was said.
        """
        if self.tip is None:
            return False
        self._chain([write.informational_members("The conversation was rewound to here.")])
        return True

    @contextlib.contextmanager
    def deferring(self) -> Iterator[None]:
        """Lines of the chain that are written with the next one: a session that is only opened keeps its bytes."""
        self._is_deferring = True
        try:
            yield
        finally:
            self._is_deferring = False

    def anchor(self) -> None:
        """Repeat title and last prompt near the end of the file, where readers look."""
        session = self.envelope.session_id
        records: list[Json] = []
        if self.title:
            records.append(write.custom_title(self.title, session))
        # Not the duration behind the answer: 2.1.45 goes on from the answer, and 2.1.325 would cut off what it adds (rule 21).
        if (leaf := self._said or self.tip) and self._last_prompt and not self.envelope.is_old:
            records.append(write.last_prompt(self._last_prompt, leaf, session))
        if records and self.envelope.agent_id is None:
            self._append(records)
        self._since_anchor = 0

    def _begin_turn(self, *, prompts: int) -> None:
        self.prompt_id = str(uuid4())
        if self.position is not None:
            self.position = Position(self.position.prompt + prompts, self.position.turn + 1)

    def _chain(self, members: Sequence[Json], *, after: Sequence[Json] = (), uuids: Sequence[str] = ()) -> list[str]:
        self._said = None
        self.is_withdrawn = False
        records: list[Json] = []
        names: list[str] = []
        for place, one in enumerate(members):
            uuid = uuids[place] if uuids else str(uuid4())
            records.append(self.envelope.around(one, uuid=uuid, parent=self.tip, timestamp=self.now()))
            self.tip = uuid
            names.append(uuid)
        if self._is_deferring:
            self._ahead += [*records, *after]
        else:
            self._append([*self._ahead, *records, *after, *self._after_next])
            self._ahead, self._after_next = [], []
        self._chained += len(names)
        self._last = records[-1]
        if self.watch is not None:
            for record in records:
                self.watch(record)
        if self._since_anchor > ANCHOR_EVERY:
            self.anchor()
        return names

    def _append(self, records: Sequence[Json]) -> None:
        encoded = [write.encode_line(record) for record in records]
        if self._file is None:
            make_folder(self.path.parent)
            append_lines(self.path, encoded, create=True)
            self.hold()
        else:
            self._file.append_lines(encoded)
        self._since_anchor += sum(map(len, encoded)) + len(encoded)


def plain_text(content: str | list[Json]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block.get("type") == "text")
