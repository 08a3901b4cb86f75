"""Our clone and edit beside other tools': what they cost, what they keep, and what a real client resumes of it.

In: one long session for time, a few recorded ones for the rest. Out: rows of a table, and figures with bounds for what is ours.
Tokens, files and messages are counted by readers of this module's own, which share no code with the package.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lab.clients import ClientMissing, default_clients_folder, install_client
from lab.oracle import ask, normalise, stored_reminders

from bench.figures import FIXTURES, Figure, ProcessCost
from bench.surgery_tools import Tool, ToolFailed, ccs_cloner, cozempic, our_tools, run_tool
from stenograph.testing.scripted_api import ScriptedApi

CLIENT = "2.1.325"
#: Of each the largest session with sub-agents and the largest without.
RELEASES = ("2.0.76", "2.1.45", "2.1.200", "2.1.325")
ROUNDS = 2

_COUNTED = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_IDS = re.compile(r"\b(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|a?[0-9a-f]{6,8}|a[0-9a-f]{16})\b")

Messages = list[dict[str, Any]]


class Row(NamedTuple):
    """A line of the table: of another tool there is nothing to be missed."""

    text: str
    kept: bool = True

    def __str__(self) -> str:
        return f"       {self.text}"


class Kept(NamedTuple):
    """What is in a session, or in several."""

    size: int = 0
    #: As tools that count cost do: once for each response.
    tokens: int = 0
    agents: int = 0

    def plus(self, other: Kept) -> Kept:
        return Kept(self.size + other.size, self.tokens + other.tokens, self.agents + other.agents)

    def of(self, original: Kept) -> str:
        """In words, beside what there was."""
        return (
            f"{_percent(self.size, original.size)} of the bytes, {_percent(self.tokens, original.tokens)} of the tokens, "
            f"{self.agents} of {original.agents} sub-agent files"
        )


class Resumed(NamedTuple):
    """What a client did with some sessions."""

    sessions: int = 0
    #: Messages of these before the new prompt.
    messages: int = 0
    #: How many sent what the original does, but for ids.
    same: int = 0
    #: How many sent something that the API does not take.
    faulty: int = 0


def compare_tools(long_session: Path, scratch: Path) -> Iterator[Figure | Row]:
    """All rows; `scratch` has room for several copies of the long session."""
    ours_to_clone, ours_to_edit = our_tools()
    client, missing = _client()
    original = resume(client, recorded_sessions()) if client else []
    if client:
        yield _resumed_row("original", count_resumed(original, original), len(original))
    else:
        yield Row(f"what resumes: {missing}")
    for ours, find_theirs, bound in ((ours_to_clone, ccs_cloner, 1.0), (ours_to_edit, cozempic, 0.5)):
        tools, name = [ours], find_theirs.__name__.replace("_", "-")
        try:
            tools.append(find_theirs())
        except ToolFailed as failed:
            yield Row(f"{name}: {failed}")
        costs: dict[str, ProcessCost] = {}
        for tool in tools:
            try:
                yield from _long(tool, long_session, scratch, costs)
                yield from _recorded(tool, scratch, client, original, is_ours=tool is ours)
            except ToolFailed as failed:
                if tool is ours:
                    raise
                yield Row(f"{tool.name}: {failed}")
            shutil.rmtree(scratch / "home", ignore_errors=True)
        if len(costs) > 1:
            mine, theirs = costs[ours.name], costs[tools[1].name]
            note = f"[100 MB; ours {mine.cpu:.2f} s, theirs {theirs.cpu:.2f} s of CPU]"
            yield Figure(f"{ours.name}, time of {tools[1].name} / ours", theirs.cpu / mine.cpu, "x", bound, "at least", note)


def recorded_sessions() -> list[Path]:
    """The sessions that clients are asked about: a few of those that real clients wrote for the tests."""
    chosen = []
    for release in RELEASES:
        files = [path for path in sorted((FIXTURES / release).rglob("*.jsonl")) if not path.name.startswith("agent-")]
        for wanted in (True, False):
            some = [path for path in files if bool(agent_files(path)) is wanted]
            chosen += [max(some, key=lambda path: path.stat().st_size)] if some else []
    return chosen


def agent_files(session: Path) -> list[Path]:
    """The files of a session's sub-agents: in its folder, or (2.0) beside it, where their lines name it."""
    beside = [path for path in session.parent.glob("agent-*.jsonl") if _names(path, session.stem)]
    return [*beside, *session.with_suffix("").rglob("agent-*.jsonl")]


def count_kept(session: Path) -> Kept:
    tokens: dict[object, int] = {}
    agents = agent_files(session)
    for path in (session, *agents):
        with path.open("rb") as lines:
            for line in lines:
                # Most lines hold none, and a long session has a hundred thousand.
                if b'"usage"' in line:
                    _add_usage(tokens, line)
    return Kept(sum(path.stat().st_size for path in (session, *agents)), sum(tokens.values()), len(agents))


def resume(client: Path, sessions: Sequence[Path]) -> list[Messages | None]:
    """What the client sends of each session before the new prompt; None where it refuses."""
    answers: list[Messages | None] = []
    for session in sessions:
        beside = [path for path in session.with_suffix("").rglob("*") if path.is_file()]
        beside += [path for path in agent_files(session) if path.parent == session.parent]
        extra = {path.relative_to(session.parent).as_posix(): path.read_bytes() for path in beside}
        data = session.read_bytes()
        with ScriptedApi() as api:
            answer = ask(client, data, api=api, session_id=session.stem, extra_files=extra)
        keep = stored_reminders(data, rendered=True)
        answers.append(None if answer.messages is None else normalise(answer.messages, keep=keep))
    return answers


