"""Sessions as hard as real life and worse, made from a source of randomness: the same source gives the same session.

In: a `random.Random`, or hypothesis in its place (`hard_sessions`). Out: the bytes of a session file and the names of the shapes
in it. A session is grown step by step, as a client would write it, then twisted: lines are lost, torn, doubled and moved, fields
are taken away. Knows nothing of what a client makes of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st
from tests.messages import hard_cases as made
from tests.messages.hard_cases import (
    MODEL,
    NEWEST_MODEL,
    NOWHERE,
    Json,
    Line,
    call,
    encode,
    image,
    returned,
    text,
    thinking,
    uid,
)

OTHER_SESSION = "99999999-8888-4777-8666-555555555555"
_BEGIN = datetime(2026, 11, 1, 10, tzinfo=UTC)
_T = TypeVar("_T")


@dataclass(frozen=True)
class HardSession:
    data: bytes
    # Names of steps and twists.
    features: frozenset[str]


def hard_session(random: Random) -> HardSession:
    maker = Maker(random)
    maker.grow()
    return HardSession(made.session(maker.lines), frozenset(maker.features))


def hard_sessions() -> st.SearchStrategy[HardSession]:
    return st.randoms(use_true_random=False).map(hard_session)


def numbered_sessions(seed: int, count: int) -> Iterator[HardSession]:
    """The first sessions of a seed; the same ones every time, whatever is asked of them."""
    for number in range(count):
        yield hard_session(Random(f"{seed}/{number}"))


@dataclass
class Maker:
    """A session that is being written."""

    random: Random
    lines: list[Line] = field(default_factory=list)
    features: set[str] = field(default_factory=set)
    # The number of the record that the next one hangs off; 0 for none.
    tip: int = 0
    number: int = 0
    model: str = MODEL
    now: datetime = _BEGIN
    gaps: tuple[float, ...] = (1.0,)

    def grow(self) -> None:
        choose = self.random.choice
        self.model = choose([MODEL, MODEL, NEWEST_MODEL])
        self.gaps = choose([(1.0,), (1.0,), (1.0,), (0.5, 1.0, 2.0, 7.0), (0.001, 0.2), (0.0, 1.0)])
        if 0.0 in self.gaps:
            self.features.add("equal_times")
        self.step(prompt)
        for _ in range(self.random.randint(2, 11)):
            self.step(self.weighted(_STEPS))
        if self.random.random() < 0.5:
            self.step(self.weighted(_ENDINGS))
        for _ in range(choose([0, 0, 1, 1, 2, 3])):
            twist = self.weighted(_TWISTS)
            if self.records() and twist(self):
                self.features.add(twist.__name__)

    def step(self, step: Callable[[Maker], None]) -> None:
        self.features.add(step.__name__)
        step(self)

    def weighted(self, of: dict[Callable[[Maker], _T], int]) -> Callable[[Maker], _T]:
        return self.random.choices(list(of), weights=list(of.values()))[0]

    # --- lines

    def place(self) -> int:
        self.number += 1
        self.now += timedelta(seconds=self.random.choice(self.gaps))
        return self.number

    def add(self, record: Json) -> int:
        """A record that the next one hangs off."""
        self.lines.append({**record, "timestamp": stamp(self.now)})
        self.tip = self.number
        return self.number

    def user(self, content: Any, **more: Any) -> int:
        return self.add(made.user(self.place(), self.tip, content, **more))

    def answer(self, content: Any, *, of: str | None = None, **more: Any) -> int:
        return self.add(made.answer(self.place(), self.tip, content, of=of, model=more.pop("model", self.model), **more))

    def system(self, subtype: str, content: str = "x", **more: Any) -> int:
        return self.add(made.system(self.place(), self.tip, subtype, content, **more))

    def attachment(self, body: Json, **more: Any) -> int:
        return self.add(made.attachment(self.place(), self.tip, body, **more))

    def progress(self) -> int:
        data = {"type": "hook_progress", "hookEvent": "PreToolUse", "hookName": "PreToolUse:Bash", "command": "true"}
        return self.add(
            made.chained(self.place(), self.tip, "progress", data=data, toolUseID="toolu_p", parentToolUseID="toolu_p")
        )

    def aside(self, line: Line) -> None:
        """A line that has no place in the chain."""
        self.lines.append(line)

    # --- choices

    def words(self, what: str) -> str:
        return f"{what} {self.number + 1}"

    def id(self, what: str) -> str:
        return f"{what}_{self.number + 1:04d}"

    def records(self) -> list[int]:
        """Places of lines that are chained records."""
        return [place for place, line in enumerate(self.lines) if isinstance(line, dict) and "uuid" in line]

    def some_record(self) -> int:
        """The place of one of them."""
        return self.random.choice(self.records())

    def some_uuid(self) -> str:
        line = self.lines[self.some_record()]
        assert isinstance(line, dict)
        return str(line["uuid"])

    def change(self, place: int, **changes: Any) -> None:
        line = self.lines[place]
        assert isinstance(line, dict)
        self.lines[place] = {**line, **changes}


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


Step = Callable[[Maker], None]
Twist = Callable[[Maker], bool]
_STEPS: dict[Step, int] = {}
_ENDINGS: dict[Step, int] = {}
_TWISTS: dict[Twist, int] = {}


def step(weight: int = 2, *, ending: int = 0) -> Callable[[Step], Step]:
    """A step that may stand anywhere, or with a weight of its own at the end."""

    def register(made: Step) -> Step:
        if weight:
            _STEPS[made] = weight
        if ending:
            _ENDINGS[made] = ending
        return made

    return register


def twist(weight: int = 2) -> Callable[[Twist], Twist]:
    def register(made: Twist) -> Twist:
        _TWISTS[made] = weight
        return made

    return register


def all_features() -> frozenset[str]:
    return frozenset({one.__name__ for one in (*_STEPS, *_ENDINGS, *_TWISTS)} | {"equal_times"})


# --- what the person says


@step(10, ending=3)
def prompt(m: Maker) -> None:
    m.user(m.words("prompt"))


@step(ending=1)
def prompt_of_blocks(m: Maker) -> None:
    m.user([text(m.words(f"part {part} of prompt")) for part in range(m.random.randint(1, 3))])


@step(1)
def prompt_with_image(m: Maker) -> None:
    blocks = [text(m.words("look at this")), image()]
    m.random.shuffle(blocks)
    m.user(blocks)


@step(1)
def prompt_with_document(m: Maker) -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "document words"}
    m.user([{"type": "document", "source": source, "title": "a"}, text(m.words("read this"))])


@step(1)
def prompt_blank(m: Maker) -> None:
    blank = m.random.choice(["", " ", "\n", " \t\n"])
    m.user(
        m.random.choice([blank, [text(blank)], [text(blank), text(m.words("prompt"))], [text(m.words("prompt")), text(blank)]])
    )


@step(1)
def prompt_of_nothing(m: Maker) -> None:
    m.user([])


@step(1)
def prompt_with_unknown_block(m: Maker) -> None:
    blocks = [{"type": "of_tomorrow", "words": "x"}, text(m.words("prompt"))]
    m.random.shuffle(blocks)
    m.user(blocks)


@step(1)
def prompt_with_outer_blanks(m: Maker) -> None:
    m.user(m.random.choice(["\n {}\n", "{}\n", "  {}", "{}\r\n"]).format(m.words("prompt")))


@step(1)
def prompt_in_all_scripts(m: Maker) -> None:
    m.user(m.words("héllo 世界 😀 \u2028 \x7f \u0000 \ud83d e\u0301"))


@step(1)
def prompt_huge(m: Maker) -> None:
    m.user(m.words("long") + " words" * m.random.choice([2_000, 12_000]))


@step(1, ending=1)
def prompt_that_is_meta(m: Maker) -> None:
    m.user(m.words("meta words"), isMeta=True)


@step(1)
def prompt_only_in_transcript(m: Maker) -> None:
    m.user(m.words("transcript words"), isVisibleInTranscriptOnly=True)


@step(1)
def prompt_with_reminder(m: Maker) -> None:
    reminder = f"<system-reminder>\n{m.words('stored')}\n</system-reminder>"
    m.user(
        m.random.choice([reminder, [text(reminder)], [text(m.words("prompt")), text(reminder)]]),
        **m.random.choice([{}, {"isMeta": True}]),
    )


@step(1)
def summary_without_boundary(m: Maker) -> None:
    m.user(m.words("summary"), isCompactSummary=True, isVisibleInTranscriptOnly=True)


@step(1, ending=2)
def interrupt(m: Maker) -> None:
    m.user([text(m.random.choice(["[Request interrupted by user]", "[Request interrupted by user for tool use]"]))])


@step(1, ending=2)
def local_command_as_prompts(m: Maker) -> None:
    if m.random.random() < 0.7:
        words = "Caveat: The messages below were generated by the user while running local commands."
        m.user(f"<local-command-caveat>{words}</local-command-caveat>", isMeta=True)
    m.user("<command-name>/cost</command-name>\n<command-message>cost</command-message>\n<command-args></command-args>")
    if m.random.random() < 0.8:
        m.user("<local-command-stdout>cheap</local-command-stdout>")


@step(1)
def shell_input(m: Maker) -> None:
    m.user("<bash-input>ls</bash-input>")
    m.user("<bash-stdout>a.txt</bash-stdout><bash-stderr></bash-stderr>")


@step(1)
def task_notification(m: Maker) -> None:
    m.user(m.words("<task-notification>done</task-notification>"), origin={"kind": "task-notification"})


# --- what the model says


@step(12, ending=2)
def answer(m: Maker) -> None:
    m.answer(m.words("answer"))


@step(4)
def turn(m: Maker) -> None:
    m.user(m.words("prompt"))
    m.answer(m.words("answer"))


@step()
def answer_of_lines(m: Maker) -> None:
    of = m.id("msg")
    for _ in range(m.random.randint(2, 3)):
        m.answer(m.words("line"), of=of)


@step()
def answer_with_thinking(m: Maker) -> None:
    of = m.id("msg")
    thought = m.random.choice(
        [thinking("signed"), thinking("unsigned", None), thinking("empty signature", ""), thinking("", "c2ln")]
    )
    if m.random.random() < 0.5:
        m.answer([thought], of=of)
        m.answer([text(m.words("answer"))], of=of)
    else:
        m.answer([thought, text(m.words("answer"))], of=of)


@step(1)
def answer_with_redacted_thinking(m: Maker) -> None:
    of = m.id("msg")
    m.answer([{"type": "redacted_thinking", "data": "cmVk"}], of=of)
    m.answer([text(m.words("answer"))], of=of)


@step(1, ending=1)
def answer_of_only_thinking(m: Maker) -> None:
    m.answer([thinking("alone", m.random.choice(["c2ln", None]))])


@step(1)
def answer_that_ends_in_thinking(m: Maker) -> None:
    m.answer([text(m.words("answer")), thinking("after")])


@step(1, ending=1)
def answer_of_nothing(m: Maker) -> None:
    m.answer([])


@step(1, ending=1)
def answer_blank(m: Maker) -> None:
    blank = text(m.random.choice(["", " ", "\n\n"]))
    m.answer(
        m.random.choice(
            [[blank], [blank, blank], [blank, text(m.words("answer"))], [text(m.words("answer")), blank], [thinking("x"), blank]]
        )
    )


@step(1)
def answer_as_string(m: Maker) -> None:
    m.answer([])
    last = m.lines[-1]
    assert isinstance(last, dict)
    m.lines[-1] = made.with_message(last, content=m.words("string answer"))


@step(1)
def answer_synthetic(m: Maker) -> None:
    m.answer(m.random.choice(["No response requested.", m.words("synthetic")]), model="<synthetic>")


@step(1, ending=2)
def answer_of_api_error(m: Maker) -> None:
    m.answer("API Error: 529 overloaded", model="<synthetic>", isApiErrorMessage=True)


@step(1)
def answer_of_other_model(m: Maker) -> None:
    model = m.random.choice(["claude-opus-4-1-20250805", NEWEST_MODEL, MODEL, "gpt-5", "claude-sonnet-4-20250514"])
    m.answer([thinking("of another"), text(m.words("answer"))], model=model)


@step(1)
def answer_without_id(m: Maker) -> None:
    for _ in range(m.random.randint(1, 2)):
        m.answer(m.words("answer"))
        last = m.lines[-1]
        assert isinstance(last, dict)
        m.lines[-1] = made.with_message(last, id=None)


@step(1)
def answer_with_id_of_earlier(m: Maker) -> None:
    ids = [
        line["message"]["id"]
        for line in m.lines
        if isinstance(line, dict) and line["type"] == "assistant" and "id" in line["message"]
    ]
    m.answer(m.words("answer"), of=m.random.choice(ids) if ids else None)


@step(1)
def answer_with_unknown_block(m: Maker) -> None:
    m.answer([{"type": "of_tomorrow", "words": "x"}, text(m.words("answer"))])


@step(1)
def answer_with_server_tool(m: Maker) -> None:
    use = m.id("srvtoolu")
    found = {"type": "web_search_tool_result", "tool_use_id": use, "content": []}
    m.answer(
        [{"type": "server_tool_use", "id": use, "name": "web_search", "input": {"query": "x"}}, found, text(m.words("answer"))]
    )


@step(1)
def answer_in_growing_copies(m: Maker) -> None:
    of = m.id("msg")
    first = text(m.words("answer"))
    m.answer([first], of=of)
    m.answer([first, text(m.words("answer"))], of=of)


# --- tools


def _use(m: Maker) -> Json:
    use = f"toolu_{m.number:04d}{m.random.choice('abcdefgh')}{m.random.randint(0, 999):03d}"
    name, given = m.random.choice(_TOOLS)
    return {**call(use, name), "input": given}


_TOOLS: list[tuple[str, Any]] = [
    ("Bash", {"command": "ls -la", "description": "List"}),
    ("Bash", {"command": "sleep 1", "run_in_background": False, "timeout": 5000}),
    ("Read", {"file_path": "/home/user/proj/a.txt", "limit": 10}),
    ("Edit", {"file_path": "/home/user/proj/a.txt", "old_string": "a\n", "new_string": "b  \n", "replace_all": False}),
    ("Write", {"file_path": "/home/user/proj/a.md", "content": "words  \n"}),
    ("Grep", {"pattern": "x", "-n": True}),
    ("Task", {"description": "d", "prompt": "p", "subagent_type": "Explore"}),
    ("TodoWrite", {"todos": [{"content": "c", "status": "pending", "activeForm": "doing"}]}),
    ("TodoWrite", {"todos": '[{"content": "c"}]'}),
    ("ExitPlanMode", {"plan": "the plan"}),
    ("mcp__server__tool", {"a": [1, 2.5, None, {"b": True}]}),
    ("NoSuchTool", {}),
    ("Skill", {"skill": "s", "args": "a"}),
    ("AskUserQuestion", {"questions": [{"question": "q?", "header": "h", "options": [], "multiSelect": False}]}),
]


def _result(m: Maker, use: Json) -> Json:
    content = m.words("result") if m.random.random() < 0.6 else m.random.choice(_RESULTS)
    more: Json = m.random.choice([{}, {}, {}, {"is_error": False}, {"is_error": True}])
    if m.random.random() < 0.05:
        more = {**more, "of_tomorrow": 1}
    made_result = returned(use["id"], content, **more)
    if content is None:
        del made_result["content"]
    return made_result


_RESULTS: list[Any] = [
    "",
    " \n",
    "\n  result with outer blanks \n\n",
    [],
    None,
    [text("one")],
    [text("one"), text("two")],
    [text("")],
    [text("one"), image()],
    [image()],
    [{"type": "tool_reference", "tool_name": "WebFetch"}],
    [{"type": "tool_reference", "tool_name": "NoSuchTool"}, text("found")],
    [{"type": "of_tomorrow"}],
    "<persisted-output>\nOutput too large (30KB). Full output saved to: /home/user/x.txt\n</persisted-output>",
    "<tool_use_error>Error: no</tool_use_error>",
    "long " * 8_000,
]


@step(10)
def tool_call(m: Maker) -> None:
    use = _use(m)
    m.answer([use])
    m.user([_result(m, use)])


@step(2)
def tool_call_with_words(m: Maker) -> None:
    use, of = _use(m), m.id("msg")
    before = m.random.choice([[], [thinking("hm")], [text(m.words("I will"))], [thinking("hm"), text(m.words("I will"))]])
    after = m.random.choice([[], [], [text(m.words("so"))]])
    if m.random.random() < 0.6:
        for block in (*before, use, *after):
            m.answer([block], of=of)
    else:
        m.answer([*before, use, *after], of=of)
    m.user([_result(m, use), *m.random.choice([[], [], [text(m.words("beside the result"))], [image()]])])


@step(2)
def text_before_result_in_one_record(m: Maker) -> None:
    use = _use(m)
    m.answer([use])
    m.user([text(m.words("before the result")), _result(m, use), text(m.words("after the result"))])


@step(2)
def parallel_calls_in_one_line(m: Maker) -> None:
    uses = [_use(m) for _ in range(m.random.randint(2, 3))]
    m.answer(list(uses))
    order = m.random.sample(uses, len(uses))
    if m.random.random() < 0.5:
        m.user([_result(m, use) for use in order])
    else:
        for use in order:
            m.user([_result(m, use)])


@step(3)
def parallel_calls_in_a_row(m: Maker) -> None:
    """As 2.0.76 writes them: every line hangs off the one before."""
    of = m.id("msg")
    uses = []
    for _ in range(m.random.randint(2, 4)):
        uses.append(_use(m))
        m.answer([uses[-1]], of=of)
    for use in m.random.sample(uses, len(uses)):
        m.user([_result(m, use)])


@step(4, ending=1)
def parallel_calls_as_a_tree(m: Maker) -> None:
    """As newer releases write them: every result hangs off its own use, and what follows off one of the results."""
    of = m.id("msg")
    uses: list[tuple[Json, int]] = []
    results: list[int] = []
    if m.random.random() < 0.3:
        m.answer([m.random.choice([text(m.words("I will")), thinking("hm")])], of=of)
    for _ in range(m.random.randint(2, 4)):
        use = _use(m)
        uses.append((use, m.answer([use], of=of)))
        if m.random.random() < 0.3:
            end = m.tip
            results.append(m.user([_result(m, use)]))
            m.tip = end
            uses.pop()
    for use, number in m.random.sample(uses, len(uses)):
        m.tip = number
        results.append(m.user([_result(m, use)]))
    if m.random.random() < 0.3:
        m.tip = m.random.choice(results)


@step(1)
def parallel_calls_with_one_lost(m: Maker) -> None:
    of = m.id("msg")
    uses = []
    for _ in range(m.random.randint(2, 3)):
        use = _use(m)
        uses.append((use, m.answer([use], of=of)))
    linear = m.random.random() < 0.5
    for use, number in m.random.sample(uses, len(uses) - 1):
        if not linear:
            m.tip = number
        m.user([_result(m, use)])


@step(1)
def response_over_results(m: Maker) -> None:
    of = m.id("msg")
    for _ in range(m.random.randint(2, 3)):
        use = _use(m)
        m.answer([use], of=of)
        m.user([_result(m, use)])
    if m.random.random() < 0.5:
        m.answer(m.words("answer"), of=of)


@step(1, ending=4)
def call_without_result(m: Maker) -> None:
    of = m.id("msg")
    words = m.random.choice([[], [text(m.words("I will"))], [thinking("hm")]])
    uses = [_use(m) for _ in range(m.random.choice([1, 1, 2]))]
    if m.random.random() < 0.5:
        m.answer([*words, *uses], of=of)
    else:
        for block in (*words, *uses):
            m.answer([block], of=of)


@step(1, ending=1)
def one_of_two_calls_of_a_line_without_result(m: Maker) -> None:
    uses = [_use(m), _use(m)]
    m.answer([*m.random.choice([[], [text(m.words("I will"))]]), *uses])
    m.user([_result(m, m.random.choice(uses))])


@step(1, ending=1)
def result_without_call(m: Maker) -> None:
    m.user([_result(m, call(m.id("toolu_lost")))])


@step(1)
def result_twice(m: Maker) -> None:
    use = _use(m)
    m.answer([use])
    if m.random.random() < 0.5:
        m.user([_result(m, use), _result(m, use)])
    else:
        m.user([_result(m, use)])
        m.user([_result(m, use)])


@step(1)
def call_twice(m: Maker) -> None:
    use = _use(m)
    m.answer([use])
    m.user([_result(m, use)])
    if m.random.random() < 0.5:
        m.answer(m.words("answer"))
    m.answer([use])
    if m.random.random() < 0.7:
        m.user([_result(m, use)])


@step(1)
def words_between_call_and_result(m: Maker) -> None:
    use = _use(m)
    m.answer([use])
    m.step(m.random.choice([prompt, answer, interrupt, system_line, progress, attachment_rendered, prompt_that_is_meta]))
    m.user([_result(m, use)])


@step(1)
def result_before_call(m: Maker) -> None:
    use = _use(m)
    m.user([_result(m, use)])
    m.answer([use])


# --- system lines, attachments, progress


@step(3, ending=2)
def system_line(m: Maker) -> None:
    m.system(m.random.choice(["informational", "turn_duration", "stop_hook_summary", "api_error", "away_summary", "of_tomorrow"]))


@step(1, ending=1)
def microcompact(m: Maker) -> None:
    m.system(
        "microcompact_boundary",
        "Context microcompacted",
        microcompactMetadata={"trigger": "auto", "preTokens": 1, "tokensSaved": 1},
    )


@step(1, ending=1)
def local_command_line(m: Maker) -> None:
    more = m.random.choice([{}, {}, {"isDisplayOnly": True}])
    m.system("local_command", f"<command-name>/x</command-name>{m.number}", **more)
    if m.random.random() < 0.6:
        m.system("local_command", "<local-command-stdout>done</local-command-stdout>", **more)


@step(2, ending=2)
def progress(m: Maker) -> None:
    for _ in range(m.random.randint(1, 2)):
        m.progress()


@step(1, ending=1)
def unknown_kind_in_chain(m: Maker) -> None:
    m.add(made.chained(m.place(), m.tip, "of-tomorrow", content="x"))


_HOOK = {"hookName": "PreToolUse:Bash", "toolUseID": "h", "hookEvent": "PreToolUse"}
# Bodies as clients write them: one that lacks what its kind has makes old releases give up.
_OWN_WORDS: list[Json] = [
    {"type": "edited_text_file", "filename": "/home/user/proj/a.txt", "snippet": "1→a"},
    {"type": "todo_reminder", "content": [], "itemCount": 0},
    {"type": "hook_success", "content": "", "stdout": "", "stderr": "", "exitCode": 0, **_HOOK},
    {"type": "hook_additional_context", "content": ["x"], **_HOOK},
    {"type": "date_change", "newDate": "2026-11-02"},
    {"type": "critical_system_reminder", "content": "critical words"},
]


def _rendered(m: Maker) -> list[Json]:
    wrapped = f"<system-reminder>\n{m.words('stored')}\n</system-reminder>"
    return [{"content": m.random.choice([wrapped, wrapped, m.words("stored bare")])}]


@step(3, ending=2)
def attachment_rendered(m: Maker) -> None:
    bodies = [*_OWN_WORDS, {"type": "of-tomorrow", "content": "x"}, {"type": "date", "date": "2026-11-01"}]
    role = m.random.choice([{}, {"renderedRole": "user"}, {"renderedRole": "system"}])
    m.attachment(m.random.choice(bodies), rendered=_rendered(m), **role)


@step(1)
def attachment_rendered_in_parts(m: Maker) -> None:
    role = m.random.choice([{"renderedRole": "user"}, {"renderedRole": "system"}])
    m.attachment({"type": "of-tomorrow"}, rendered=[*_rendered(m), *_rendered(m)], **role)


@step(1)
def attachment_of_unknown_kind(m: Maker) -> None:
    m.attachment({"type": "of-tomorrow", "content": "x"})


@step(1)
def attachment_of_queued_words(m: Maker) -> None:
    person = m.random.choice([{}, {"humanTurn": True, "origin": {"kind": "human"}}])
    rendered = m.random.choice([{}, {"rendered": _rendered(m), "renderedRole": "system"}])
    body = {"type": "queued_command", "prompt": m.words("queued"), "commandMode": "prompt", **person}
    m.attachment(body, **rendered)


@step(1, ending=1)
def attachment_in_own_words(m: Maker) -> None:
    m.attachment(m.random.choice(_OWN_WORDS))


@step(1)
def attachment_of_a_file(m: Maker) -> None:
    file = {"filePath": "/home/user/proj/a.txt", "content": "a\n", "numLines": 2, "startLine": 1, "totalLines": 2}
    body = {
        "type": "file",
        "filename": "/home/user/proj/a.txt",
        "content": {"type": "text", "file": file},
        "displayPath": "a.txt",
    }
    m.attachment(body, **m.random.choice([{}, {"rendered": _rendered(m), "renderedRole": "user"}]))


# --- compaction


def _boundary(m: Maker, metadata: Json) -> int:
    before = m.tip
    if m.random.random() < 0.6:
        m.tip = 0
    return m.add(made.boundary(m.place(), m.tip, logicalParentUuid=uid(before), compactMetadata=metadata))


@step(2)
def compaction(m: Maker) -> None:
    _boundary(m, {})
    m.user(m.words("summary"), isCompactSummary=True, isVisibleInTranscriptOnly=True)


@step(1, ending=1)
def compaction_without_summary(m: Maker) -> None:
    _boundary(m, {})


@step(2)
def compaction_with_preserved_segment(m: Maker) -> None:
    head, tail = sorted(m.random.choices(_own_records(m), k=2))
    anchor = m.number + m.random.choice([1, 2, 2, 2])
    segment = {"headUuid": _uuid(m, head), "anchorUuid": uid(anchor), "tailUuid": _uuid(m, tail)}
    _boundary(m, {"preservedSegment": segment})
    m.user(m.words("summary"), isCompactSummary=True)


@step(2)
def compaction_with_preserved_messages(m: Maker) -> None:
    kept = [_uuid(m, place) for place in sorted(set(m.random.choices(_own_records(m), k=3)))]
    anchor = m.number + m.random.choice([1, 2, 2, 2])
    _boundary(m, {"preservedMessages": {"anchorUuid": uid(anchor), "uuids": kept, "allUuids": kept}})
    m.user(m.words("summary"), isCompactSummary=True)


def _own_records(m: Maker) -> list[int]:
    """Records that are no sub-agent's: no compaction preserves those."""
    return [place for place in m.records() if not m.lines[place].get("isSidechain")]  # type: ignore[union-attr]


