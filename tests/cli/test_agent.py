"""`steno agent` as a script calls it: a process of its own, against the scripted API."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from lab.clients import run_client
from tests.cli.running import SOURCE, assert_one_clear_line, completed
from tests.conftest import Client
from tests.forking import can_fork, run_forked

import stenograph
from stenograph.cli._extras import install_command
from stenograph.cli.agent import _repeated
from stenograph.testing.scripted_api import LoopbackServer, LoopbackService, ScriptedApi, Step, script_prompt

Json = dict[str, Any]
FAKE_KEY = "sk-fake-000000000000"
STREAM = ("--output-format", "stream-json", "--verbose")
#: Thinking, words and a call; then the answer.
SIMPLE: list[Step] = [
    [{"think": "hm"}, {"text": "Hello"}, {"tool": "Bash", "input": {"command": "echo hi"}}],
    [{"text": "All done."}],
]


@pytest.fixture
def api() -> Iterator[ScriptedApi]:
    with ScriptedApi() as server:
        yield server


def environment(url: str) -> dict[str, str]:
    path = os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": FAKE_KEY}


def start(url: str, *arguments: str | bytes, **given: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "stenograph", "agent", *arguments],
        stdin=given.pop("stdin", subprocess.DEVNULL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(url) | given.pop("env", {}),
        **given,
    )


def run(url: str, *arguments: str | bytes, said: str | None = None, **given: Any) -> subprocess.CompletedProcess[str]:
    if can_fork(given.get("env", {})) and given.keys() <= {"cwd", "env"} and len(said or "") < 10_000:
        world = {**os.environ, "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": FAKE_KEY, **given.get("env", {})}
        words = ["agent", *map(os.fsdecode, arguments)]
        done = run_forked(words, world, said=None if said is None else said.encode(), cwd=given.get("cwd"))
        return completed(words, *done)
    stdin = subprocess.DEVNULL if said is None else subprocess.PIPE
    with start(url, *arguments, stdin=stdin, **given) as process:
        output, errors = process.communicate(said, timeout=30)
    return subprocess.CompletedProcess(arguments, process.returncode, output, errors)


def ask(api: ScriptedApi, steps: Sequence[Step], *arguments: str, **given: Any) -> subprocess.CompletedProcess[str]:
    return run(api.url, "-p", script_prompt(steps, "please"), *arguments, **given)


def messages(done: subprocess.CompletedProcess[str]) -> list[Json]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def call(tool: str, **given: Any) -> Step:
    return [{"tool": tool, "input": given}]


def user(content: Any) -> str:
    return json.dumps({"type": "user", "message": {"role": "user", "content": content}}) + "\n"


# What comes out


def test_the_answer_is_printed_and_the_session_is_there(api: ScriptedApi) -> None:
    done = ask(api, SIMPLE)
    assert (done.stdout, done.stderr, done.returncode) == ("All done.\n", "", 0)
    assert len(list((Path.home() / ".claude" / "projects").glob("*/*.jsonl"))) == 1


def test_json_is_the_result(api: ScriptedApi) -> None:
    for arguments in (("--json",), ("--output-format", "json")):
        done = ask(api, SIMPLE, *arguments)
        result = json.loads(done.stdout)
        assert (result["type"], result["subtype"], result["result"], result["num_turns"]) == ("result", "success", "All done.", 2)
        assert done.returncode == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_is_json_whatever_a_terminal_can_show(api: ScriptedApi, encoding: str) -> None:
    words = "é 日本 \u2028 \x85"
    prompt = script_prompt([[{"text": words}]])
    done = run(api.url, "-p", prompt, "--output-format", "json", env={"PYTHONIOENCODING": encoding})
    assert json.loads(done.stdout)["result"] == words


def test_a_stream_is_one_message_a_line(api: ScriptedApi) -> None:
    told = messages(ask(api, SIMPLE, *STREAM))
    assert [one["type"] for one in told] == ["system", "assistant", "assistant", "assistant", "user", "assistant", "result"]
    assert told[0]["claude_code_version"] == "2.1.325"
    assert told[0]["apiKeySource"] == "ANTHROPIC_API_KEY"


def test_pieces_are_told_where_they_are_asked_for(api: ScriptedApi) -> None:
    told = messages(ask(api, SIMPLE, *STREAM, "--include-partial-messages"))
    pieces = [one["event"]["delta"].get("text") for one in told if one.get("event", {}).get("type") == "content_block_delta"]
    assert "".join(filter(None, pieces)) == "HelloAll done."


def test_what_is_not_allowed_is_refused_and_the_turn_goes_on(api: ScriptedApi) -> None:
    steps = [call("Write", file_path="new.txt", content="x"), call("Bash", command="touch new.txt"), [{"text": "Could not."}]]
    result = json.loads(ask(api, steps, "--json").stdout)
    assert not Path("new.txt").exists()
    assert [denial["tool_name"] for denial in result["permission_denials"]] == ["Write", "Bash"]
    assert result["result"] == "Could not."
    assert ask(api, steps, "--allowedTools", "Write", "--json").returncode == 0
    assert Path("new.txt").read_text() == "x"


def test_a_tool_that_is_denied_is_not_offered(api: ScriptedApi) -> None:
    ask(api, [[{"text": "x"}]], "--disallowedTools", "Bash,Task")
    offered = {tool["name"] for tool in api.requests[0].body["tools"]}
    assert "Read" in offered
    assert not offered & {"Bash", "Agent", "Task"}


def test_a_limit_of_turns_ends_with_one(api: ScriptedApi) -> None:
    steps = [call("Bash", command="echo 1"), call("Bash", command="echo 2"), call("Bash", command="echo 3")]
    done = ask(api, steps, "--max-turns", "2")
    assert (done.stdout, done.returncode) == ("Error: Reached max turns (2)\n", 1)


def test_memory_and_the_users_words_reach_the_model(api: ScriptedApi) -> None:
    Path("CLAUDE.md").write_text("Use tabs.")
    ask(api, [[{"text": "x"}]], "--append-system-prompt", "Be kind.", "--model", "some-model")
    body = api.requests[0].body
    told = [block["text"] for block in body["system"]]
    assert any("Use tabs." in text for text in told)
    assert told[-1] == "Be kind."
    assert body["model"] == "some-model"


# What goes in


def test_the_prompt_is_the_argument_and_stdin(api: ScriptedApi) -> None:
    run(api.url, "-p", "argument words", said="from stdin")
    content = api.requests[0].body["messages"][-1]["content"]
    assert [block["text"] for block in content if block["type"] == "text"][-1] == "argument words\nfrom stdin"


def test_prompts_come_as_lines_one_after_the_other(api: ScriptedApi) -> None:
    said = user("one") + user([{"type": "text", "text": "two"}])
    done = run(api.url, "-p", "--input-format", "stream-json", *STREAM, "--replay-user-messages", said=said)
    told = messages(done)
    assert [one["message"]["content"] for one in told if one.get("isReplay")] == ["one", [{"type": "text", "text": "two"}]]
    assert [one["result"] for one in told if one["type"] == "result"] == ["Scripted answer."] * 2
    assert done.returncode == 0


def test_a_line_that_is_no_message_is_told_after_what_was_asked_before_it_is_answered(api: ScriptedApi) -> None:
    done = run(api.url, "-p", "--input-format", "stream-json", *STREAM, said=user("one") + "secret words\n")
    assert_one_clear_line(done)
    assert "line 2 on stdin" in done.stderr
    assert "secret" not in done.stderr
    assert messages(done)[-1]["result"] == "Scripted answer."


def test_arguments_that_are_no_utf_8_are_read_as_stdin_is(api: ScriptedApi) -> None:
    options = ("--append-system-prompt", b"kind\xff", "--name", b"title\xfe", "--model", b"m\xff")
    assert run(api.url, "-p", b"caf\xe9", *options).returncode == 0
    body = api.requests[0].body
    assert body["messages"][-1]["content"][-1]["text"] == "caf\ufffd"
    assert body["system"][-1]["text"] == "kind\ufffd"
    assert run(api.url, "-p", "x", "--system-prompt", b"own\xff").returncode == 0
    assert api.requests[1].body["system"][0]["text"] == "own\ufffd"
    assert_one_clear_line(run(api.url, "-p", "x", "--resume", b"caf\xe9"))


def test_a_folder_whose_name_no_session_can_hold_is_refused(api: ScriptedApi) -> None:
    folder = Path(os.fsdecode(b"caf\xe9"))
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system takes names in UTF-8 only")
    assert_one_clear_line(run(api.url, "-p", "x", cwd=folder))
    assert api.requests == []


def test_an_unknown_command_among_lines_is_told_and_not_asked(api: ScriptedApi) -> None:
    done = run(api.url, "-p", "--input-format", "stream-json", *STREAM, said=user("one") + user("/help"))
    assert_one_clear_line(done)
    assert "unknown command /help; with -p, only /compact and your own commands work" in done.stderr
    assert len(api.requests) == 1


def test_a_tool_that_nobody_has_is_told_and_the_rest_goes_on(api: ScriptedApi) -> None:
    rules = ("--allowedTools", "Nope,Bash(ls),mcp__x__y,SendMessage,bashh", "--disallowedTools", "mcp__z,LS")
    done = ask(api, SIMPLE, *rules)
    assert done.stderr == 'warning: unknown tool "Nope"\nwarning: unknown tool "bashh"; did you mean "Bash"?\n'
    assert (done.stdout, done.returncode) == ("All done.\n", 0)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("bash", 'unknown tool "bash"; did you mean "Bash"?'),
        ("Edit,Wriet(x)", 'unknown tool "Wriet"; did you mean "Write"?'),
        ("Webfetch(domain:example.com)", 'unknown tool "Webfetch"; did you mean "WebFetch"?'),
        ("Everything", 'unknown tool "Everything"'),
    ],
)
def test_a_misspelled_tool_is_not_allowed_instead_of_denied(api: ScriptedApi, rule: str, words: str) -> None:
    done = ask(api, SIMPLE, "--disallowedTools", rule)
    assert_one_clear_line(done)
    assert words in done.stderr
    assert (done.returncode, api.requests) == (2, [])


def test_the_way_to_install_what_is_missing_works_from_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = Path(stenograph.__file__).resolve().parents[2]
    assert (checkout / "pyproject.toml").is_file()
    assert install_command("agent") == f"pip install '{checkout}[agent]'"
    monkeypatch.setattr(stenograph, "__file__", str(tmp_path / "lib" / "site-packages" / "stenograph" / "__init__.py"))
    assert install_command("agent") == "pip install 'stenograph[agent]'"
    # Where pipx, `uv tool install` and uvx put a program.
    for prefix, command in {
        "/home/me/.local/share/pipx/venvs/stenograph": "pipx install --force 'stenograph[agent]'",
        "/home/me/.local/share/uv/tools/stenograph": "uv tool install 'stenograph[agent]'",
        "/home/me/.cache/uv/archive-v0/3f2a": "uvx --from 'stenograph[agent]' steno",
    }.items():
        monkeypatch.setattr(sys, "prefix", prefix)
        assert install_command("agent") == command


def test_a_home_that_is_not_there_is_made(api: ScriptedApi) -> None:
    assert ask(api, SIMPLE, "--home", "new/home").returncode == 0
    assert len(list(Path("new/home/projects").glob("*/*.jsonl"))) == 1
    Path("file").write_text("")
    assert_one_clear_line(ask(api, SIMPLE, "--home", "file"))
    assert_one_clear_line(ask(api, SIMPLE, "--home", "file/below"))


def test_several_values_stand_behind_one_option_as_in_the_client() -> None:
    rules = ["--allowedTools", "Read", "Bash(git:*)", "mcp__x__y", "do something", "--model", "m"]
    assert _repeated(rules) == [
        "--allowedTools", "Read", "--allowedTools", "Bash(git:*)", "--allowedTools", "mcp__x__y", "do something", "--model", "m",
    ]  # fmt: skip
    Path("folder").mkdir()
    assert _repeated(["--add-dir", "folder", "folder", "prompt"]) == ["--add-dir", "folder", "--add-dir", "folder", "prompt"]
    assert _repeated(["--disallowed-tools", "Read", "Fix it"]) == ["--disallowed-tools", "Read", "Fix it"]
    assert _repeated(["--allowedTools", "Read", "--", "Edit"]) == ["--allowedTools", "Read", "--", "Edit"]


# Wrong use


@pytest.mark.parametrize(
    "arguments",
    [
        ("prompt",),
        ("-p",),
        ("-p", ""),
        ("-p", "x", "--output-format", "xml"),
        ("-p", "x", "--output-format", "stream-json"),
        ("-p", "x", "--json", "--output-format", "text"),
        ("-p", "x", "--input-format", "stream-json"),
        ("-p", "x", "--input-format", "stream-json", *STREAM),
        ("-p", "x", "--include-partial-messages"),
        ("-p", "x", "--permission-mode", "yolo"),
        ("-p", "x", "--allowedTools", "Bash(git"),
        ("-p", "x", "--disallowedTools", "(x)"),
        ("-p", "x", "--max-turns", "0"),
        ("-p", "x", "--max-turns", "many"),
        ("-p", "x", "--add-dir", "missing"),
        ("-p", "x", "--continue", "--resume", "last"),
        ("-p", "x", "--resume", "no such session"),
        ("-p", "x", "--fork-session"),
        ("-p", "x", "--rewind", "1"),
        ("-p", "x", "--keep-files"),
        ("-p", "x", "--session-id", "not a uuid"),
        ("-p", "x", "--session-id", ""),
        ("-p", "x", "--thinking", "2000", "--max-tokens", "2000"),
        ("-p", "/help"),
        ("-p", "x", "--compat", "1.0"),
        ("-p", "x", "--demo"),
        ("-p", "x", "--home", "missing", "--home", "missing too"),
        ("-p", "x", "--no-such-option"),
    ],
)
def test_wrong_use_is_told_in_one_line_and_nothing_is_asked(api: ScriptedApi, arguments: tuple[str, ...]) -> None:
    assert_one_clear_line(run(api.url, *arguments))
    assert api.requests == []


@pytest.mark.parametrize("arguments", [("--resume", ""), ("--resume", "  "), ("--continue", "--rewind", "")])
def test_an_empty_name_chooses_nothing_although_there_is_a_session(api: ScriptedApi, arguments: tuple[str, ...]) -> None:
    ask(api, [[{"text": "x"}]])
    done = run(api.url, "-p", "x", *arguments)
    assert_one_clear_line(done)
    assert f"{arguments[-2]} needs a " in done.stderr
    assert len(api.requests) == 1


def test_without_a_key_it_says_which_variable_to_set(api: ScriptedApi) -> None:
    done = run(api.url, "-p", "x", env={"ANTHROPIC_API_KEY": ""})
    assert_one_clear_line(done)
    assert "ANTHROPIC_API_KEY" in done.stderr


# What goes wrong


class Refusing(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing on stderr."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": "its own words"}}).encode()
        self.send_response(400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_an_endpoint_that_refuses_ends_with_one_and_its_words() -> None:
    with LoopbackService(LoopbackServer(("127.0.0.1", 0), Refusing)) as server:
        done = run(server.url, "-p", "x")
        result = messages(run(server.url, "-p", "x", *STREAM))[-1]
    assert done.returncode == 1
    assert done.stdout.startswith("API Error: ")
    assert "its own words" in done.stdout
    assert (result["is_error"], result["api_error_status"], result["terminal_reason"]) == (True, 400, "api_error")


def test_an_endpoint_that_is_not_there_ends_with_one() -> None:
    done = run("http://127.0.0.1:9", "-p", "x", env={"CLAUDE_CODE_MAX_RETRIES": "0"})
    assert done.returncode == 1
    assert done.stdout.startswith("API Error: ")


class Overloaded(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing on stderr."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(529)
        self.send_header("retry-after", "0")
        self.send_header("content-length", "0")
        self.end_headers()


def test_whoever_waits_for_a_busy_endpoint_is_told_so() -> None:
    retries = {"CLAUDE_CODE_MAX_RETRIES": "2"}
    with LoopbackService(LoopbackServer(("127.0.0.1", 0), Overloaded)) as server:
        text, as_json = (run(server.url, "-p", "x", *arguments, env=retries) for arguments in ((), ("--json",)))
        stream = run(server.url, "-p", "x", *STREAM, env=retries)
    for done in (text, as_json):
        assert re.findall(r"(?m)^note: HTTP 529 .*; retrying in [0-9.]+ s \((.*)\)$", done.stderr) == ["1 of 2", "2 of 2"]
        assert done.stderr.count("\n") == 2
    assert stream.stderr == ""
    assert [one["attempt"] for one in messages(stream) if one.get("subtype") == "api_retry"] == [1, 2]


@pytest.mark.parametrize("arguments", [STREAM, ("--json",), ()])
def test_a_reader_that_leaves_ends_with_one_and_a_session_that_goes_on(api: ScriptedApi, arguments: tuple[str, ...]) -> None:
    with start(api.url, "-p", script_prompt(SIMPLE), *arguments) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert (process.stderr.read(), process.wait(30)) == ("", 1)
    again = ask(api, [[{"text": "Gone on."}]], "--continue")
    assert (again.stdout, again.returncode) == ("Gone on.\n", 0)


def test_a_compaction_says_what_it_came_to(api: ScriptedApi) -> None:
    nothing = run(api.url, "-p", "/compact")
    assert (nothing.stdout, nothing.stderr, nothing.returncode) == ("nothing to compact yet\n", "", 1)
    ask(api, SIMPLE)
    done = run(api.url, "-p", "/compact", "--continue")
    assert re.fullmatch(r"Compacted: [0-9,]+ -> [0-9,]+ tokens\n", done.stdout)
    assert done.returncode == 0


@pytest.fixture
def _hang_up_is_heard() -> Iterator[None]:
    """Whoever runs the tests may have done so with `nohup`, and children ignore what their parents do."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("_hang_up_is_heard")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_turn_and_leaves_the_session_whole(api: ScriptedApi, number: int, code: int) -> None:
    Path("began").unlink(missing_ok=True)
    steps = [call("Bash", command="touch began; sleep 60"), [{"text": "never"}]]
    began = time.monotonic()
    with start(api.url, "-p", script_prompt(steps), *STREAM, "--allowedTools", "Bash") as process:
        stopper = threading.Thread(target=_signal_when, args=(process, Path("began").absolute(), number))
        stopper.start()
        output, errors = process.communicate(timeout=30)
        stopper.join()
    assert (process.returncode, errors) == (code, "")
    assert time.monotonic() - began < 20
    result = json.loads(output.splitlines()[-1])
    assert (result["type"], result["subtype"], result["is_error"]) == ("result", "error_during_execution", True)
    again = ask(api, [[{"text": "Gone on."}]], "--continue")
    assert (again.stdout, again.returncode) == ("Gone on.\n", 0)
    said = json.dumps(api.requests[-1].body["messages"])
    assert said.count('"tool_use"') == said.count('"tool_result"') == 1


