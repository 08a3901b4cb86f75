"""One case a rule, with what the real clients sent written out by hand; what is lost, and why a record is not sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.messages import hard_cases
from tests.messages.hard_cases import (
    NEWEST_MODEL,
    Line,
    answer,
    attachment,
    call,
    image,
    result,
    returned,
    session,
    system,
    text,
    user,
)

from stenograph.cli._group import steno
from stenograph.graph import Graph, build_graph
from stenograph.messages import LossCounts, Lost, explain, lost, message_habits, plain, resume_messages, select
from stenograph.messages.attaching import with_attachments
from stenograph.messages.reminders import worded
from stenograph.records import AttachmentRecord, decode, read_all_records

OLD, MIDDLE, NEW = "2.0.76", "2.1.45", "2.1.325"


def _graph(tmp_path: Path, lines: list[Line]) -> Graph:
    path = tmp_path / "session.jsonl"
    path.write_bytes(session(lines))
    return build_graph([(path, "", read_all_records(path))])


def _case(tmp_path: Path, name: str) -> Graph:
    return _graph(tmp_path, list(getattr(hard_cases, name)()))


def _said(graph: Graph, release: str) -> str:
    """`U(q) A(+a) U(=a)`: a text as it is, `+` and the end of a tool use's id, `=` and that of a result's."""
    messages = resume_messages(graph, release).messages
    if messages is None:
        return "refused"
    return " ".join(f"{m.role[0].upper()}({'|'.join(_word(block) for block in m.content)})" for m in messages)


def _word(block: dict[str, object]) -> str:
    kind = block.get("type")
    if kind == "text":
        return str(block["text"])
    if kind == "tool_use":
        return "+" + str(block["id"])[6:]
    if kind == "tool_result":
        return "=" + str(block["tool_use_id"])[6:] + ("!" if block.get("is_error") else "")
    return str(kind)


@pytest.mark.parametrize(
    ("name", "release", "said"),
    [
        pytest.param("null_line", OLD, "U(first question) A(first answer) U(second question) A(second answer)", id="14-old"),
        pytest.param("null_line", MIDDLE, "U(first question) A(first answer)", id="14-middle"),
        pytest.param("null_line_first", MIDDLE, "refused", id="14-first"),
        pytest.param("two_objects_on_one_line", OLD, "A(second answer)", id="15-old"),
        pytest.param("two_objects_on_one_line", NEW, "U(first question) A(first answer) A(second answer)", id="15-new"),
        pytest.param("two_responses_in_a_row", NEW, "U(q) A(one) A(two) U(q2) A(a2)", id="27"),
        pytest.param("merge_reaches_over_results", OLD, "U(q) A(+a|+b) U(=a|=b) A(done)", id="28"),
        pytest.param("three_prompts_in_a_row", OLD, "U(one|two|three|four) A(a)", id="29-old"),
        pytest.param("three_prompts_in_a_row", NEW, "U(one\n|two\n|three|four) A(a)", id="29-new"),
        pytest.param("parallel_calls_each_with_its_result", OLD, "U(q) A(+2) U(=2) A(done) U(q2) A(a2)", id="30-old"),
        pytest.param("parallel_calls_each_with_its_result", NEW, "U(q) A(+0|+1|+2) U(=0|=1|=2) A(done) U(q2) A(a2)", id="30-new"),
        pytest.param("text_after_a_call_in_one_response", OLD, "U(q) A(+a|after the call) U(=a) A(done)", id="31-old"),
        pytest.param("text_after_a_call_in_one_response", NEW, "U(q) A(after the call|+a) U(=a) A(done)", id="31-new"),
        pytest.param("response_of_only_thinking", OLD, "U(q) A(thinking) U(q2) A(b)", id="32-old"),
        pytest.param("response_of_only_thinking", MIDDLE, "U(q|q2) A(b)", id="32-middle"),
        pytest.param("thinking_of_another_model", MIDDLE, "U(q) A(thinking|a) U(q2) A(thinking|b)", id="32-kept"),
        pytest.param("thinking_of_another_model", NEW, "U(q) A(a) U(q2) A(thinking|b)", id="32-foreign"),
        pytest.param("api_error_line_in_the_middle", OLD, "U(q|q again) A(a)", id="34"),
        pytest.param("image_in_a_prompt", MIDDLE, "U(look|[image]) A(seen) U([image]) A(seen again)", id="40-middle"),
        pytest.param("image_in_a_prompt", NEW, "U(look|image) A(seen) U(image) A(seen again)", id="40-new"),
        pytest.param("ends_in_a_result", OLD, "U(q) A(+a) U(=a) A(No response requested.)", id="41-old"),
        pytest.param(
            "ends_in_a_result",
            MIDDLE,
            "U(q) A(+a) U(=a|Continue from where you left off.) A(No response requested.)",
            id="41-middle",
        ),
        pytest.param("call_with_text_without_result_in_the_middle", OLD, "U(q) A(I will) U(q2) A(b)", id="43-old"),
        pytest.param("call_with_text_without_result_in_the_middle", MIDDLE, "U(q|q2) A(b)", id="43-middle"),
        pytest.param("one_of_two_calls_of_a_line_without_result", OLD, "U(q) A(+b) U(=b) A(done)", id="43-sibling-old"),
        pytest.param("one_of_two_calls_of_a_line_without_result", NEW, "U(q) A(+a|+b) U(=a!|=b) A(done)", id="43-sibling-new"),
        pytest.param("result_without_call_after_a_prompt", OLD, "U(=x|q) A(a)", id="44-old"),
        pytest.param("result_without_call_after_a_prompt", NEW, "U(q) A(a)", id="44-new"),
        pytest.param("two_results_for_one_call", MIDDLE, "U(q) A(+a) U(=a|=a) A(done)", id="45-middle"),
        pytest.param("two_results_for_one_call", NEW, "U(q) A(+a) U(=a) A(done)", id="45-new"),
        pytest.param("empty_answer", OLD, "U(q|q2) A(b)", id="46-old"),
        pytest.param("empty_answer", NEW, "U(q) A((no content)) U(q2) A(b)", id="46-new"),
        pytest.param("answer_as_a_string", OLD, "refused", id="47-old"),
        pytest.param("summary_that_is_not_marked", OLD, "U(The summary, unmarked.) A(c)", id="48"),
    ],
)
def test_a_release_sends_what_the_rule_says(name: str, release: str, said: str, tmp_path: Path) -> None:
    assert _said(_case(tmp_path, name), release) == said


def test_an_unanswered_call_at_the_end_is_given_an_error_result_by_new_releases_only(tmp_path: Path) -> None:
    graph = _graph(tmp_path, [user(1, 0, "q"), answer(2, 1, [text("I will"), call("toolu_a")])])
    assert _said(graph, OLD) == "U(q) A(I will)"
    assert _said(graph, MIDDLE) == "U(q) A(No response requested.)"
    assert _said(graph, NEW) == "U(q) A(I will|+a) U(=a!) A(No response requested.)"


def test_the_result_of_a_failed_tool_is_text_alone_in_new_releases(tmp_path: Path) -> None:
    failed = returned("toolu_a", [text("a"), image(), text("b")], is_error=True)
    graph = _graph(tmp_path, [user(1, 0, "q"), answer(2, 1, [call("toolu_a")]), result(3, 2, failed), answer(4, 3, "done")])
    sent = resume_messages(graph, NEW).messages
    assert sent is not None
    assert sent[2].content[0]["content"] == [{"type": "text", "text": "a\n\nb"}]


def test_output_of_a_local_command_is_sent_unless_it_is_for_the_screen_alone(tmp_path: Path) -> None:
    """Both were recorded from 2.1.325: `/context` shows a picture of the context, and sends nothing."""
    output = "<local-command-stdout>42</local-command-stdout>"
    lines = [user(1, 0, "q"), answer(2, 1, "a"), system(3, 2, "local_command", output)]
    screen = system(4, 3, "local_command", "<local-command-stdout>a picture</local-command-stdout>", isDisplayOnly=True)
    graph = _graph(tmp_path, [*lines, screen, user(5, 4, "q2"), answer(6, 5, "b")])
    sent = _said(graph, NEW)
    assert "42" in sent
    assert "a picture" not in sent
    assert {one.line: one.rule for one in explain(resume_messages(graph, NEW), graph) if not one.is_sent} == {
        4: "34: only for the screen"
    }


def test_a_diagnostic_has_its_code_and_source_only_where_it_has_them() -> None:
    """The name of the file, then a line each: place, message, code in brackets, source in parentheses."""
    place = {"start": {"line": 2, "character": 4}, "end": {"line": 2, "character": 9}}
    whole = {"message": "no such name", "severity": "Error", "range": place, "source": "Pyright", "code": "undefined"}
    bare = {"message": "unused", "severity": "Hint", "range": place}
    body = {"type": "diagnostics", "files": [{"uri": "file:///p/a.py", "diagnostics": [whole, bare]}]}
    said = worded(body, message_habits(NEW).phrases)
    assert said is not None
    assert "a.py:\n  ✘ [Line 3:5] no such name [undefined] (Pyright)\n  ★ [Line 3:5] unused" in said[0]


def test_a_line_null_ends_the_session_that_it_is_in(tmp_path: Path) -> None:
    """Rule 14, with the file of a subagent beside the session's own."""
    main, agent = tmp_path / "session.jsonl", tmp_path / "agent-a0f86f7.jsonl"
    main.write_bytes(session(hard_cases.null_line()))
    agent.write_bytes(session([user(30, 0, "part", isSidechain=True)]))
    graph = build_graph([(main, "", read_all_records(main)), (agent, "a0f86f7", read_all_records(agent))])
    assert _said(graph, MIDDLE) == "U(first question) A(first answer)"


