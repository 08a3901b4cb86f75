"""A session on disk -> its conversation: resume, continue, fork, rewind.

The messages are those of the newest client (`stenograph.messages`), with reminders in the role `system` as the user's words,
which every endpoint accepts. A rewind appends from the line before a prompt and leaves the rest in the file. What a session
lacks to be resumed (results of interrupted calls, an answer) is written into it with the first new line, as the newest client
would send it (rules 41, 42).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import uuid4

import msgspec

from stenograph.agent.context.models import called_name
from stenograph.agent.engine.conversation import Conversation, without_thinking
from stenograph.agent.engine.options import AgentOptions
from stenograph.agent.engine.sendable import sendable
from stenograph.agent.recording.opening import KnownFile, OpenedSession, new_envelope, refuse_used, session_path
from stenograph.agent.recording.recorder import Recorder
from stenograph.agent.recording.rewinding import Chosen, choose, latest_time, whole
from stenograph.archive import Archive, default_archive_folder, refuse_open
from stenograph.disk import find_project_folders, projects_folder
from stenograph.errors import SessionNotFoundError, UsageError
from stenograph.family import SessionFile, list_project
from stenograph.graph import Graph, build_graph, choose_leaf, walk_chain
from stenograph.inputs import HUMAN, InputKind, classify, input_at
from stenograph.messages import NO_LINE, Message, message_habits, messages_of, select, with_attachments
from stenograph.model import TOKEN_COUNTS
from stenograph.records import (
    NOTIFICATION,
    REMOVE,
    SYNTHETIC,
    AssistantRecord,
    AttachmentRecord,
    ChainedRecord,
    CompactBoundaryRecord,
    Envelope,
    Json,
    Position,
    Record,
    ToolUseBlock,
    UserRecord,
    change,
    decode,
    file_history_of,
    gc_paused,
    moment,
    peek,
    read_all_records,
    without_halves,
    write,
)
from stenograph.releases import NEWEST
from stenograph.sessions import glance, resolve
from stenograph.surgery import apply_clone, plan_clone

_BEGINS_A_TURN = HUMAN | {InputKind.NOTIFICATION, InputKind.COMPACTION_SUMMARY}
_REMINDER = "<system-reminder>"
_END_OF_REMINDER = "</system-reminder>"
#: Of the end of a conversation that is kept to be shown: turns, and lines of the longest one beside its prompt.
_LAST_TURNS = 20
_LAST_LINES = 400


def open_again(options: AgentOptions) -> OpenedSession:
    """Raises SessionNotFoundError, AmbiguousSessionError, BusyError, UnreadableError, UsageError."""
    path = resolve(options.resume, [options.home]).path if options.resume else newest_here(options)
    title = options.name or glance(path).custom_title or ""
    with gc_paused():
        if options.fork:
            chosen = choose(path, options)
            path = fork(path, chosen.graph, options)
            with _held(path, new_envelope(options, path.stem)) as recorder:
                opened = _take_up(recorder, whole(path), asked=options.model)
        else:
            if options.session_id:
                raise UsageError("--session-id is for new sessions", hint="add --fork-session to continue in a copy with that id")
            _refuse_elsewhere(path, options)
            # Locked before reading, so that nothing another writer adds is missed.
            with _held(path, new_envelope(options, path.stem)) as recorder:
                chosen = choose(path, options)
                opened = _take_up(recorder, chosen, asked=options.model)
    opened.restore = chosen.prompt if options.restore_files else ""
    opened.recorder.title = title
    return opened


@contextlib.contextmanager
def _held(path: Path, envelope: Envelope) -> Iterator[Recorder]:
    recorder = Recorder(path, envelope)
    recorder.hold()
    try:
        yield recorder
    except BaseException:
        recorder.close()
        raise


def take_up(path: Path, envelope: Envelope, *, asked: str) -> OpenedSession:
    """Resume a subagent's file with the model `asked` for or its own. Raises UnreadableError, UsageError."""
    with _held(path, envelope) as recorder:
        # Sidechain lines, which no client resumes as a session, are the conversation here.
        own = [msgspec.structs.replace(one, record=_as_main(one.record)) for one in read_all_records(path)]
        chosen = Chosen(graph=build_graph([(path, "", own)]), file_history=file_history_of(path))
        return _take_up(recorder, chosen, asked=asked)


def newest_here(options: AgentOptions) -> Path:
    """The newest session of this directory, without subagents' and empty ones (rule 9)."""
    cwd = str(options.cwd)
    found: list[SessionFile] = []
    for folder in find_project_folders(projects_folder(options.home), cwd):
        found += [file for file in list_project(folder).sessions if file.size and file.named_by_uuid]
    for file in sorted(found, key=lambda file: file.mtime_ns, reverse=True):
        seen = glance(file.path)
        # Folders may share a name: what the lines say counts. A client that was only started leaves a file without a prompt.
        if (seen.steps or not seen.steps_exact) and not seen.all_sidechain and seen.cwd in (None, cwd):
            return file.path
    raise SessionNotFoundError(f"no session to continue in {cwd}", hint="start one without --continue")


