from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest
from lab.oracle import PROMPT, TIMED_OUT, ask, digest, normalise, plain, shape, stored_reminders

from stenograph.testing.scripted_api import Json, ScriptedApi

posix = pytest.mark.skipif(sys.platform == "win32", reason="stands in for a client with a script that names its interpreter")

# Stands in for a client: posts the file it finds by the id it was given, as one message, with the prompt.
FAKE_CLIENT = f"""#!{sys.executable}
import json, os, re, sys, time, urllib.request
prompt, session_id = sys.argv[2], sys.argv[4]
folder = os.path.join(os.environ["HOME"], ".claude", "projects", re.sub("[^A-Za-z0-9]", "-", os.getcwd()))
with open(os.path.join(folder, session_id + ".jsonl")) as file:
    text = file.read()
if text == "hang":
    time.sleep(60)
body = {{"model": "m", "messages": [{{"role": "user", "content": text + " ".join(sorted(os.listdir(folder)))}}]}}
if text != "no request":
    body["messages"].append({{"role": "user", "content": [{{"type": "text", "text": prompt}}]}})
    for tools in ([], [{{"name": "Bash"}}]):
        data = json.dumps({{**body, "tools": tools, "max_tokens": len(tools)}}).encode()
        urllib.request.urlopen(urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages?beta=true", data))
if text == "refuse":
    sys.exit("No conversation found with session ID: " + session_id)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "claude"
    path.write_text(FAKE_CLIENT)
    path.chmod(stat.S_IRWXU)
    return path


def said(role: str, *texts: str) -> Json:
    return {"role": role, "content": [{"type": "text", "text": text} for text in texts]}


@posix
def test_the_answer_is_the_first_request_with_tools_that_holds_the_prompt(program: Path) -> None:
    with ScriptedApi() as api:
        answer = ask(program, b"a file ", api=api, extra_files={"agent-1.jsonl": b"", "s/tool-results/x.txt": b""})
        assert [len(request.body["tools"]) for request in api.requests] == [0, 1]
    assert answer.messages is not None
    assert answer.messages[0]["content"].startswith("a file ")
    assert "agent-1.jsonl s" in answer.messages[0]["content"]
    assert (answer.refused, answer.returncode, answer.model) == (False, 0, "m")


@posix
def test_a_client_that_refuses_gives_no_messages_even_if_it_posted_the_prompt(program: Path) -> None:
    with ScriptedApi() as api:
        answer = ask(program, b"refuse", api=api)
    assert (answer.messages, answer.refused, answer.returncode) == (None, True, 1)


@posix
def test_a_client_that_sends_nothing_did_not_refuse(program: Path) -> None:
    with ScriptedApi() as api:
        answer = ask(program, b"no request", api=api)
    assert (answer.messages, answer.refused, answer.returncode) == (None, False, 0)


@posix
def test_a_client_that_hangs_is_ended(program: Path) -> None:
    with ScriptedApi() as api:
        answer = ask(program, b"hang", api=api, timeout=1)
    assert (answer.messages, answer.refused, answer.returncode, answer.timed_out) == (None, False, TIMED_OUT, True)


@posix
def test_questions_that_share_an_api_get_their_own_answers(program: Path) -> None:
    with ScriptedApi() as api:
        answers = [ask(program, name, api=api).messages for name in (b"one ", b"two ")]
    assert [messages[0]["content"].split()[0] for messages in answers if messages] == ["one", "two"]


def test_the_new_prompt_and_all_that_follows_it_is_cut_off() -> None:
    messages = [said("user", "q"), said("assistant", "a"), said("user", "kept", PROMPT, "more"), said("system", "environment")]
    assert normalise(messages) == [said("user", "q"), said("assistant", "a"), said("user", "kept")]
    assert normalise([said("user", "q"), said("user", PROMPT + " with a script")]) == [said("user", "q")]


def test_reminders_in_the_words_of_a_release_are_left_out_and_stored_ones_kept() -> None:
    stored, own = "<system-reminder>\nstored\n</system-reminder>", "<system-reminder>\nown\n</system-reminder>"
    messages = [said("user", own, "q", stored + "\n"), said("user", own), said("assistant", f"a {own} b")]
    assert normalise(messages, keep={stored}) == [said("user", "q", stored + "\n"), said("assistant", f"a {own} b")]


def test_a_reminder_glued_to_a_result_is_left_out_unless_stored() -> None:
    own = "\n\n<system-reminder>\nown\n</system-reminder>"
    stored = "\n\n<system-reminder>\nstored\n</system-reminder>"

    def result(content: object) -> list[Json]:
        return [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": content}]}]

    assert normalise(result("ok" + stored + own + own), keep={stored}) == result("ok" + stored)
    parts = [{"type": "text", "text": "ok" + own}, {"type": "text", "text": own}]
    assert normalise(result(parts)) == result([{"type": "text", "text": "ok"}])


def test_of_a_system_message_the_stored_parts_stay() -> None:
    keep = {"<system-reminder>\none\n</system-reminder>", "two"}
    assert normalise([said("system", "one\n\ntwo")], keep=keep) == [said("system", "one\n\ntwo")]
    assert normalise([said("system", "own words\n\ntwo\n\none")], keep=keep) == [said("system", "two\n\none")]
    assert normalise([said("system", "own words")], keep=keep) == []


def test_stored_reminders_are_those_of_messages_and_of_rendered_attachments() -> None:
    reminder = "<system-reminder>in a result</system-reminder>"
    block = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": f"x {reminder} y"}]}
    lines = [
        {"type": "user", "message": {"content": [block]}},
        {"type": "attachment", "rendered": [{"content": "bare words"}, {"content": [{"type": "text", "text": "in a block"}]}]},
        {"type": "attachment", "rendered": None},
    ]
    session = b"\n".join([*(json.dumps(line).encode() for line in lines), b'["rendered"]', b'{"rendered"'])
    assert stored_reminders(session, rendered=True) == {reminder, "bare words", "in a block"}
    assert stored_reminders(session, rendered=False) == {reminder}


def test_what_means_nothing_makes_no_difference() -> None:
    block = {"type": "text", "text": "q", "cache_control": {"type": "ephemeral"}}
    assert plain([{"role": "user", "content": [block]}]) == plain([{"role": "user", "content": "q"}]) == [said("user", "q")]


def test_a_digest_does_not_depend_on_the_order_of_keys_and_takes_any_text() -> None:
    one: list[Json] = [{"role": "user", "content": [{"type": "text", "text": "\ud83d"}]}]
    other: list[Json] = [{"content": [{"text": "\ud83d", "type": "text"}], "role": "user"}]
    assert digest(one) == digest(other) != digest([said("user", "�")])


def test_a_shape_names_the_blocks_of_every_message() -> None:
    blocks = [{"type": kind} for kind in ("thinking", "text", "tool_use", "novel")]
    results = [{"type": "tool_result", "is_error": True}, {"type": "tool_result"}, {"type": "image"}]
    messages = [said("user", "q"), {"role": "assistant", "content": blocks}, {"role": "user", "content": results}]
    assert shape(messages) == ["U:T", "A:TH,T,TU,novel", "U:TR!,TR,I"]