def test_a_result_that_hangs_off_its_own_call_is_not_given_to_another_with_the_same_id(tmp_path: Path) -> None:
    """Rule 30: two responses call under one id, as some gateways number them; each has a parallel call on the chain."""
    lines: list[Line] = [
        user(1, 0, "q"),
        answer(2, 1, [call("toolu_a")], of="msg_1"),
        answer(3, 2, [call("toolu_b")], of="msg_1"),
        result(4, 2, returned("toolu_a", "first")),
        result(5, 3, returned("toolu_b", "r")),
        answer(6, 5, [call("toolu_a")], of="msg_2"),
        answer(7, 6, [call("toolu_c")], of="msg_2"),
        result(8, 6, returned("toolu_a", "second")),
        result(9, 7, returned("toolu_c", "r")),
        answer(10, 9, "done"),
    ]
    nodes = select(_graph(tmp_path, lines), NEW, message_habits(NEW)).nodes
    assert nodes == list(range(10))


def test_a_blank_text_beside_words_is_not_sent_and_the_words_are(tmp_path: Path) -> None:
    lines: list[Line] = [user(1, 0, [text(" "), text("q")]), answer(2, 1, "a"), user(3, 2, "q2"), answer(4, 3, "b")]
    graph = _graph(tmp_path, lines)
    assert _said(graph, NEW) == "U(q) A(a) U(q2) A(b)"