def _uuid(m: Maker, place: int) -> str:
    line = m.lines[place]
    assert isinstance(line, dict)
    return str(line["uuid"])


# --- the tree


@step(4)
def rewind(m: Maker) -> None:
    """The next record hangs off an earlier one."""
    m.tip = m.random.randint(0, m.number)
    m.user(m.words("prompt of another branch"))


@step(1)
def new_root(m: Maker) -> None:
    m.tip = 0
    m.user(m.words("prompt of a new root"))


@step(1)
def missing_parent(m: Maker) -> None:
    m.tip = m.place()  # a record that is never written
    m.user(m.words("prompt after a missing one"))


@step(2)
def sidechain_beside(m: Maker) -> None:
    tip = m.tip
    if m.random.random() < 0.5:
        m.tip = 0
    m.user(m.words("sidechain"), isSidechain=True)
    m.answer(m.words("sidechain"), isSidechain=True)
    m.tip = tip


@step(1, ending=1)
def sidechain_inside(m: Maker) -> None:
    m.user(m.words("sidechain"), isSidechain=True)
    m.answer(m.words("sidechain"), isSidechain=True)


# --- lines outside the chain


@step(3)
def side_line(m: Maker) -> None:
    lines: list[Json] = [
        {"type": "summary", "summary": "Title", "leafUuid": m.some_uuid()},
        {"type": "custom-title", "customTitle": "title", "sessionId": made.SESSION_ID},
        {"type": "ai-title", "aiTitle": "title", "sessionId": made.SESSION_ID},
        {"type": "queue-operation", "operation": "enqueue", "timestamp": stamp(m.now), "content": "queued"},
        {"type": "queue-operation", "operation": "dequeue", "timestamp": stamp(m.now), "sessionId": made.SESSION_ID},
        {"type": "file-history-snapshot", "messageId": m.some_uuid(), "snapshot": {"trackedFileBackups": {}}},
        {"type": "mode", "mode": "normal", "sessionId": made.SESSION_ID},
        {"type": "of-tomorrow", "sessionId": made.SESSION_ID},
        {"type": "agent-name", "agentName": "x", "sessionId": made.SESSION_ID},
    ]
    m.aside(m.random.choice(lines))