def _refuse_elsewhere(path: Path, options: AgentOptions) -> None:
    """By path a session is resumed anywhere; by id only in its own directory (rule 1)."""
    refuse_open([path])
    if options.go_on or options.resume == str(path):
        return
    if other := other_directory_of(path, options):
        raise UsageError(
            f"that session belongs to {other}", hint="resume it there, or add --fork-session to continue in a copy here"
        )


def other_directory_of(path: Path, options: AgentOptions) -> str:
    """The directory that a session belongs to; empty if that is this one."""
    if path == session_path(options, path.stem):
        return ""
    cwd = glance(path).cwd
    return cwd if cwd is not None and cwd != str(options.cwd) else ""


def _take_up(recorder: Recorder, chosen: Chosen, *, asked: str) -> OpenedSession:
    path, graph, envelope = recorder.path, chosen.graph, recorder.envelope
    recorder.go_on_from(None, last_ms=chosen.last_ms or latest_time(graph.records))
    if chosen.prompt:
        recorder.begin_branch()
        if not graph.records:
            recorder.cut_torn_tail()
            return OpenedSession(recorder=recorder, conversation=Conversation(), file_history=chosen.file_history)
    _keep_notifications(graph)
    selection = select(graph, NEWEST, message_habits(NEWEST))
    # The endpoint has cached what the model wrote.
    resume = messages_of(selection, NEWEST, keep_numbers=True)
    leaf = choose_leaf(selection.graph, NEWEST)
    if resume.messages is None or leaf < 0:
        raise UsageError(f"{path} has no conversation to resume", hint=f"steno check {path}")
    chain = [selection.graph.records[node] for node in walk_chain(selection.graph, leaf)]
    tip = next(
        (
            record.uuid
            for record in reversed(chain)
            if isinstance(record, ChainedRecord) and isinstance(record.uuid, str) and record.uuid
        ),
        None,
    )
    if envelope.agent_id is None and (slug := _slug_of(chain)):
        envelope.slug = slug
    recorder.cut_torn_tail()
    recorder.go_on_from(tip, position=last_position(chain))
    records = [selection.graph.records[node] for node in [*selection.before, *selection.nodes]]
    boundaries = [record for record in chain if isinstance(record, CompactBoundaryRecord)]
    model = _last_model(records)
    messages = as_user_words(resume.messages)
    with recorder.deferring():
        _complete(recorder, records, messages, resume.messages[-1:])
    if asked and model and called_name(asked) != called_name(model):
        messages = without_thinking(messages)
    return OpenedSession(
        recorder=recorder,
        conversation=Conversation(messages),
        file_history=chosen.file_history,
        model=model,
        # Counts before a compaction don't apply any more.
        tokens=_last_tokens(live := [selection.graph.records[node] for node in selection.nodes]),
        read_files=_read_files(live),
        last_turns=_last_turns([*records[: len(selection.before)], *boundaries[-1:], *live]),
    )


def _keep_notifications(graph: Graph) -> None:
    """Send background notifications as the user's words.

    The newest client sends them in its own reminder, which `stenograph.messages` omits: an answer to nothing would remain.
    """
    graph.records = [
        change(record, "origin", REMOVE)
        if isinstance(record, UserRecord) and record.origin and record.origin.get("kind") == NOTIFICATION
        else record
        for record in graph.records
    ]


def _complete(recorder: Recorder, records: Sequence[Record], messages: Sequence[Json], end: Sequence[Message]) -> None:
    """Write what the newest client adds at the end of a conversation."""
    answered = {block["tool_use_id"] for record in records for block in _results_of(record)}
    lines = {block.id: record.uuid for record in records if isinstance(record, AssistantRecord) for block in _uses_of(record)}
    for message in messages:
        # Not only at the end: unanswered calls before answered ones of the last turn get a result too (rule 42).
        for block in message["content"]:
            if block.get("type") == "tool_result" and block["tool_use_id"] not in answered:
                source = lines.get(block["tool_use_id"])
                recorder.result(block, structured=f"Error: {block.get('content')}", source=source or recorder.tip or "")
    if any(message.role == "assistant" and NO_LINE in message.nodes for message in end):
        last = messages[-1]["content"]
        recorder.synthetic("".join(block["text"] for block in last if block.get("type") == "text"))


def as_user_words(messages: Sequence[Message]) -> list[Json]:
    """User and assistant messages only, with nothing that an endpoint refuses."""
    plain: list[Json] = []
    for message in sendable([_as_user(message) for message in messages]):
        role, content = message["role"], message["content"]
        if plain and role == "user" and plain[-1]["role"] == "user":
            joined = sorted([*plain[-1]["content"], *content], key=lambda block: block.get("type") != "tool_result")
            plain[-1] = {"role": role, "content": joined}
        elif content:
            plain.append({"role": role, "content": content})
    return plain


