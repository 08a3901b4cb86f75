"""Whole answers of clients about sessions full of attachments, in a form that can be compared: reminders included.

Left out are only reminders that no session file holds, by name:

- `context`: what a client says about the working folder and the day before the first prompt (2.1.45, 2.1.159);
- `with the prompt`: reminders that come with the new prompt (environment, tools, skills, date, todo list);
- `tools of today`: what changed since among tools and agents, which comes with the new prompt as well and names the client's own;
- `own words`: instructions of a release about plan mode, auto mode and the keyword "workflow"; a golden knows them by length
  and hash.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lab.oracle import PROMPT, Answer, plain, shape
from tests.corpora import FIXTURES
from tests.messages.attached import MODELS, TOKEN, AttachedSession, attached_sessions

from stenograph import messages as own
from stenograph.graph import build_graph
from stenograph.records import read_all_records

Json = dict[str, Any]
#: The words of a release that no file holds, as length and hash.
OwnWords = frozenset[tuple[int, str]]

RELEASES = ("2.0.76", "2.1.45", "2.1.159", "2.1.280", "2.1.325")
GOLDEN = FIXTURES / "golden-messages" / "attached.json"
#: Kinds that a release speaks about in words of its own.
OWN_KINDS: dict[str, Json] = {
    "auto_mode": {
        "autoModeConsentFlow": False,
        "bashFirst": True,
        "bashFirstSteer": "relaxed",
        "steerOnly": True,
        "bypass": True,
    },
    "plan_mode": {"reminderType": "full", "isSubAgent": False, "planFilePath": "/home/user/plan.md", "planExists": False},
    "workflow_keyword_request": {},
}

_CONTEXT = "<system-reminder>\nAs you answer the user's questions, you can use the following context:"
_REMINDER = re.compile(r"(?:\n\n)?<system-reminder>\n(.*?)\n</system-reminder>", re.DOTALL)
_TOKEN = re.compile(TOKEN)
_OF_TODAY = ("general-purpose", "NotebookEdit")


@functools.cache
def golden() -> dict[str, Any]:
    """`own`: release -> [length, hash] of own words; `sessions`: their hashes; `answers`: release -> digests and shapes."""
    loaded: dict[str, Any] = json.loads(GOLDEN.read_text("utf-8"))
    return loaded


@functools.cache
def sessions() -> list[AttachedSession]:
    return list(attached_sessions())


def key_of(session: AttachedSession) -> str:
    return hashlib.sha256(session.data).hexdigest()[:16]


def own_words_sessions() -> Iterator[tuple[str, AttachedSession]]:
    """Sessions in which a release says its own words behind a result; marked so that they can be cut out."""
    from random import Random

    for kind, body in OWN_KINDS.items():
        for model in MODELS:
            session = AttachedSession(Random(0), iter(()), model=model)
            session.prompt()
            session.say()
            session.prompt()
            session.result(session.call())
            session.add({"type": "attachment", "attachment": {"type": kind, **body}})
            session.say()
            yield kind, session


def own_words_in(messages: list[Json]) -> Iterator[tuple[int, str]]:
    """Length and hash of the reminder behind the only result."""
    asked = plain(messages)
    place = next(
        number for number, message in enumerate(asked) if any(block["type"] == "tool_result" for block in message["content"])
    )
    behind = asked[place + 1]["content"] if asked[place + 1]["role"] == "system" else []
    for block in (*asked[place]["content"], *behind):
        content = block.get("content") or block["text"]
        for words in [content] if isinstance(content, str) else [part["text"] for part in content]:
            reminders = [found[1] for found in _REMINDER.finditer(words)]
            for one in reminders or ([words] if block in behind else []):
                yield _known_by(one)


def comparable(messages: list[Json], own_words: OwnWords) -> list[Json]:
    """Messages up to the new prompt, without what no file holds."""
    normal = []
    asked = plain(messages)
    last = max(number for number, message in enumerate(asked) if _holds_prompt(message))
    for number, message in enumerate(asked[: last + 1]):
        content = message["content"]
        if number == last:
            place = next(place for place, block in enumerate(content) if PROMPT in str(block.get("text")))
            content = [
                _of_the_file(block) for block in content[:place] if not _is_reminder(block) or _is_of_the_file(block["text"])
            ]
        if message["role"] == "system":
            content = [{**block, "text": _without_own(block["text"], own_words)} for block in content]
        else:
            content = [_cleaned(block, own_words) for block in content if not _is_outside(block, own_words)]
        content = [block for block in content if block.get("text") != ""]
        if content:
            normal.append({"role": message["role"], "content": content})
    return normal


def our_messages(session: AttachedSession, release: str, folder: Path) -> list[Json]:
    """What we say that a release sends, in the same form."""
    path = folder / "session.jsonl"
    path.write_bytes(session.data)
    resume = own.resume_messages(build_graph([(path, "", read_all_records(path))]), release)
    messages = own.plain(resume)
    if not messages or messages[-1]["role"] != "user":
        messages.append({"role": "user", "content": []})
    messages[-1]["content"] = [*messages[-1]["content"], {"type": "text", "text": PROMPT}]
    return comparable(messages, frozenset())


def entry_of(answer: Answer, own_words: OwnWords) -> str:
    """What a golden says of an answer."""
    return "refused" if answer.messages is None else entry(comparable(answer.messages, own_words))


def entry(messages: list[Json]) -> str:
    digest = hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()[:16]
    return f"{digest} {' '.join(shape(messages))}"


def _holds_prompt(message: Json) -> bool:
    return any(PROMPT in str(block.get("text")) for block in message["content"])


def _of_the_file(block: Json) -> Json:
    """A tool's result without what came with the new prompt."""
    content = block.get("content") if block["type"] == "tool_result" else None
    if not isinstance(content, str):
        return block
    return {**block, "content": _REMINDER.sub(lambda found: found[0] if _is_of_the_file(found[0]) else "", content)}