def test_attachments_beside_a_message_are_sent_as_a_resume_would_send_them() -> None:
    record = decode(session([attachment(1, 0, {"type": "of-tomorrow"}, rendered=[{"content": "stored words"}])]).strip())
    unsent = decode(session([attachment(2, 1, {"type": "command_permissions", "allowedTools": []})]).strip())
    assert isinstance(record, AttachmentRecord)
    assert isinstance(unsent, AttachmentRecord)
    sent = with_attachments([text("q")], [record, unsent], "claude-sonnet-4-5-20250929")
    assert [(one.role, [block["text"].strip() for block in one.content]) for one in sent] == [("user", ["stored words", "q"])]


def test_every_record_is_explained(tmp_path: Path) -> None:
    graph = _case(tmp_path, "parallel_calls_each_with_its_result")
    told = explain(resume_messages(graph, OLD), graph)
    assert [one.line for one in told] == list(range(1, 11))
    # On the chain of an old release the first two calls have no results: their lines go.
    unsent = {one.line: one.rule[:2] for one in told if not one.is_sent}
    assert unsent == {2: "42", 3: "42", 5: "22", 6: "22"}


def test_what_an_old_release_loses_of_parallel_calls_is_counted(tmp_path: Path) -> None:
    graph = _case(tmp_path, "parallel_calls_each_with_its_result")
    assert lost(graph, NEW).total == LossCounts()
    found = lost(graph, OLD)
    assert found.said == LossCounts(messages=10, tool_calls=3)
    assert found.total == LossCounts(messages=4, tool_calls=2)
    assert {loss.rule[:2]: loss.counts.messages for loss in found.losses} == {"42": 2, "30": 2}


