"""A tool call -> the part that `views` has for it, and its lines: one that says what it did, and a few of what came out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from stenograph.agent.faces.console.look import Look
from stenograph.views import BAD, CARE, GOOD, QUIET, YOU, count_of, cut, duration, harmless, one_line, short_path, width, wrap

if TYPE_CHECKING:
    from stenograph.agent.engine import events
    from stenograph.views import Body, ToolPart

#: Lines of an output that are shown: all of so many, else the first and the last.
SHOWN = 4
#: Lines of a change.
PATCH = 24
#: Columns of the number and the sign before such a line.
_NUMBER = 9
#: Milliseconds; quicker calls do not say how long they took.
_SLOW = 100
#: Characters; what is folded is not looked at beyond.
_LONGEST = 200_000
_SPILLED = re.compile(
    r"<persisted-output>\nOutput too large \(([^)]*)\)\. Full output saved to: (.+)\n\nPreview[^\n]*:\n(.*)", re.DOTALL
)
#: How the client's words for a refusal begin.
_REFUSED = "The user doesn't want to proceed with this tool use."
_MARKS = {"done": ("•", QUIET), "failed": ("✗", BAD), "interrupted": ("■", CARE), "running": ("●", GOOD)}


def asked_part(tool: str, given: dict[str, Any], cwd: str, tool_use_id: str = "") -> ToolPart:
    """A call before its result."""
    from stenograph.views import ToolFacts, tool_part

    return tool_part(tool_use_id, ToolFacts(tool, given, cwd))


def done_part(event: events.ToolEnd, given: dict[str, Any], cwd: str) -> ToolPart:
    import msgspec

    from stenograph.records import read_tool_result
    from stenograph.views import ToolFacts, tool_part

    content = event.result.get("content")
    result = content if isinstance(content, str) else _text(content)
    structured = read_tool_result(msgspec.Raw(msgspec.json.encode(event.structured)))
    known = None if structured is msgspec.UNSET else structured
    return tool_part(event.tool_use_id, ToolFacts(event.tool, given, cwd, True, result, event.is_error, known))


def _text(content: Any) -> str:
    if not isinstance(content, list):
        return ""
    return "\n".join(str(block.get("text")) for block in content if isinstance(block, dict) and block.get("type") == "text")


def mark_of(status: str, look: Look) -> str:
    sign, codes = _MARKS[status]
    return f"{look.paint(sign, *codes)} "


def heading(part: ToolPart, look: Look, *, status: str, facts: Sequence[str] = ()) -> str:
    title = harmless(part.title).strip().removeprefix("$ ")
    first, *more = title.split("\n")
    return look.row(
        one_line(first) + (" …" if more else ""),
        "  ".join(fact for fact in facts if fact),
        mark=mark_of(status, look),
        name=one_line(part.name) or "(unnamed tool)",
    )


def done_lines(part: ToolPart, look: Look, *, took: int = 0, status: str = "") -> list[str]:
    """The heading, and what came out: folded, unless it is short."""
    from stenograph.views import Fact, Output, Patch

    status = status or ("failed" if part.status == "failed" else "done")
    facts = [one_line(body.text) for body in part.bodies if isinstance(body, Fact)]
    outputs = [body for body in part.bodies if isinstance(body, Output)]
    patches = [body for body in part.bodies if isinstance(body, Patch)]
    if patches:
        added = sum(line.startswith("+") for body in patches for line in body.lines)
        removed = sum(line.startswith("-") for body in patches for line in body.lines)
        facts.insert(0, f"+{added} -{removed}")
    lines: list[str] = []
    is_folded = False
    for body in part.bodies:
        shown, folded = _body(body, look)
        lines += shown
        is_folded = is_folded or folded
    if outputs and not facts and status == "done" and not any(_SPILLED.match(body.text) for body in outputs):
        facts.append(count_of(sum(_count(body.text) for body in outputs), "line"))
    if took >= _SLOW:
        facts.append(("interrupted after " if status == "interrupted" else "") + duration(took))
    elif status == "interrupted":
        facts.append("interrupted")
    if is_folded:
        facts.append("ctrl-o")
    return [heading(part, look, status=status, facts=facts), *lines]


def refusal(content: Any) -> str | None:
    """What the person said when they refused a call, empty if nothing; None for another result."""
    if not isinstance(content, str) or not content.startswith(_REFUSED):
        return None
    return content.partition("the user said:\n")[2]


def denied_lines(part: ToolPart, said: str, look: Look) -> list[str]:
    """Without the words that are for the model."""
    if part.name == "ExitPlanMode":
        first = look.row("Plan rejected", mark=mark_of("failed", look))
    else:
        first = heading(part, look, status="failed", facts=["denied by you"])
    return [first, *(f"    {piece}" for line in harmless(said).split("\n") for piece in wrap(line, look.prose - 2) if said)]


def answered_lines(structured: object, look: Look) -> list[str]:
    """The model's own questions, and what the person chose."""
    answers = structured.get("answers") if isinstance(structured, dict) else None
    lines: list[str] = []
    for question, answer in answers.items() if isinstance(answers, dict) else ():
        lines.append(look.row(one_line(str(question)), mark=mark_of("done", look)))
        pieces = wrap(harmless(str(answer)), look.prose)
        lines += [look.paint(f"{'  ' if number else '> '}{piece}", *YOU) for number, piece in enumerate(pieces)]
    return lines