@step(3)
def last_prompt_line(m: Maker) -> None:
    leaf = m.random.choice([m.some_uuid(), m.some_uuid(), uid(m.tip), NOWHERE, uid(9999)])
    explicit = m.random.choice([{}, {}, {"explicit": True}])
    m.aside({"type": "last-prompt", "lastPrompt": "x", "leafUuid": leaf, "sessionId": made.SESSION_ID, **explicit})


# --- twists of the whole file


@twist(3)
def bad_lines(m: Maker) -> bool:
    for _ in range(m.random.randint(1, 3)):
        bad = m.random.choice(
            [b"\n", b"  \n", b"not json\n", b'{"type":"user","uuid":\n', b"[1,2]\n", b"7\n", b'"x"\n', b"{}\n", b"\0\0\0\0\n"]
        )
        m.lines.insert(m.random.randint(0, len(m.lines)), bad)
    return True


@twist(1)
def null_line(m: Maker) -> bool:
    m.lines.insert(m.random.randint(0, len(m.lines)), b"null\n")
    return True


@twist()
def torn_end(m: Maker) -> bool:
    line = m.lines[-1]
    data = encode(line) if isinstance(line, dict) else line
    m.lines[-1] = data[: m.random.randint(1, max(1, len(data) - 1))]
    return True