def test_an_interrupted_text_is_no_empty_line(api: ScriptedApi) -> None:
    steps = [call("Bash", command="touch began; sleep 60")]
    with start(api.url, "-p", script_prompt(steps), "--allowedTools", "Bash") as process:
        _signal_when(process, Path("began").absolute(), signal.SIGTERM)
        assert (*process.communicate(timeout=30), process.returncode) == ("", "note: interrupted\n", 143)


def test_a_program_that_was_told_to_outlive_its_terminal_does(api: ScriptedApi) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does; children have it too
    try:
        steps = [call("Bash", command="touch began; sleep 1"), [{"text": "Still here."}]]
        with start(api.url, "-p", script_prompt(steps), "--allowedTools", "Bash") as process:
            _signal_when(process, Path("began").absolute(), signal.SIGHUP)
            assert (*process.communicate(timeout=30), process.returncode) == ("Still here.\n", "", 0)
    finally:
        signal.signal(signal.SIGHUP, before)


def _signal_when(process: subprocess.Popen[str], path: Path, number: int) -> None:
    deadline = time.monotonic() + 15
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)


# The client itself


@pytest.mark.clients
def test_the_stream_of_the_real_client_has_what_ours_has(api: ScriptedApi, client: Client, tmp_path: Path) -> None:
    steps = [*SIMPLE[:1], call("Write", file_path="new.txt", content="x"), [{"text": "All done."}]]
    arguments = ["-p", script_prompt(steps, "please"), *STREAM]
    home = tmp_path / "client"
    home.mkdir()
    theirs_run = run_client(client("2.1.325"), home=home, cwd=tmp_path, args=arguments, base_url=api.url)
    theirs = [json.loads(line) for line in theirs_run.stdout.decode().splitlines()]
    ours = messages(run(api.url, *arguments))
    # Counts of thinking are its own affair.
    theirs = [one for one in theirs if one.get("subtype") != "thinking_tokens"]
    assert [(one["type"], one.get("subtype")) for one in ours] == [(one["type"], one.get("subtype")) for one in theirs]
    for our, their in zip(ours, theirs, strict=True):
        assert set(our) - {"stenograph"} <= set(their)
        common = {name for name in our if name in their and None not in (our[name], their[name])}
        assert {name: type(our[name]) for name in common} == {name: type(their[name]) for name in common}
    assert [one["message"]["content"] for one in ours if one["type"] == "user"][1][0]["content"].startswith(
        "Claude requested permissions to write to "
    )


def test_the_choices_of_options_are_those_that_the_agent_knows() -> None:
    """They stand in the command too, so that its help does not load the agent."""
    from stenograph.agent.engine.options import Compat, PermissionMode
    from stenograph.agent.faces.print_mode import OutputFormat
    from stenograph.cli.agent import agent

    choices = {option.name: set(option.type.choices) for option in agent.params if hasattr(option.type, "choices")}
    assert choices["permission_mode"] == set(PermissionMode)
    assert choices["output_format"] == set(OutputFormat)
    assert choices["compat"] == set(Compat)


def test_without_its_packages_it_says_what_to_install(api: ScriptedApi, tmp_path: Path) -> None:
    # As if `pip install stenograph` had been all: a finder before all others that knows no h11.
    finder = "lambda name, *more: None if name == 'h11' else real(name, *more)"
    (tmp_path / "sitecustomize.py").write_text(f"import importlib.util as u\nreal = u.find_spec\nu.find_spec = {finder}\n")
    path = os.pathsep.join([str(tmp_path), str(SOURCE)])
    done = run(api.url, "-p", "hi", env={"PYTHONPATH": path})
    assert_one_clear_line(done)
    assert f"pip install '{SOURCE.parent}[agent]'" in done.stderr