def _count(text: str) -> int:
    return text.strip("\n").count("\n") + 1


def _body(body: Body, look: Look) -> tuple[list[str], bool]:
    from stenograph.views import Checklist, Output, Patch

    match body:
        case Output():
            return _output(body.text, look, BAD if body.is_error else QUIET)
        case Patch():
            lines = list(patch_lines(body.lines, look))
            if len(lines) <= PATCH + 1:
                return lines, False
            more = f"    … {count_of(len(lines) - PATCH, 'more line')}"
            return [*lines[:PATCH], look.paint(more, *QUIET)], True
        case Checklist():
            boxes = {"completed": "✓", "in_progress": "●"}
            return [cut(f"    {boxes.get(state, '·')} {one_line(what)}", look.columns) for state, what in body.items], False
    return [], False


def _output(text: str, look: Look, codes: tuple[int, ...]) -> tuple[list[str], bool]:
    if (spilled := _SPILLED.match(text)) is not None:
        # What was too long for the model: its beginning, and where the rest is.
        first = cut(f"    {harmless(spilled[3].split(chr(10), 1)[0][:1000])}", look.columns)
        kept = cut(f"    … {spilled[1]} in all, kept in {short_path(spilled[2])}", look.columns)
        return [look.paint(first, *codes), look.paint(kept, *QUIET)], True
    number = _count(text)
    if number <= SHOWN and len(text) <= _LONGEST:
        whole = harmless(text).strip("\n").split("\n")
        shown, folded = [line.rstrip() for line in whole], False
        lines = [look.paint(cut(f"    {line}", look.columns), *codes) for line in shown]
        return lines, folded or any(len(line) + 4 > look.columns for line in shown)
    # Only the edges are made harmless: an output may be millions of characters long.
    stripped = text.strip("\n")
    first = harmless(stripped[:_LONGEST].split("\n", 1)[0][:1000]).split("\n", 1)[0]
    last = harmless(stripped[-_LONGEST:].rsplit("\n", 1)[-1][-1000:]).rsplit("\n", 1)[-1]
    more = f"    … {count_of(number - 2, 'more line')}" if number > 2 else "    …"
    lines = [look.paint(cut(f"    {first}", look.columns), *codes), look.paint(more, *QUIET)]
    if number > 1:
        lines.append(look.paint(cut(f"    {last}", look.columns), *codes))
    return lines, True