@twist(1)
def no_newline_at_the_end(m: Maker) -> bool:
    line = m.lines[-1]
    m.lines[-1] = encode(line) if isinstance(line, dict) else line.rstrip(b"\n")
    return True


@twist()
def torn_line(m: Maker) -> bool:
    place = m.some_record()
    line = m.lines[place]
    assert isinstance(line, dict)
    data = encode(line)
    m.lines[place] = data[: m.random.randint(1, len(data) - 1)] + m.random.choice([b"\n", b"\n", b""])
    return True


@twist()
def two_objects_on_a_line(m: Maker) -> bool:
    place = m.some_record()
    line = m.lines[place]
    assert isinstance(line, dict)
    m.lines[place] = encode(line) + m.random.choice([b"", b" ", b" words\n"])
    return True


@twist(1)
def object_over_two_lines(m: Maker) -> bool:
    place = m.some_record()
    line = m.lines[place]
    assert isinstance(line, dict)
    m.lines[place] = json.dumps(line, separators=(",\n", ":")).encode().replace(b",\n", b",", 3) + b"\n"
    return True


@twist(1)
def invalid_utf8(m: Maker) -> bool:
    place = m.some_record()
    line = m.lines[place]
    assert isinstance(line, dict)
    m.lines[place] = encode(line).replace(b"prompt", b"pro\xffm\xe2\x82pt").replace(b"answer", b"ans\xc3wer") + b"\n"
    return True


