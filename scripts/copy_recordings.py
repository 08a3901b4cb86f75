"""Copy a folder of recorded sessions into the test fixtures, with the vendor's prose trimmed to shapes.

Comes in: SOURCE, a tree RELEASE/MODE/<a client's `projects` folder>, as the recorder leaves it, and DEST, a folder that
does not exist yet or holds an older copy. Goes out: the same tree under DEST. In a line only the bytes of trimmed
values differ; keys, types, spacing, number spellings and every other byte stay as the client wrote them.

Trimmed: system prompts, tool descriptions, skill and agent listings, reminders, long boilerplate of tool results, and
repeats of a huge output (one per release stays whole). A trimmed value reads `<trimmed N>`, N being its length in
characters in SOURCE. A tool list that this release already showed keeps its first two tools.
The recorder's own folder, which the scripts inside the prompts name in base64, becomes the /home/user of the lines.
Left alone: short sentences by which a reader of the format tells records apart (interrupt markers, caveats, refusals).
Dropped: sub-agent files that only hold the 2.0.x client's "Warmup" prompt, beyond the first three of a folder; sessions
beside a scenarios.json that no scenario names (abandoned runs).

It deliberately knows nothing of what records mean: paths and patterns of strings are enough.

    python scripts/copy_recordings.py SOURCE DEST
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

WARMUPS_KEPT = 3
HUGE = 8_000
HUGE_HEAD = 400
TOOLS_KEPT = 2

Keys = tuple[str | int, ...]

# Reminders whose inside the scenarios made (a hook's output, a file's content, the day) rather than the vendor.
OUR_REMINDER = re.compile(
    r"<system-reminder>\n(Today's date is |Called the Read tool|Result of calling the Read tool"
    r"|<tools-used-before-summary>|\S+ hook (success|additional context): )"
)
REMINDER = re.compile(r"(<system-reminder>\n)(.*?)(\n</system-reminder>|\Z)", re.DOTALL)
# Prose inside texts that are otherwise data: group 2 is trimmed, what stands before and after it is kept.
BOILERPLATE = [
    re.compile(r"\A(Async agent launched successfully\.)( .*?)?(\nagentId: \w+)", re.DOTALL),
    re.compile(r"(\nagentId: \w+ )(\(.*?)(\noutput_file: \S+|\Z)", re.DOTALL),
    re.compile(r"(\noutput_file: \S+\n)(.+)(\Z)", re.DOTALL),
    re.compile(r"(\n)(If you need specific details from before compaction.*?)(: /\S+|\Z)", re.DOTALL),
    re.compile(r"(\n)((?:Please continue|Continue) the conversation from where .*)(\Z)", re.DOTALL),
    re.compile(r"(<note>)(.*?)(</note>)", re.DOTALL),
    re.compile(r"(\n\nNote: )(.*)(\Z)", re.DOTALL),
    re.compile(r"(Blocked: standalone sleep \d+\. )(.*?)(</tool_use_error>|\Z)", re.DOTALL),
    re.compile(r"(The user sent a new message while you were working:\n[^\n]*\n\n)(.+)(\Z)", re.DOTALL),
]
LISTED = re.compile(r"^(- [\w:-]+: ).*$", re.MULTILINE)
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
SCRIPT = re.compile(r"SCRIPT:([A-Za-z0-9+/]+)(=*)(:END)?")
LAB = re.compile(rb"/tmp/\w+/(?=(?:rec|proj-i)-)")
KERNEL = re.compile(r"Linux \d+\.\d+\S*")


def trimmed(text: str) -> str:
    return f"<trimmed {len(text)}>" if text else text


def string_values(text: str) -> Iterator[tuple[Keys, int, int, str]]:
    """Every string value (not key) of one JSON text: its keys from the root, its span with the quotes, its value."""
    stack: list[str | int] = []
    open_brackets: list[str] = []
    expecting_key = False
    at = 0
    while at < len(text):
        char = text[at]
        if char == '"':
            found = STRING.match(text, at)
            assert found is not None
            value, end = json.loads(found.group()), found.end()
            if expecting_key:
                stack[-1] = value
                expecting_key = False
            else:
                yield tuple(stack), at, end, value
            at = end
            continue
        if char in "{[":
            open_brackets.append(char)
            stack.append("" if char == "{" else 0)
            expecting_key = char == "{"
        elif char in "}]":
            open_brackets.pop()
            stack.pop()
            expecting_key = False
        elif char == ",":
            if open_brackets[-1] == "{":
                expecting_key = True
            else:
                index = stack[-1]
                assert isinstance(index, int)
                stack[-1] = index + 1
        at += 1


def edit_strings(text: str, edit: Callable[[Keys, str], str]) -> str:
    """The JSON text with each string value replaced by `edit(keys, value)`; unchanged values keep their very bytes."""
    pieces: list[str] = []
    done = 0
    for keys, start, end, value in string_values(text):
        new = edit(keys, value)
        if new != value:
            pieces += [text[done:start], json.dumps(new, ensure_ascii=False)]
            done = end
    return "".join([*pieces, text[done:]])


def trim_text(value: str) -> str:
    """A message or tool result text with reminders and boilerplate trimmed and everything else kept."""

    def inside(found: re.Match[str]) -> str:
        if OUR_REMINDER.match(found.group(0)):
            return found.group(0)
        return found.group(1) + trimmed(found.group(2)) + found.group(3)

    value = REMINDER.sub(inside, value)
    for pattern in BOILERPLATE:
        value = pattern.sub(
            lambda found: found.group(1) + (trimmed(found.group(2)) if found.group(2) else "") + found.group(3), value
        )
    return value


def trim_listing(value: str) -> str:
    if not LISTED.search(value):
        return trimmed(value)
    return LISTED.sub(lambda found: found.group(1) + trimmed(found.group(0)[len(found.group(1)) :]), value)


def move_script(found: re.Match[str]) -> str:
    """A prompt's script, and the scripts of sub-agents inside it, with paths under /home/user as in the lines.

    Titles and request blobs hold cut scripts, without `:END`: they stay beginnings of the whole ones, as long as before.
    """
    coded, padding, end = found.groups(default="")
    whole = coded + padding if end else coded[: len(coded) // 4 * 4]
    plain = LAB.sub(b"/home/user/", base64.b64decode(whole))
    # A cut may fall inside a character; such bytes pass through untouched.
    moved = SCRIPT.sub(move_script, plain.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    if moved == base64.b64decode(whole):
        return found.group()
    recoded = base64.b64encode(moved).decode("ascii")
    return f"SCRIPT:{recoded}:END" if end else "SCRIPT:" + recoded.rstrip("=")[: len(coded)]


def trim_attachment(kind: str, keys: Keys, value: str) -> str:
    if keys[0] == "rendered":
        return trim_text(value) if "<system-reminder>" in value else trimmed(value)
    field = keys[1] if len(keys) > 1 else None
    match kind, field:
        case "prompt_snapshot", "systemPrompt" | "cliPrefix":
            return trimmed(value)
        case "prompt_snapshot", "tools":
            return trimmed(value) if keys[-1] == "description" else value
        case "skill_listing", "content":
            return trim_listing(value)
        case "agent_listing_delta", "addedLines":
            return trim_listing(value)
        case ("model" | "silent_turn_reminder", "text") | ("remote_session_change", "commit" | "pr"):
            return trimmed(value)
        case "session_context", "context":
            return trimmed(value)
        case "environment", "snapshot" if keys[-1] == "osVersion":
            return KERNEL.sub("Linux 6.1.0", value)
    return value


def is_vendor_blob(record: dict[str, Any], value: str) -> bool:
    """Whether a text of a request blob is the vendor's: a system message, or one that a recorder has already cut.

    The texts of our own scenarios carry their script, cut or not.
    """
    return record["message"]["role"] == "system" or (value.endswith("…(trimmed)") and "SCRIPT:" not in value)


class Release:
    """What one release has shown so far, so that its repeats can be shortened."""

    def __init__(self, source: Path) -> None:
        # A spilled result beside the session is the whole copy; the line may hold all of it, or a beginning.
        self.spilled = [path.read_text("utf-8") for path in sorted(source.rglob("tool-results/*"))]
        self.huge: set[str] = set()
        self.tool_lists: set[str] = set()

    def shorten_huge(self, value: str) -> str:
        if value not in self.huge and not any(text.startswith(value) for text in self.spilled):
            self.huge.add(value)
            return value
        return value[:HUGE_HEAD] + f"\n<trimmed {len(value) - HUGE_HEAD}>"

    def shorten_tools(self, line: str) -> str:
        start = line.index('"tools":[') + len('"tools":[')
        decode = json.JSONDecoder().raw_decode
        end, ends = start, []
        while line[end] != "]":
            _, end = decode(line, end + (line[end] == ","))
            ends.append(end)
        if line[start:end] not in self.tool_lists:
            self.tool_lists.add(line[start:end])
            return line
        return line[: ends[:TOOLS_KEPT][-1]] + line[end:]

    def trim_line(self, line: str) -> str:
        """One line with its vendor prose trimmed and its repeats shortened."""
        record = json.loads(line)
        kind = record.get("type")

        def edit(keys: Keys, value: str) -> str:
            if kind == "attachment" and keys[0] in ("attachment", "rendered"):
                return trim_attachment(record["attachment"]["type"], keys, value)
            if kind == "api-request-shape" and keys[0] == "shape":
                return trimmed(value) if keys[-1] in ("description", "text") else value
            if kind == "api-request-blob" and keys[-1] in ("text", "content") and is_vendor_blob(record, value):
                return trimmed(value)
            if keys[0] in ("message", "toolUseResult", "content", "data"):
                value = trim_text(value)
                return self.shorten_huge(value) if len(value) > HUGE else value
            return value

        line = edit_strings(line, edit)
        has_tools = record.get("shape", record.get("attachment", {})).get("tools")
        return self.shorten_tools(line) if has_tools else line


def is_warmup(path: Path) -> bool:
    """Whether this is one of the sub-agent files the 2.0.x clients leave behind at every start."""
    if not path.name.startswith("agent-") or path.parent.name == "subagents":
        return False
    first = path.read_text("utf-8").partition("\n")[0]
    return first != "" and json.loads(first).get("message", {}).get("content") == "Warmup"


def litter(source: Path) -> set[Path]:
    """The files of a release not worth keeping: surplus warm-ups, and runs that no scenario names."""
    surplus: set[Path] = set()
    for folder in {path.parent for path in source.rglob("agent-*.jsonl")}:
        surplus |= set(sorted(filter(is_warmup, folder.glob("agent-*.jsonl")))[WARMUPS_KEPT:])
    for index in source.rglob("scenarios.json"):
        named = {name.rpartition("/")[2] for files in json.loads(index.read_text("utf-8")).values() for name in files}
        surplus |= {path for path in index.parent.glob("*/*.jsonl") if path.name not in named and not is_warmup(path)}
    return surplus


def copy_release(source: Path, dest: Path) -> None:
    release, surplus = Release(source), litter(source)
    for path in sorted(set(source.rglob("*")) - surplus):
        if not path.is_file():
            continue
        target = dest / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".jsonl":
            lines = SCRIPT.sub(move_script, path.read_bytes().decode("utf-8")).split("\n")
            text = "\n".join(release.trim_line(line) if line.strip() else line for line in lines)
            target.write_bytes(text.encode("utf-8"))
        elif path.name == "scenarios.json":
            gone = {other.name for other in surplus}
            scenarios = {
                name: [file for file in files if file.rpartition("/")[2] not in gone]
                for name, files in json.loads(path.read_text("utf-8")).items()
            }
            target.write_text(json.dumps(scenarios, indent=1) + "\n", "utf-8")
        elif path.suffix == ".json":
            target.write_bytes(SCRIPT.sub(move_script, path.read_bytes().decode("utf-8")).encode("utf-8"))
        else:
            shutil.copyfile(path, target)


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        sys.stderr.write("usage: copy_recordings.py SOURCE DEST\n")
        return 2
    source, dest = map(Path, arguments)
    for release in sorted(path for path in source.iterdir() if path.is_dir()):
        shutil.rmtree(dest / release.name, ignore_errors=True)
        copy_release(release, dest / release.name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