def _is_of_the_file(words: str) -> bool:
    return bool(_TOKEN.search(words)) and not any(name in words for name in _OF_TODAY)


def _is_reminder(block: Json) -> bool:
    return block["type"] == "text" and bool(_REMINDER.fullmatch(block["text"].rstrip()))


def _is_outside(block: Json, own_words: OwnWords) -> bool:
    if block["type"] != "text":
        return False
    words = block["text"]
    found = _REMINDER.fullmatch(words.rstrip())
    return (words.startswith(_CONTEXT) and not _TOKEN.search(words)) or (found is not None and _known_by(found[1]) in own_words)


def _cleaned(block: Json, own_words: OwnWords) -> Json:
    """A tool's result without own words that were glued to it."""
    content = block.get("content") if block["type"] == "tool_result" else None
    if isinstance(content, str):
        return {**block, "content": _without_reminders(content, own_words)}
    if isinstance(content, list):
        parts = [part for part in content if not _is_outside(part, own_words)]
        return {**block, "content": parts}
    return block


def _without_reminders(words: str, own_words: OwnWords) -> str:
    return _REMINDER.sub(lambda found: "" if _known_by(found[1]) in own_words else found[0], words)


def _without_own(words: str, own_words: OwnWords) -> str:
    """A message of the role `system` without own words: it joins reminders by empty lines."""
    words = _without_reminders(words, own_words).removeprefix("\n\n")
    starts = [0, *(found.end() for found in re.finditer("\n\n", words))]
    for start in reversed(starts):
        for length, digest in own_words:
            end = start + length
            if words[end : end + 2] in ("", "\n\n") and end <= len(words) and _known_by(words[start:end]) == (length, digest):
                words = words[:start].removesuffix("\n\n") + (words[end:] if start else words[end:].removeprefix("\n\n"))
                break
    return words


def _known_by(words: str) -> tuple[int, str]:
    return len(words), hashlib.sha256(words.encode()).hexdigest()[:16]
