"""What the bench of surgery counts, and how it runs tools that it does not know."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.surgery_peers import Kept, agent_files, copy_session, count_kept, count_resumed, faults, recorded_sessions, without_ids
from bench.surgery_tools import Tool, ToolFailed, ccs_cloner, run_tool

from stenograph.testing.lines import assistant

SESSION = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
PROMPT = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}]}
ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "done"}]}


def _line(message_id: str, **usage: int) -> str:
    return json.dumps(assistant(None, message_id, [], usage=usage)) + "\n"


def _session(folder: Path) -> Path:
    path = folder / f"{SESSION}.jsonl"
    agents = folder / SESSION / "subagents"
    agents.mkdir(parents=True)
    path.write_text(
        _line("msg_1", input_tokens=10, output_tokens=1)
        + _line("msg_1", input_tokens=10, output_tokens=5)
        + _line("msg_2", cache_read_input_tokens=100, cache_creation_input_tokens=1000)
        + '{"type":"user","message":{"role":"user","content":"\\"usage\\""}}\n'
        + 'no JSON, but "usage"\n'
    )
    (agents / "agent-a1.jsonl").write_text(_line("msg_2", cache_read_input_tokens=100) + _line("msg_3", output_tokens=7))
    (folder / "agent-b2.jsonl").write_text(json.dumps({"sessionId": SESSION}) + "\n")
    (folder / "agent-c3.jsonl").write_text(json.dumps({"sessionId": OTHER}) + "\n")
    return path


def test_tokens_count_once_for_each_response_over_the_whole_family(tmp_path: Path) -> None:
    path = _session(tmp_path)
    # 10 + 5 of the first, 100 + 1000 of the second, 7 of an agent's.
    assert count_kept(path)[1:] == (1122, 2)


def test_agents_are_those_that_name_the_session(tmp_path: Path) -> None:
    assert {path.name for path in agent_files(_session(tmp_path))} == {"agent-a1.jsonl", "agent-b2.jsonl"}


def test_a_copy_keeps_what_is_counted_and_takes_nothing_of_others(tmp_path: Path) -> None:
    path = _session(tmp_path / "from")
    copied = copy_session(path, tmp_path / "home")
    assert count_kept(copied) == count_kept(path)
    assert {path.name for path in copied.parent.iterdir()} == {path.name, SESSION, "agent-b2.jsonl"}


def test_what_was_kept_is_said_in_parts_of_what_there_was() -> None:
    said = Kept(size=50, tokens=0, agents=1).of(Kept(size=200, tokens=8, agents=3))
    assert said == "25.0 % of the bytes, 0.0 % of the tokens, 1 of 3 sub-agent files"
    assert "none of the tokens" in Kept().of(Kept(size=1))


def test_recorded_sessions_are_eight_and_half_of_them_have_agents() -> None:
    sessions = recorded_sessions()
    assert len(set(sessions)) == 8
    assert sum(bool(agent_files(path)) for path in sessions) == 4


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([CALL, RESULT], "does not begin with the user"),
        ([PROMPT, CALL, PROMPT], "a call without its result"),
        ([PROMPT, CALL], "a call without its result"),
        ([PROMPT, ANSWER, RESULT], "a result without its call"),
        ([PROMPT, {"role": "assistant", "content": []}], "empty content"),
        ([PROMPT, {"role": "assistant", "content": [{"type": "text", "text": " \n"}]}], "empty content"),
        ([PROMPT, {"role": "assistant", "content": [{"type": "thinking", "thinking": "so"}]}], "thinking without a signature"),
    ],
)
def test_what_the_api_refuses_is_a_fault(messages: list[dict[str, Any]], fault: str) -> None:
    assert list(faults(messages)) == [fault]


def test_a_conversation_with_answered_calls_has_no_fault() -> None:
    signed = {"type": "thinking", "thinking": "so", "signature": "c2ln"}
    thoughtful = {"role": "assistant", "content": [signed, *CALL["content"]]}
    assert not list(faults([PROMPT, thoughtful, RESULT, ANSWER]))


def test_resumed_sessions_are_counted_beside_their_originals() -> None:
    originals = [[PROMPT, ANSWER], [PROMPT, CALL, RESULT, ANSWER], [PROMPT], None]
    answers = [[PROMPT, ANSWER], [PROMPT, CALL, ANSWER], None, [PROMPT]]
    # The first is the same, the second lost a result, the third is refused, the fourth has no original to be like.
    assert count_resumed(answers, originals) == (3, 6, 1, 1)


def test_ids_of_a_clone_are_no_difference_and_words_are() -> None:
    old = [{"role": "user", "content": f"see {SESSION} and agent-aca1bcf, and a01a2070774c33fb7"}]
    new = [{"role": "user", "content": f"see {OTHER} and agent-a59f50b, and a133eb2fd3857a3c1"}]
    assert without_ids(old) == without_ids(new)
    assert without_ids(old) != without_ids([{"role": "user", "content": f"saw {OTHER} and agent-a59f50b, and a133eb2fd3857a3c1"}])


def _tool(code: str, *, clones: bool) -> Tool:
    return Tool("tool", lambda session, home: (sys.executable, "-c", code, str(session), str(home)), clones=clones)


def test_a_clone_is_the_new_session_beside_the_old_one(tmp_path: Path) -> None:
    session = copy_session(_session(tmp_path / "from"), tmp_path / "home")
    code = "import pathlib, sys; [pathlib.Path(sys.argv[1]).with_name(n).touch() for n in ('n.jsonl', 'agent-n.jsonl')]"
    made, cost = run_tool(_tool(code, clones=True), session, tmp_path / "home")
    assert made == session.with_name("n.jsonl")
    assert cost.cpu > 0
    assert run_tool(_tool("", clones=False), session, tmp_path / "home")[0] == session


@pytest.mark.parametrize(("code", "reason"), [("raise SystemExit(3)", r"ended with 3 after \d+ s"), ("", "wrote 0 sessions")])
def test_a_tool_that_fails_says_so_in_one_line(code: str, reason: str, tmp_path: Path) -> None:
    session = copy_session(_session(tmp_path / "from"), tmp_path / "home")
    with pytest.raises(ToolFailed, match=rf"^{reason}$"):
        run_tool(_tool(code, clones=True), session, tmp_path / "home")


def test_a_tool_sees_no_environment_but_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "somewhere")
    session = copy_session(_session(tmp_path / "from"), tmp_path / "home")
    code = (
        "import json, os, pathlib, sys; pathlib.Path(sys.argv[2], 'seen').write_text(json.dumps([os.getcwd(), dict(os.environ)]))"
    )
    run_tool(_tool(code, clones=False), session, tmp_path / "home")
    folder, environment = json.loads((tmp_path / "home" / "seen").read_text())
    assert folder == environment["HOME"] == str(tmp_path / "home")
    assert environment["COZEMPIC_NO_AUTO_INIT"] == environment["COZEMPIC_NO_AUTO_UPDATE"] == "1"
    assert environment["https_proxy"].startswith("http://127.0.0.1:")
    assert "CLAUDE_CONFIG_DIR" not in environment


def test_a_tool_that_cannot_be_installed_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STENO_CLIENTS", str(tmp_path / "cache" / "clients"))
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\nexit 7\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolFailed, match=r"^not installed: npm ended with \d+$"):
        ccs_cloner()
    npm.unlink()
    with pytest.raises(ToolFailed, match=r"^not installed: there is no npm$"):
        ccs_cloner()
    assert not list((tmp_path / "cache").iterdir())
