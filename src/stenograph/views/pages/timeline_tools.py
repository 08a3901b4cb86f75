"""Tool calls -> steps of the timeline: each tool's result in the form that it has. Secrets are left for `mask_page`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import msgspec

from stenograph.records import (
    AgentResult,
    AskUserQuestionResult,
    BashOutputResult,
    BashResult,
    ChainedRecord,
    EditResult,
    GlobResult,
    GrepResult,
    ImageBlock,
    MultiEditResult,
    ReadResult,
    WebFetchResult,
    WebSearchResult,
    WriteResult,
    text_of,
)
from stenograph.turns import ToolCall
from stenograph.views.pages.page import utc
from stenograph.views.pages.tapes import family_of
from stenograph.views.pages.timeline import (
    AgentSteps,
    FileListing,
    Link,
    Links,
    Matches,
    Names,
    Picture,
    Prose,
    Question,
    Questions,
    StepBody,
    Terminal,
    ToolStep,
    Tree,
)
from stenograph.views.pages.transcript import Checklist, Fact, Patch
from stenograph.views.text import count_of
from stenograph.views.tools import ToolFacts, change_lines, error_text, tool_title

#: What a browser draws from data; anything else is only named.
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,3})\b\s*")
_NUMBERED = re.compile(r" *(\d+)[→\t]")
_REMINDER = re.compile(r"\n*<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


def tool_step(call: ToolCall, agent: AgentSteps | None = None, *, is_live: bool = False) -> ToolStep:
    """One tool call; without a result it is running where its session is, else it stays unanswered."""
    graph = call.context.graph
    record = graph.records[call.use_node]
    cwd = record.cwd if isinstance(record, ChainedRecord) and isinstance(record.cwd, str) else ""
    facts = ToolFacts(call.name, call.input, cwd, call.answered, call.result, call.is_error, call.structured)
    shown = _Shown()
    family = family_of(call.name)
    if call.is_error:
        _failed(facts, family, shown)
    elif call.answered or family in ("change", "todo", "question", "plan"):
        _BODIES.get(family, _other)(facts, shown)
    if family == "other" and not shown.has(Tree):
        shown.bodies.insert(0, Tree("input", facts.input))
    shown.bodies += _pictures(call)
    return ToolStep(
        line=graph.nodes[call.use_node].number,
        at=utc(call.started),
        id=call.id,
        name=call.name,
        family=family,
        title=_title(facts, family),
        status=_status(call, shown, is_live),
        result_line=graph.nodes[call.result_node].number if call.answered else None,
        duration_ms=call.duration_ms,
        path=facts.path("file_path", "notebook_path", "path") if family in ("read", "change") else "",
        facts=tuple(fact for fact in shown.facts if fact),
        added=shown.added,
        removed=shown.removed,
        bodies=tuple(shown.bodies),
        spilled=call.spilled.name if call.spilled else "",
        agent=agent,
    )


class _Shown:
    """What a step shows, as it is found."""

    def __init__(self) -> None:
        self.facts: list[str] = []
        self.bodies: list[StepBody] = []
        self.added: int | None = None
        self.removed: int | None = None
        self.interrupted = False

    def has(self, kind: type) -> bool:
        return any(isinstance(body, kind) for body in self.bodies)


_Shows: TypeAlias = Callable[[ToolFacts, _Shown], None]


def _status(call: ToolCall, shown: _Shown, is_live: bool) -> str:
    if not call.answered:
        return "running" if is_live else "unanswered"
    return "interrupted" if shown.interrupted else "failed" if call.is_error else "done"


def _title(facts: ToolFacts, family: str) -> str:
    if family == "shell":
        return facts.word("command") or tool_title(facts)
    if family == "other":
        return ""
    if family == "agent":
        return facts.word("description") or facts.word("prompt")
    if family == "plan":
        plan = facts.word("plan")
        return next((line.lstrip("# ").strip() for line in plan.split("\n") if line.strip()), "")
    if family == "read":
        return facts.path("file_path", "notebook_path", "path")
    return tool_title(facts)


def _failed(facts: ToolFacts, family: str, shown: _Shown) -> None:
    text = facts.result
    if family == "shell" and (found := _EXIT.match(text)):
        shown.facts.append(f"exit {found.group(1)}")
        text = text[found.end() :]
    elif "doesn't want to proceed" in text[:200] or "was rejected" in text[:200]:
        shown.interrupted = True
        shown.facts.append("declined by you")
    elif "Request interrupted" in text[:200]:
        shown.interrupted = True
        shown.facts.append("interrupted")
    if family == "change" and (lines := change_lines(facts)):
        shown.bodies.append(Patch(tuple(lines)))
    text = error_text(text)
    if text.strip():
        shown.bodies.append(Terminal(text, is_error=True))


def _shell(facts: ToolFacts, shown: _Shown) -> None:
    found = facts.structured
    text = facts.result
    if isinstance(found, BashResult):
        printed = [each for each in (found.stdout, found.stderr) if isinstance(each, str) and each.strip()]
        # A spilled output has only its beginning here; what the model got says where the rest is.
        text = facts.result if found.persistedOutputPath else "\n".join(printed)
        if found.isImage:
            text = ""
            shown.facts.append("an image")
        if found.backgroundTaskId:
            shown.facts.append(f"continues in the background as {found.backgroundTaskId}")
        if found.interrupted:
            shown.interrupted = True
            shown.facts.append("stopped")
        if isinstance(found.returnCodeInterpretation, str):
            shown.facts.append(found.returnCodeInterpretation)
    elif isinstance(found, BashOutputResult):
        text = "\n".join(each for each in (found.stdout, found.stderr) if isinstance(each, str) and each.strip())
        shown.facts.append(found.status or "")
    if text.strip():
        shown.bodies.append(Terminal(text))
    elif not shown.facts:
        shown.facts.append("no output")


def _read(facts: ToolFacts, shown: _Shown) -> None:
    found = facts.structured
    file = found.file if isinstance(found, ReadResult) and found.file else None
    if file and isinstance(file.content, str):
        start = file.startLine if isinstance(file.startLine, int) else 1
        number = file.numLines if isinstance(file.numLines, int) else file.content.count("\n") + 1
        total = file.totalLines if isinstance(file.totalLines, int) else number
        many = count_of(number, "line")
        shown.facts.append(many if total == number else f"{start:,} to {start + number - 1:,} of {count_of(total, 'line')}")
        shown.bodies.append(FileListing(file.content, start))
        return
    if file and isinstance(file.base64, str) and file.type in _PICTURES:
        shown.bodies.append(Picture(file.type, file.base64))
        return
    text = _REMINDER.sub("", facts.result)
    numbered = _NUMBERED.match(text)
    if numbered:
        lines = [_NUMBERED.sub("", line, count=1) for line in text.split("\n")]
        shown.facts.append(count_of(len(lines), "line"))
        shown.bodies.append(FileListing("\n".join(lines), int(numbered.group(1))))
    elif text.strip():
        shown.bodies.append(Terminal(text))


def _change(facts: ToolFacts, shown: _Shown) -> None:
    found = facts.structured
    if facts.name == "NotebookEdit":
        shown.bodies.append(FileListing(facts.word("new_source")))
        return
    lines = change_lines(facts)
    if isinstance(found, WriteResult) and (found.type == "create" or not (found.structuredPatch or found.originalFile)):
        shown.facts.append("created" if found.type == "create" else "")
    if lines:
        shown.bodies.append(Patch(tuple(lines)))
        shown.added = sum(line.startswith("+") for line in lines)
        shown.removed = sum(line.startswith("-") for line in lines)
    elif facts.answered:
        shown.facts.append("empty" if "created" in shown.facts else "nothing changed")
    if isinstance(found, EditResult | MultiEditResult | WriteResult) and found.userModified:
        shown.facts.append("changed by you before it was applied")


def _search(facts: ToolFacts, shown: _Shown) -> None:
    found = facts.structured
    if isinstance(found, GrepResult) and found.mode == "content" and isinstance(found.content, str):
        number = found.numLines if isinstance(found.numLines, int) else found.content.count("\n") + 1
        shown.facts.append(count_of(number, "line") if found.content.strip() else "no match")
        if found.content.strip():
            shown.bodies.append(Matches(found.content))
    elif isinstance(found, GrepResult | GlobResult):
        names = found.filenames if isinstance(found.filenames, list) else []
        _names(names, found.numFiles, shown)
    elif facts.result.strip():
        shown.bodies.append(Matches(facts.result))


def _names(names: Iterable[object], number: object, shown: _Shown) -> None:
    listed = tuple(name for name in names if isinstance(name, str))
    many = number if isinstance(number, int) else len(listed)
    shown.facts.append(count_of(many, "file") if many else "no match")
    if listed:
        shown.bodies.append(Names(listed))


def _web(facts: ToolFacts, shown: _Shown) -> None:
    found = facts.structured
    if isinstance(found, WebSearchResult) and found.results:
        links = tuple(_links(found.results))
        if links:
            shown.facts.append(count_of(len(links), "result"))
            shown.bodies.append(Links(links))
            return
    if isinstance(found, WebFetchResult) and found.code:
        shown.facts.append(f"{found.code} {found.codeText or ''}".strip())
    if facts.result.strip():
        shown.bodies.append(Prose(facts.result))


def _links(found: object) -> Iterator[Link]:
    if isinstance(found, dict):
        if isinstance(url := found.get("url"), str):
            yield Link(str(found.get("title") or url), url)
        elif isinstance(inside := found.get("content"), list):
            yield from _links(inside)
    elif isinstance(found, list | tuple):
        for each in found:
            yield from _links(each)


def _todo(facts: ToolFacts, shown: _Shown) -> None:
    todos = facts.input.get("todos")
    if isinstance(todos, list):
        items = [todo for todo in todos if isinstance(todo, dict)]
        if items:
            rows = ((str(todo.get("status") or "pending"), str(todo.get("content") or "")) for todo in items)
            shown.bodies.append(Checklist(tuple(rows)))
    elif facts.result.strip():
        shown.bodies.append(Terminal(facts.result))


def _question(facts: ToolFacts, shown: _Shown) -> None:
    asked = facts.input.get("questions")
    found = facts.structured
    answers = found.answers if isinstance(found, AskUserQuestionResult) and isinstance(found.answers, dict) else {}
    questions = []
    for each in asked if isinstance(asked, list) else []:
        if isinstance(each, dict):
            text = str(each.get("question") or "")
            options = each.get("options")
            labels = [option.get("label") for option in options if isinstance(option, dict)] if isinstance(options, list) else []
            questions.append(Question(text, str(answers.get(text) or ""), tuple(str(label) for label in labels if label)))
    if questions:
        shown.facts.append("answered by you" if any(question.answer for question in questions) else "")
        shown.bodies.append(Questions(tuple(questions)))
    elif facts.result.strip():
        shown.bodies.append(Terminal(facts.result))


def _plan(facts: ToolFacts, shown: _Shown) -> None:
    if plan := facts.word("plan"):
        shown.facts.append("approved" if facts.answered else "")
        shown.bodies.append(Prose(plan))
    elif facts.result.strip():
        shown.bodies.append(Prose(facts.result))


def _agent(facts: ToolFacts, shown: _Shown) -> None:
    found = facts.structured
    report = text_of(found.content) if isinstance(found, AgentResult) else ""
    text = report if report.strip() else facts.result
    if text.strip():
        shown.bodies.append(Prose(text))


def _skill(facts: ToolFacts, shown: _Shown) -> None:
    if facts.result.strip():
        shown.bodies.append(Prose(facts.result))


def _other(facts: ToolFacts, shown: _Shown) -> None:
    shown.bodies.append(Tree("input", facts.input))
    text = facts.result
    if not text.strip():
        return
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, ValueError):
        value = None
    if isinstance(value, dict | list):
        shown.bodies.append(Tree("result", value))
    else:
        shown.bodies.append(Terminal(text))


_BODIES: dict[str, _Shows] = {
    "shell": _shell,
    "read": _read,
    "change": _change,
    "search": _search,
    "web": _web,
    "todo": _todo,
    "question": _question,
    "plan": _plan,
    "agent": _agent,
    "skill": _skill,
}


def _pictures(call: ToolCall) -> Iterator[StepBody]:
    content = call.result_block.content if call.result_block else None
    yield from pictures_in(content if isinstance(content, tuple) else ())


def pictures_in(blocks: Iterable[Any]) -> Iterator[Picture | Fact]:
    """The images among some blocks; of a kind that browsers do not draw only that there is one."""
    for block in blocks:
        if isinstance(block, ImageBlock):
            source = block.source
            data = source.data if source else None
            kind = source.media_type if source else None
            if isinstance(data, str) and kind in _PICTURES:
                yield Picture(str(kind), data)
            else:
                yield Fact(f"an image ({kind})" if isinstance(kind, str) and kind else "an image")