def _long_conversation(tmp_path: Path, sizes: list[int], tokens: int, tool: str = "Bash") -> Graph:
    lines: list[Line] = [user(1, 0, "q")]
    for size in sizes:
        number = len(lines) + 1
        lines.append(answer(number, number - 1, [{**call(f"toolu_{number}"), "name": tool}]))
        lines.append(result(number + 1, number, returned(f"toolu_{number}", "x" * size)))
    last = answer(len(lines) + 1, len(lines), "done")
    last["message"]["usage"] = {"input_tokens": 1, "cache_read_input_tokens": tokens - 2, "output_tokens": 1}
    return _graph(tmp_path, [*lines, last])


def _cleared(graph: Graph, release: str) -> list[int]:
    """Which results were cleared or saved."""
    blocks = [block for message in plain(resume_messages(graph, release)) for block in message["content"]]
    results = [block["content"] for block in blocks if block["type"] == "tool_result"]
    return [number for number, words in enumerate(results) if words.startswith(("[Old tool result", "<persisted-output>Tool"))]


@pytest.mark.parametrize(
    ("sizes", "tokens", "cleared"),
    [
        ([4000] * 75, 135_000, 35),
        ([4000] * 75, 134_999, 0),
        ([4001] * 75, 180_001, 35),
        ([4002] * 75, 180_001, 36),
        ([4000] * 59, 180_001, 0),
        ([4000] * 60, 180_001, 20),
        ([120_000] * 3, 180_001, 0),
        ([120_000] * 5, 180_001, 2),
    ],
)
def test_old_releases_clear_the_oldest_results_of_a_long_conversation(
    sizes: list[int], tokens: int, cleared: int, tmp_path: Path
) -> None:
    """As 2.0.76 did with these very sizes, and 2.1.45 with the first."""
    graph = _long_conversation(tmp_path, sizes, tokens)
    assert _cleared(graph, OLD) == _cleared(graph, MIDDLE) == list(range(cleared))
    assert _cleared(graph, "2.1.159") == _cleared(graph, NEW) == []


@pytest.mark.parametrize("tool", ["TodoWrite", "Task", "NotebookEdit", "mcp__a__b"])
def test_results_of_other_tools_are_never_cleared(tool: str, tmp_path: Path) -> None:
    assert _cleared(_long_conversation(tmp_path, [4000] * 75, 180_001, tool), OLD) == []


def test_a_release_that_saves_results_says_where(tmp_path: Path) -> None:
    graph = _long_conversation(tmp_path, [4000] * 75, 180_001)
    first = plain(resume_messages(graph, MIDDLE))[2]["content"][0]["content"]
    saved = tmp_path / "session" / "tool-results" / "toolu_2.txt"
    assert first == f"<persisted-output>Tool result saved to: {saved}\n\nUse Read to view</persisted-output>"