def with_attached(content: Sequence[Json], lines: Sequence[Json], model: str) -> list[Json]:
    """The user's content since the last answer, with the attachments that lines hold, as a resume would send both."""
    records = [record for line in lines if isinstance(record := decode(write.encode_line(line)), AttachmentRecord)]
    (message,) = as_user_words(with_attachments(content, records, model))
    return list(message["content"])


def _as_user(message: Message) -> Json:
    if message.role != "system":
        return {"role": message.role, "content": message.content}
    return {"role": "user", "content": [{**block, "text": _wrapped(block["text"])} for block in message.content]}


def _wrapped(text: str) -> str:
    is_wrapped = text.startswith(_REMINDER) and text.rstrip().endswith(_END_OF_REMINDER)
    return text if is_wrapped else f"{_REMINDER}\n{text}\n{_END_OF_REMINDER}"


def _as_main(record: Record) -> Record:
    return change(record, "isSidechain", False) if isinstance(record, ChainedRecord) and record.isSidechain else record


def last_position(chain: Sequence[Record]) -> Position | None:
    """The position of a chain's last turn; None if its first line does not say (rule 62)."""
    for place in range(len(chain) - 1, -1, -1):
        record = chain[place]
        if not isinstance(record, UserRecord):
            continue
        if said := record.turnPosition:
            prompt, turn = said.get("promptIndex"), said.get("turnIndex")
            return Position(prompt, turn) if isinstance(prompt, int) and isinstance(turn, int) else None
        # A command has a position only if the model answers it.
        understood = input_at(chain, place)
        if understood is not None and understood.kind in _BEGINS_A_TURN:
            return None
    return Position()


def _results_of(record: Record) -> list[Json]:
    if not isinstance(record, UserRecord) or not isinstance(record.content, tuple):
        return []
    return [{"tool_use_id": use} for block in record.content if isinstance(use := getattr(block, "tool_use_id", None), str)]


def _uses_of(record: AssistantRecord) -> list[ToolUseBlock]:
    return [block for block in record.content or () if isinstance(block, ToolUseBlock) and isinstance(block.id, str)]


def _slug_of(chain: Sequence[Record]) -> str:
    return next((slug for record in reversed(chain) if isinstance(slug := getattr(record, "slug", None), str)), "")


def _last_turns(records: Sequence[Record]) -> list[Record]:
    """From a prompt on, if there is one; of a turn that is too long, its prompt and its end."""
    first, turns, end = 0, 0, max(0, len(records) - _LAST_LINES)
    for place in range(len(records) - 1, -1, -1):
        record = records[place]
        if isinstance(record, UserRecord) and classify(record).kind in _BEGINS_A_TURN:
            if turns and place < end:
                break
            first, turns = place, turns + 1
            if turns == _LAST_TURNS:
                break
    return [*records[first : first + 1], *records[max(first + 1, end) :]]


def _last_model(records: Sequence[Record]) -> str:
    for record in reversed(records):
        model = record.message.model if isinstance(record, AssistantRecord) and record.message else None
        if isinstance(model, str) and model != SYNTHETIC:
            return without_halves(model)
    return ""


def _last_tokens(records: Sequence[Record]) -> int:
    for record in reversed(records):
        if isinstance(record, AssistantRecord) and record.message and record.message.model != SYNTHETIC:
            usage = record.message.usage
            return sum(value for name in TOKEN_COUNTS if isinstance(value := getattr(usage, name, None), int))
    return 0


def _read_files(records: Sequence[Record]) -> list[KnownFile]:
    """As 2.1.325 rebuilds what it has read when it resumes."""
    found: dict[Path, KnownFile] = {}
    for record in records:
        if not isinstance(record, UserRecord) or not (shown := peek.shown_file(record.toolUseResult_raw)):
            continue
        name, is_whole = shown
        time = moment(record.timestamp)
        if time is not None and isinstance(record.cwd, str):
            path = Path(record.cwd) / name
            if is_whole is None:
                is_whole = path in found and found[path].is_whole
            found[path] = KnownFile(path, time.timestamp(), is_whole)
    return list(found.values())


def fork(path: Path, graph: Graph, options: AgentOptions) -> Path:
    session_id = options.session_id or str(uuid4())
    target = session_path(options, session_id)
    refuse_used(target, session_id)
    leaf = choose_leaf(graph, NEWEST)
    record = graph.records[leaf] if leaf >= 0 else None
    if not isinstance(record, ChainedRecord) or not record.uuid:
        raise UsageError(f"{path} has no conversation to fork", hint=f"steno check {path}")
    plan = plan_clone(path, at=record.uuid, to_project=target.parent, new_id=session_id, as_fork=True)
    apply_clone(plan, Archive(default_archive_folder(options.environ)))
    return target