@twist(1)
def line_ends_of_windows(m: Maker) -> bool:
    m.lines[:] = [encode(line) + b"\r\n" if isinstance(line, dict) else line for line in m.lines]
    return True


@twist(1)
def byte_order_mark(m: Maker) -> bool:
    m.lines.insert(0, b"\xef\xbb\xbf")
    return True


@twist(3)
def lost_line(m: Maker) -> bool:
    if len(m.records()) < 3:
        return False
    del m.lines[m.some_record()]
    return True


@twist(2)
def doubled_line(m: Maker) -> bool:
    m.lines.insert(m.random.randint(0, len(m.lines)), m.lines[m.some_record()])
    return True


@twist(2)
def uuid_of_another(m: Maker) -> bool:
    """Two records with one uuid."""
    m.change(m.some_record(), uuid=m.some_uuid())
    return True


@twist(2)
def moved_lines(m: Maker) -> bool:
    for _ in range(m.random.randint(1, 3)):
        moved = m.lines.pop(m.some_record())
        m.lines.insert(m.random.randint(0, len(m.lines)), moved)
    return True


@twist(1)
def reversed_lines(m: Maker) -> bool:
    m.lines.reverse()
    return True


@twist(2)
def other_parent(m: Maker) -> bool:
    """A record that hangs off another than it did, off itself or in a loop too."""
    m.change(m.some_record(), parentUuid=m.random.choice([m.some_uuid(), m.some_uuid(), m.some_uuid(), None, "", uid(8888)]))
    return True