@pytest.mark.parametrize("release", [OLD, MIDDLE, NEW])
def test_an_error_of_the_api_was_not_said_and_is_not_lost(release: str, tmp_path: Path) -> None:
    error = answer(2, 1, "API Error: overloaded", model="<synthetic>", isApiErrorMessage=True)
    graph = _graph(tmp_path, [user(1, 0, "q"), error, user(3, 2, "q2"), answer(4, 3, "a")])
    assert lost(graph, release) == Lost(release, LossCounts(messages=3), ())


def test_the_notification_of_a_task_is_not_lost_whatever_is_said_around_it(tmp_path: Path) -> None:
    told = user(3, 2, "<task-notification>done</task-notification>", origin={"kind": "task-notification"})
    graph = _graph(tmp_path, [user(1, 0, "q"), answer(2, 1, "a"), told, answer(4, 3, "b")])
    for release in (OLD, MIDDLE, NEW):
        assert lost(graph, release) == Lost(release, LossCounts(messages=4), ())
        assert "<task-notification>done</task-notification>" in str(plain(resume_messages(graph, release)))


def test_queued_words_are_sent_by_every_release_and_explained_so(tmp_path: Path) -> None:
    queued = attachment(4, 3, {"type": "queued_command", "prompt": "and tests too", "commandMode": "prompt"})
    planned = attachment(5, 4, {"type": "plan_mode", "reminderType": "full", "planFilePath": "/p.md", "planExists": False})
    lines = [user(1, 0, "q"), answer(2, 1, [call("toolu_a")]), result(3, 2, returned("toolu_a", "ra")), queued, planned]
    graph = _graph(tmp_path, [*lines, answer(6, 5, "done")])
    begun = {OLD: "The user sent the following message:\n", MIDDLE: "The user sent a new message while you were working:\n"}
    for release in (OLD, MIDDLE, NEW):
        resume = resume_messages(graph, release)
        assert begun.get(release, begun[MIDDLE]) + "and tests too\n\n" in str(plain(resume)[2]["content"][0]["content"])
        explained = [one.rule for one in explain(resume, graph)]
        assert explained[3] == "sent"
        assert explained[4] == "37: in words of the release's own, which no file holds"


def test_words_that_a_person_queued_come_behind_other_attachments(tmp_path: Path) -> None:
    """As 2.1.325 sent them, whichever came first (tests/fixtures/golden-messages/attached.json)."""
    human = {"humanTurn": True, "origin": {"kind": "human"}}
    queued = attachment(4, 3, {"type": "queued_command", "prompt": "and tests too", "commandMode": "prompt", **human})
    stored = {"rendered": [{"content": "<system-reminder>\ncontext\n</system-reminder>"}], "renderedRole": "user"}
    context = attachment(5, 4, {"type": "session_context", "context": {"gitStatus": "x"}}, **stored)
    lines = [user(1, 0, "q"), answer(2, 1, [call("toolu_a")]), result(3, 2, returned("toolu_a", "ra")), queued, context]
    graph = _graph(tmp_path, [*lines, answer(6, 5, "done", model=NEWEST_MODEL)])
    result_block, words = plain(resume_messages(graph, NEW))[2]["content"]
    assert result_block["content"] == "ra\n\n<system-reminder>\ncontext\n</system-reminder>"
    assert words["text"].startswith("The user sent a new message while you were working:\nand tests too\n")