def count_resumed(answers: Sequence[Messages | None], originals: Sequence[Messages | None]) -> Resumed:
    sent = [(messages, original) for messages, original in zip(answers, originals, strict=True) if messages is not None]
    return Resumed(
        sessions=len(sent),
        messages=sum(len(messages) for messages, _ in sent),
        same=sum(original is not None and without_ids(messages) == without_ids(original) for messages, original in sent),
        faulty=sum(any(faults(messages)) for messages, _ in sent),
    )


def without_ids(messages: Messages) -> str:
    """Messages as text, with one word in the place of all ids that a clone renews."""
    return _IDS.sub("ID", json.dumps(messages, sort_keys=True))


def faults(messages: Messages) -> Iterator[str]:
    """What the API refuses a conversation for, as far as an edit may bring it about."""
    if messages and messages[0]["role"] != "user":
        yield "does not begin with the user"
    open_calls: set[str] = set()
    for message in messages:
        blocks = message["content"]
        results = {block.get("tool_use_id") for block in blocks if block["type"] == "tool_result"}
        if open_calls - results:
            yield "a call without its result"
        if results - open_calls:
            yield "a result without its call"
        open_calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
        if not blocks or any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            yield "empty content"
        if any(block["type"] == "thinking" and not block.get("signature") for block in blocks):
            yield "thinking without a signature"
    if open_calls:
        yield "a call without its result"


def _client() -> tuple[Path | None, str]:
    try:
        return install_client(default_clients_folder(os.environ), CLIENT), ""
    except ClientMissing as missing:
        return None, str(missing)


def _long(tool: Tool, session: Path, scratch: Path, costs: dict[str, ProcessCost]) -> Iterator[Row]:
    original = count_kept(session)
    runs: list[ProcessCost] = []
    for _ in range(ROUNDS):
        shutil.rmtree(scratch / "home", ignore_errors=True)
        result, cost = run_tool(tool, copy_session(session, scratch / "home"), scratch / "home")
        runs.append(cost)
    costs[tool.name] = best = ProcessCost(min(r.wall for r in runs), min(r.cpu for r in runs), max(r.memory for r in runs))
    took = f"{best.cpu:.2f} s of CPU, {best.wall:.2f} s by the clock, {best.memory:.0f} MB"
    yield Row(f"{tool.name}, {original.size / 1e6:.0f} MB: {took}; {count_kept(result).of(original)}")


def _recorded(
    tool: Tool, scratch: Path, client: Path | None, original: list[Messages | None], *, is_ours: bool
) -> Iterator[Figure | Row]:
    sessions = recorded_sessions()
    made, before, after = [], Kept(), Kept()
    for place, session in enumerate(sessions):
        home = scratch / f"home-{tool.name.split()[0]}-{'clone' if tool.clones else 'edit'}-{place}"
        result, _ = run_tool(tool, copy_session(session, home), home)
        before, after = before.plus(count_kept(session)), after.plus(count_kept(result))
        made.append(result)
    yield Row(f"{tool.name}, {len(sessions)} recorded sessions: {after.of(before)}")
    if is_ours:
        yield Figure(f"{tool.name}, tokens kept / those of the originals", after.tokens / before.tokens, "x", 1, "at least")
        yield Figure(f"{tool.name}, sub-agent files kept", after.agents, "", before.agents, "at least")
    if client is None:
        return
    resumed = count_resumed(resume(client, made), original)
    yield _resumed_row(tool.name, resumed, len(sessions))
    if is_ours:
        wanted = sum(messages is not None for messages in original)
        yield Figure(f"{tool.name}, sessions that {CLIENT} resumes", resumed.sessions, "", wanted, "at least")
    if is_ours and tool.clones:
        yield Figure(f"{tool.name}, of which it sends the same as before", resumed.same, "", wanted, "at least")


def copy_session(session: Path, home: Path) -> Path:
    """A session with its sub-agents and its folder, in a home where nothing else is."""
    folder = home / ".claude" / "projects" / "-home-user-project"
    folder.mkdir(parents=True)
    for path in (session, *(path for path in agent_files(session) if path.parent == session.parent)):
        shutil.copyfile(path, folder / path.name)
    if session.with_suffix("").is_dir():
        shutil.copytree(session.with_suffix(""), folder / session.stem)
    return folder / session.name


def _resumed_row(name: str, resumed: Resumed, asked: int) -> Row:
    sent = f"{resumed.messages} messages, {resumed.same} sessions as before, {resumed.faulty} with something the API refuses"
    return Row(f"{name}, resumed by {CLIENT}: {resumed.sessions} of {asked}; {sent}")


def _names(path: Path, session_id: str) -> bool:
    with path.open("rb") as lines:
        return b'"%b"' % session_id.encode() in lines.readline()


def _add_usage(tokens: dict[object, int], line: bytes) -> None:
    try:
        message = json.loads(line).get("message")
    except (ValueError, AttributeError):
        return
    usage = message.get("usage") if isinstance(message, dict) else None
    if isinstance(usage, dict) and message.get("id"):
        # Lines of one response repeat its usage; of an older client's the last says the most.
        total = sum(count for name in _COUNTED if isinstance(count := usage.get(name), int))
        tokens[message["id"]] = max(total, tokens.get(message["id"], 0))


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"