@twist(1)
def loop(m: Maker) -> bool:
    places = m.records()
    if len(places) < 3:
        return False
    first, last = sorted(m.random.sample(places, 2))
    m.change(first, parentUuid=_uuid(m, last))
    return True


@twist(3)
def other_time(m: Maker) -> bool:
    far = m.random.choice([-3600, -60, -3, 3, 60, 3600])
    for _ in range(m.random.randint(1, 2)):
        place = m.some_record()
        m.change(place, timestamp=stamp(_BEGIN + timedelta(seconds=place + far)))
    return True


@twist(1)
def time_of_another(m: Maker) -> bool:
    place = m.some_record()
    line = m.lines[m.some_record()]
    assert isinstance(line, dict)
    m.change(place, timestamp=line.get("timestamp"))
    return True


@twist(1)
def times_run_backwards(m: Maker) -> bool:
    for place in m.records():
        m.change(place, timestamp=stamp(_BEGIN + timedelta(seconds=1000 - place)))
    return True


@twist(1)
def odd_time(m: Maker) -> bool:
    odd = ["2026-11-01T12:00:05+02:00", "2026-11-01 10:00:03Z", 1793527205000, "yesterday", "", None]
    m.change(m.some_record(), timestamp=m.random.choice(odd))
    return True


@twist(3)
def missing_field(m: Maker) -> bool:
    place = m.some_record()
    line = m.lines[place]
    assert isinstance(line, dict)
    names = ["timestamp", "uuid", "parentUuid", "type", "message", "isSidechain", "sessionId", "version", "cwd", "userType"]
    m.lines[place] = made.without(line, m.random.choice(names))
    return True


@twist(1)
def bare_fields(m: Maker) -> bool:
    """Every record with what it can't do without."""
    gone = ("sessionId", "version", "cwd", "userType", "isSidechain", "gitBranch", "requestId")
    m.lines[:] = [
        made.without(line, *gone) if isinstance(line, dict) and not line.get("isSidechain") else line for line in m.lines
    ]
    return True


@twist(2)
def other_session_id(m: Maker) -> bool:
    for place in m.records() if m.random.random() < 0.3 else [m.some_record(), m.some_record()]:
        m.change(place, sessionId=OTHER_SESSION, version="1.0.3")
    return True


def shrunk(lines: Sequence[bytes], is_still: Callable[[bytes], bool]) -> list[bytes]:
    """The fewest lines for which something still holds: halves are taken away, then quarters, then single lines."""
    left = list(lines)
    size = max(1, len(left) // 2)
    while True:
        place, is_smaller = 0, False
        while place < len(left):
            fewer = left[:place] + left[place + size :]
            if fewer and is_still(b"".join(fewer)):
                left, is_smaller = fewer, True
            else:
                place += size
        if size == 1 and not is_smaller:
            return left
        size = max(1, size // 2)