@pytest.mark.parametrize("human", [{}, {"humanTurn": True, "origin": {"kind": "human"}}], ids=["sdk", "terminal"])
def test_images_of_a_queued_prompt_are_sent_beside_its_words(tmp_path: Path, human: dict[str, object]) -> None:
    """As releases resumed a session of 2.1.325 in which an image was queued; 2.0.76 sent an empty line instead of it."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    prompt = [{"type": "text", "text": "see"}, image]
    queued = attachment(
        4, 3, {"type": "queued_command", "prompt": prompt, "commandMode": "prompt", **human}, renderedRole="system"
    )
    lines = [user(1, 0, "q"), answer(2, 1, [call("toolu_a")]), result(3, 2, returned("toolu_a", "ra")), queued]
    graph = _graph(tmp_path, [*lines, answer(6, 4, "done", model=NEWEST_MODEL)])
    (glued,) = plain(resume_messages(graph, OLD))[2]["content"]
    assert glued["content"].startswith("ra\n\n<system-reminder>\nThe user sent the following message:\nsee\n\n\nPlease address")
    for release in (MIDDLE, NEW):
        returned_block, words, seen = plain(resume_messages(graph, release))[2]["content"]
        assert (returned_block["content"], seen) == ("ra", image)
        said = words["text"].removeprefix("<system-reminder>\n")
        assert said.startswith("The user sent a new message while you were working:\nsee\n\n")
        assert (said == words["text"]) is (bool(human) and release == NEW)


def test_what_stands_before_a_broken_link_is_lost_to_old_releases(tmp_path: Path) -> None:
    graph = _case(tmp_path, "dangling_parent")
    assert lost(graph, NEW).losses == ()
    assert [(loss.rule[:2], loss.counts.messages) for loss in lost(graph, OLD).losses] == [("23", 2)]


def test_what_stands_before_a_sign_of_life_is_lost_to_releases_that_do_not_know_it(tmp_path: Path) -> None:
    graph = _case(tmp_path, "progress_inside_the_chain")
    assert lost(graph, MIDDLE).losses == ()
    assert [(loss.rule[:2], loss.counts.messages) for loss in lost(graph, OLD).losses] == [("24", 2)]


def test_what_was_preserved_over_a_compaction_is_lost_to_old_releases(tmp_path: Path) -> None:
    graph = _case(tmp_path, "preserved_messages")
    assert lost(graph, NEW).losses == ()
    assert [(loss.rule[:2], loss.counts.messages) for loss in lost(graph, MIDDLE).losses] == [("50", 2)]


def test_what_follows_a_null_line_is_lost_to_the_releases_that_end_there(tmp_path: Path) -> None:
    graph = _case(tmp_path, "null_line")
    assert [(loss.rule[:2], loss.counts.messages) for loss in lost(graph, MIDDLE).losses] == [("14", 2)]


def test_the_command_masks_secrets_unless_told_to_reveal_them(tmp_path: Path) -> None:
    secret = "sk-ant-api03-" + "A1b2C3d4" * 11 + "AA"
    path = tmp_path / "session.jsonl"
    path.write_bytes(session([user(1, 0, f"my key is {secret}"), answer(2, 1, "ok")]))
    run = CliRunner()
    for options in ([], ["--json"]):
        masked = run.invoke(steno, ["messages", str(path), *options])
        assert masked.exit_code == 0, masked.output
        assert secret not in masked.output
        assert secret in run.invoke(steno, ["messages", str(path), *options, "--reveal"]).output


def test_the_command_prints_what_a_release_would_send_as_json(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(session(list(hard_cases.two_responses_in_a_row())))
    printed = json.loads(CliRunner().invoke(steno, ["messages", str(path), "--as-of", OLD, "--json"]).stdout)
    assert printed["refused"] is None
    assert [(message["role"], message["lines"]) for message in printed["messages"]] == [
        ("user", [1]),
        ("assistant", [2]),
        ("assistant", [3]),
        ("user", [4]),
        ("assistant", [5]),
    ]


def test_explaining_and_losing_are_asked_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(session(list(hard_cases.basic())))
    both = CliRunner().invoke(steno, ["messages", str(path), "--explain", "--lost"])
    assert both.exit_code != 0
    lost_only = CliRunner().invoke(steno, ["messages", str(path), "--lost", "--json"])
    assert json.loads(lost_only.stdout)["lost"] == {"messages": 0, "tool_calls": 0, "thinking": 0}
    explained = CliRunner().invoke(steno, ["messages", str(path), "--explain", "--json"])
    assert [one["sent"] for one in json.loads(explained.stdout)["records"]] == [True] * 4