def output_lines(text: str, look: Look, *, most: int) -> list[str]:
    """The first lines of an output, and how many more there are."""
    lines = text.strip("\n").split("\n")
    shown = [look.paint(cut(f"  {harmless(line[:2000])}", look.columns), *QUIET) for line in lines[:most]]
    if len(lines) > most:
        shown.append(look.paint(f"  … {count_of(len(lines) - most, 'more line')}  ctrl-o", *QUIET))
    return shown


def patch_lines(lines: Sequence[str], look: Look) -> Iterator[str]:
    """Numbered, as the file has them: `14 -  old`."""
    for _, codes, text in _numbered(lines):
        yield look.paint(cut(text, look.columns), *codes)


def whole_patch(lines: Sequence[str], look: Look) -> Iterator[str]:
    """The same with nothing cut off."""
    for _, codes, text in _numbered(lines):
        pieces = wrap(text[_NUMBER:], look.columns - _NUMBER)
        yield look.paint(text[:_NUMBER] + pieces[0], *codes)
        yield from (look.paint(" " * _NUMBER + piece, *codes) for piece in pieces[1:])


def short_patch(lines: Sequence[str], look: Look, most: int, hint: str) -> list[str]:
    """The beginning of all that is removed in a row and of all that is added, and how much is missing."""
    numbered = list(_numbered(lines))
    cuts_lines = any(width(text) > look.columns for _, _, text in numbered)
    if len(numbered) + cuts_lines <= most:
        kept, end = numbered, f"    … {hint}" if cuts_lines else ""
    else:
        runs = [list(run) for _, run in groupby(numbered, key=lambda one: one[0])]
        most -= 1  # for the last line
        # Context makes way first, then the end of each run, then later runs.
        each = next((each for each in range(most, 1, -1) if sum(min(len(run), each) for run in runs) <= most), 0)
        if not each:
            runs = [run for run in runs if run[0][0] in ("-", "+")]
            each = next((each for each in range(most, 0, -1) if sum(min(len(run), each) for run in runs) <= most), 1)
        kept = [one for run in runs for one in run[:each]][:most]
        if not {sign for sign, _, _ in numbered} & {"-", "+"} <= {sign for sign, _, _ in kept}:
            # Far from each other: the first lines of both.
            kept = [one for sign in "-+" for one in [one for one in numbered if one[0] == sign][: max(1, most // 2)]]
        missing = {sign: sum(one[0] == sign for one in numbered) - sum(one[0] == sign for one in kept) for sign in "-+"}
        words = [f"{missing[sign]} more {what}" for sign, what in (("-", "removed"), ("+", "added")) if missing[sign]]
        end = f"    … {', '.join(words)}{'  ' if words else ''}{hint}"
    shown = [look.paint(cut(text, look.columns), *codes) for _, codes, text in kept]
    return [*shown, look.paint(cut(end, look.columns), *QUIET)] if end else shown


def _numbered(lines: Sequence[str]) -> Iterator[tuple[str, tuple[int, ...], str]]:
    """The sign, the color and the text of each line."""
    old = new = 1
    is_first = True
    for line in lines:
        if line.startswith("@@"):
            old, new = _starts(line)
            if not is_first:
                yield " ", QUIET, "    ⋮"
            is_first = False
            continue
        sign, text = line[:1], harmless(line[1:]).replace("\n", " ")
        number, codes = (old, BAD) if sign == "-" else (new, GOOD) if sign == "+" else (new, QUIET)
        if sign == "\\":
            continue
        old += sign != "+"
        new += sign != "-"
        yield sign, codes, f"  {number:>4} {sign if sign in '+-' else ' '} {text}"


def _starts(hunk: str) -> tuple[int, int]:
    found = re.match(r"@@ -(\d+)(?:,\d+)? \+(\d+)", hunk)
    return (int(found[1]), int(found[2])) if found else (1, 1)


def full_lines(part: ToolPart, look: Look) -> Iterator[str]:
    """Everything, as `views` renders it."""
    from stenograph.views import render_part

    yield from render_part(part, look.options(full=True, agents=True))
