"""Ask a real client what it sends when it resumes a session file, and bring answers into a form that can be compared.

In: a client's program, the bytes of a session file, the files that stand beside it, an API on loopback. Out: the messages of the
first request that holds the new prompt, or that the client refused. Every question gets a home and a working folder of its
own. Knows none of the rules by which a client rebuilds a conversation: an answer never comes from this package's own code.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tempfile
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.clients import run_client
from stenograph.disk.projects import project_folder_name
from stenograph.testing.scripted_api import Json, ScriptedApi, script_prompt

PROMPT = "ORACLE-NEXT"
SESSION_ID = "0a5c1e00-0000-4000-8000-000000000001"
#: What `Answer.returncode` says of a client that was ended because it took too long.
TIMED_OUT = 124

_REFUSAL = re.compile(rb"No conversation found|Failed to resume|No message found|not found")
# The second only in 2.1.69.
_REMINDER = re.compile(r"\s*<(system-reminder|available-deferred-tools)>.*</\1>\s*", re.DOTALL)
_ONE_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_TAGS = re.compile(r"\A\s*<system-reminder>|</system-reminder>\s*\Z")
_GLUED_REMINDER = re.compile(r"(?:\A|\n\n)(<system-reminder>(?:(?!\n\n<system-reminder>).)*</system-reminder>)\s*\Z", re.DOTALL)
# Where 2.1.45 says that it saved a result; the folders before are those of the question.
_SAVED_RESULT = re.compile(r"(<persisted-output>Tool result saved to: )[^\n]*/(?=tool-results/)")
_SHORT_NAMES = {"text": "T", "thinking": "TH", "redacted_thinking": "RTH", "tool_use": "TU", "tool_result": "TR", "image": "I"}


@dataclass(frozen=True)
class Answer:
    """What a client did with a file."""

    #: As sent, the new prompt and what came with it included; None when no request held the prompt.
    messages: list[Json] | None
    #: The client said that there is no such conversation, or that it can't resume it.
    refused: bool
    returncode: int
    model: str | None
    #: The end of what the client said on stderr and stdout, for a person to read.
    said: str = ""

    @property
    def timed_out(self) -> bool:
        return self.returncode == TIMED_OUT


def ask(
    program: Path,
    session: bytes,
    *,
    api: ScriptedApi,
    session_id: str = SESSION_ID,
    extra_files: Mapping[str, bytes] | None = None,
    prompt: str = PROMPT,
    timeout: float = 90.0,
) -> Answer:
    """What the client sends when it resumes this file with `prompt`.

    `extra_files` go beside the session, by their path in the project folder. Several questions may share an API: each has
    an address of its own.
    """
    address = f"/asked/{uuid.uuid4().hex}"
    with tempfile.TemporaryDirectory(prefix="steno-oracle-", ignore_cleanup_errors=True) as scratch:
        home, cwd = Path(scratch).resolve() / "home", Path(scratch).resolve() / "work"
        # A short path: all releases agree on the name of its folder (rules 2 to 4).
        folder = home / ".claude" / "projects" / project_folder_name(str(cwd))
        cwd.mkdir()
        folder.mkdir(parents=True)
        for name, data in {**(extra_files or {}), f"{session_id}.jsonl": session}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        # A script of its own: a recorded session may hold another, which must not be played again.
        script = script_prompt([[{"text": "ORACLE-OK"}]], prompt)
        args = ["-p", script, "--resume", session_id, "--output-format", "json", "--dangerously-skip-permissions"]
        try:
            done = run_client(program, home=home, cwd=cwd, args=args, base_url=api.url + address, timeout=timeout)
            returncode, said = done.returncode, done.stderr[-2000:] + done.stdout[-2000:]
        except subprocess.TimeoutExpired:
            returncode, said = TIMED_OUT, b""
    bodies = [request.body for request in list(api.requests) if request.path.startswith(address)]
    held = [body for body in bodies if body.get("tools") and _holds(body["messages"], prompt)]
    # 2.0.76 may have posted the bare prompt before it gave up (rule 55).
    refused = bool(returncode and returncode != TIMED_OUT and _REFUSAL.search(said))
    body = held[0] if held and not refused else None
    return Answer(
        messages=body["messages"] if body else None,
        refused=refused,
        returncode=returncode,
        model=body.get("model") if body else None,
        said=said.decode(errors="replace"),
    )


def normalise(messages: list[Json], *, keep: Collection[str] = (), prompt: str = PROMPT) -> list[Json]:
    """A client's messages in the form in which they are compared.

    Without the new prompt and all that follows it, without cache_control, and without reminders in words that are the
    release's own: text blocks that are nothing but a reminder, reminders that a client glued to the end of a tool's result,
    and what a message of the role `system` says (some models get their reminders so, unwrapped). Those that hold a text of
    `keep`, because the file itself holds it (`stored_reminders`), stay. A message left without blocks goes.
    """
    kept = frozenset(stripped for text in keep if (stripped := text.strip()))
    normal: list[Json] = []
    for message in plain(_before_prompt(messages, prompt)):
        if message["role"] == "system":
            content = _stored_parts(message["content"], kept)
        else:
            content = [_without_glued_reminders(block, kept) for block in message["content"]]
            content = [block for block in content if not _is_reminder(block) or _holds_one_of(block["text"], kept)]
        if content:
            normal.append({"role": message["role"], "content": content})
    return normal


def plain(messages: Iterable[Json]) -> list[Json]:
    """Messages without what means nothing: a string becomes one text block, cache_control goes."""
    return [
        {"role": message["role"], "content": [_without_cache_control(block) for block in _blocks(message["content"])]}
        for message in messages
    ]


def digest(messages: list[Json]) -> str:
    """The sha256 of the messages as canonical JSON; a lone surrogate counts as its escape."""
    text = json.dumps(messages, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def shape(messages: list[Json]) -> list[str]:
    """One short word a message, for a person to read: `U:T`, `A:TH,T,TU`, `U:TR!` (an error result)."""
    return [
        f"{message['role'][:1].upper()}:{','.join(_short_name(block) for block in message['content'])}" for message in messages
    ]


def stored_reminders(session: bytes, *, rendered: bool) -> set[str]:
    """The reminders that a file holds word for word, for `normalise` to keep.

    Those in the content of messages, which every release sends as they stand, and, when `rendered`, the texts that
    attachments store as they were sent, which newer releases send again verbatim (rule 37).
    """
    texts: set[str] = set()
    for line in session.split(b"\n"):
        if b"system-reminder" not in line and b'"rendered"' not in line:
            continue
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if not isinstance(record, dict):
            continue
        message = record.get("message")
        if isinstance(message, dict):
            for text in _all_texts(message.get("content")):
                texts.update(found[0] for found in _ONE_REMINDER.finditer(text))
        parts = record.get("rendered")
        for part in parts if rendered and isinstance(parts, list) else []:
            texts.update(_texts(part.get("content") if isinstance(part, dict) else part))
    return texts


def _before_prompt(messages: list[Json], prompt: str) -> Iterator[Json]:
    """The messages up to the last text that holds the prompt; what precedes it in its message stays."""
    messages = [{**message, "content": _blocks(message["content"])} for message in messages]
    last = max((number for number, message in enumerate(messages) if _holds([message], prompt)), default=None)
    if last is None:
        yield from messages
        return
    yield from messages[:last]
    content = messages[last]["content"]
    place = next(place for place, block in enumerate(content) if prompt in "".join(_texts([block])))
    yield {**messages[last], "content": content[:place]}


def _blocks(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            if isinstance(block, str):
                yield block
            elif isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
                yield block["text"]


def _all_texts(content: object) -> Iterator[str]:
    """The texts of blocks, and of the results of tools."""
    yield from _texts(content)
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            yield from _texts(block.get("content"))


def _holds(messages: list[Json], prompt: str) -> bool:
    return any(prompt in text for message in messages for text in _texts(message["content"]))


def _without_cache_control(block: Json) -> Json:
    return {key: value for key, value in block.items() if key != "cache_control"}


def _stored_parts(content: list[Json], kept: frozenset[str]) -> list[Json]:
    """The blocks of a system message without the parts that the file does not hold.

    Such a message joins the reminders of several attachments, without their tags, by empty lines.
    """
    known = sorted({*kept, *(_TAGS.sub("", text).strip() for text in kept)} - {""}, key=len, reverse=True)
    stored: list[Json] = []
    for block in content:
        words, found = block["text"], list[tuple[int, str]]()
        for text in known:
            while (place := words.find(text)) >= 0:
                found.append((place, text))
                words = words[:place] + "\0" * len(text) + words[place + len(text) :]
        if not words.replace("\0", "").strip():
            stored.append(block)
        elif found:
            stored.append({**block, "text": _joined(block["text"], sorted(found))})
    return stored


def _joined(words: str, found: list[tuple[int, str]]) -> str:
    """Parts of a text, with what stood between them where that was nothing but blanks."""
    joined, end = "", 0
    for place, text in found:
        between = words[end:place]
        joined += ("\n\n" if between.strip() else between) * bool(joined) + text
        end = place + len(text)
    return joined


def _without_glued_reminders(block: Json, kept: frozenset[str]) -> Json:
    content = block.get("content")
    if block.get("type") != "tool_result":
        return block
    if isinstance(content, str):
        return {**block, "content": _SAVED_RESULT.sub(r"\1", _unglued(content, kept))}
    if isinstance(content, list):
        stored = [part for part in content if not _is_reminder(part) or _holds_one_of(part["text"], kept)]
        parts = [{**part, "text": _unglued(part["text"], kept)} if part.get("type") == "text" else part for part in stored]
        return {**block, "content": parts}
    return block


def _unglued(text: str, kept: frozenset[str]) -> str:
    stored = ""
    while found := _GLUED_REMINDER.search(text):
        stored = text[found.start() :] + stored if _holds_one_of(found[1], kept) else stored
        text = text[: found.start()]
    return text + stored


def _holds_one_of(text: str, kept: frozenset[str]) -> bool:
    return any(one in text for one in kept)


def _is_reminder(block: Json) -> bool:
    return block.get("type") == "text" and bool(_REMINDER.fullmatch(block["text"]))


def _short_name(block: Json) -> str:
    kind = str(block.get("type"))
    return _SHORT_NAMES.get(kind, kind) + ("!" if kind == "tool_result" and block.get("is_error") else "")
