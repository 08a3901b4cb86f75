"""Flags that scripts use, played beside 2.1.325: the same result, the same exit code, the same requests.

What 2.1.325 gave is written down here, so that most runs need no client; the tests marked `clients` ask it again.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from lab.clients import run_client
from lab.observatory.scenes import Fail, Scene, cue, say, text, tool
from tests.agent.checking import assert_valid
from tests.agent.customs.furnished import furnish
from tests.agent.world import FAKE_KEY, World, lines_of, world_at
from tests.cli.running import run
from tests.conftest import Client

Json = dict[str, Any]
Steno = Callable[..., subprocess.CompletedProcess[str]]
NEWEST = "2.1.325"
MODEL = "claude-sonnet-5-5"
SCHEMA = '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}'
#: What a result says that a flag decides.
TOLD = ("subtype", "is_error", "num_turns", "result", "structured_output", "errors", "stop_reason", "terminal_reason")
WRONG = "Output does not match required schema: /n: must be integer"


def out(**given: object) -> Json:
    return tool("StructuredOutput", **given)


@dataclass(frozen=True)
class Case:
    arguments: Sequence[str]
    scene: Scene
    #: Of a result.
    told: Json
    code: int = 0
    text: str = ""
    #: Which models were called.
    models: Sequence[str] = (MODEL,)
    #: Models that fail, and with which status.
    down: Sequence[str] = ()
    status: int = 529
    #: In the last request.
    results: Sequence[str] = field(default=())


def ended(result: str, turns: int = 1, *, stop: str = "end_turn", **more: Any) -> Json:
    told = {"subtype": "success", "is_error": False, "num_turns": turns, "result": result, "stop_reason": stop}
    return {**told, "terminal_reason": "completed", **more}


def failed(subtype: str, error: str, reason: str, turns: int, *, stop: str = "tool_use") -> Json:
    told = {"subtype": subtype, "is_error": True, "num_turns": turns, "errors": [error], "stop_reason": stop}
    return {**told, "terminal_reason": reason}


FOUR = ended('{"n":4}', 2, stop="tool_use", structured_output={"n": 4})
NO_BUDGET = "Reached maximum budget ($0.00001)"
EXHAUSTED = f"Failed to provide valid structured output after 5 attempts — last StructuredOutput error: {WRONG}"
FELL_BACK = [say(text("fell back"))]
DISABLED = (
    "<tool_use_error>Error: No such tool available: Bash. Bash is disabled for this session, in subagents as well as here."
    "</tool_use_error>"
)

CASES = {
    "an answer in the form asked for": Case(["--json-schema", SCHEMA], [say(out(n=4)), say(text("no"))], FOUR, text='{"n":4}\n'),
    "a text before it": Case(
        ["--json-schema", SCHEMA],
        [say(text("four")), say(out(n=4)), say(text("no"))],
        {**FOUR, "num_turns": 3},
        models=[MODEL] * 2,
    ),
    "a wrong form before it": Case(
        ["--json-schema", SCHEMA],
        [say(out(n="x")), say(out(n=4)), say(text("no"))],
        {**FOUR, "num_turns": 3},
        models=[MODEL] * 2,
        results=[WRONG],
    ),
    "a text instead, twice": Case(
        ["--json-schema", SCHEMA], [say(text(f"no {count}")) for count in range(4)], ended("no 1", 2), models=[MODEL] * 2
    ),
    "a wrong form every time": Case(
        ["--json-schema", SCHEMA],
        [say(out(n="x"))] * 9,
        failed("error_max_structured_output_retries", EXHAUSTED, "structured_output_retry_exhausted", 6),
        code=1,
        text=f"Error: {EXHAUSTED}\n",
        models=[MODEL] * 5,
        results=[WRONG],
    ),
    "too much for the budget": Case(
        ["--max-budget-usd", "0.00001"],
        [say(text("hello"))],
        failed("error_max_budget_usd", NO_BUDGET, "budget_exhausted", 1, stop="end_turn"),
        code=1,
        text="Error: Exceeded USD budget (0.00001)\n",
    ),
    "a call that the budget does not allow any more": Case(
        ["--max-budget-usd", "0.00001"],
        [say(tool("Bash", command="touch ran")), say(text("no"))],
        failed("error_max_budget_usd", NO_BUDGET, "budget_exhausted", 1),
        code=1,
    ),
    "a budget that is enough": Case(["--max-budget-usd", "5"], [say(text("hello"))], ended("hello")),
    "a tool that was not chosen": Case(
        ["--tools", "Read"],
        [say(tool("Bash", command="touch ran")), say(text("hello"))],
        ended("hello", 2),
        models=[MODEL] * 2,
        results=[DISABLED],
    ),
    "an overloaded model": Case(
        ["--fallback-model", "claude-haiku-4-5"],
        FELL_BACK,
        ended("fell back"),
        text="fell back\n",
        models=[MODEL, MODEL, MODEL, "claude-haiku-4-5"],
        down=[MODEL],
    ),
    "a model that is not there": Case(
        ["--fallback-model", "claude-haiku-4-5"],
        FELL_BACK,
        ended("fell back"),
        models=[MODEL, "claude-haiku-4-5"],
        down=[MODEL],
        status=404,
    ),
    "two overloaded models": Case(
        ["--fallback-model", "claude-opus-5-5,claude-haiku-4-5"],
        FELL_BACK,
        ended("fell back"),
        models=[MODEL] * 3 + ["claude-opus-5-5"] * 3 + ["claude-haiku-4-5"],
        down=[MODEL, "claude-opus-5-5"],
    ),
    "the same model as fallback": Case(["--fallback-model", MODEL], [say(text("hello"))], ended("hello")),
}


def stage(world: World, case: Case) -> None:
    world.stage.add("flags", case.scene)
    kind = "overloaded_error" if case.status == 529 else "not_found_error"
    world.stage.answer_when(
        lambda body: body["model"] in case.down, Fail(case.status, kind, say(text("never")), times=99, message="model: no")
    )


@pytest.fixture
def steno(monkeypatch: pytest.MonkeyPatch) -> Steno:
    def start(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.chdir(world.cwd)
        environment = {"ANTHROPIC_BASE_URL": world.stage.url, "ANTHROPIC_API_KEY": FAKE_KEY}
        given = ["agent", "-p", *arguments, "--home", str(world.home), "--dangerously-skip-permissions"]
        return run(*given, environment=environment)

    return start


def arguments(case: Case, output_format: str) -> list[str]:
    return [cue("flags"), "--output-format", output_format, "--model", MODEL, *case.arguments]


def results_in(request: Json) -> list[str]:
    content = request["messages"][-1]["content"]
    return [str(block["content"]) for block in content if isinstance(block, dict) and block.get("type") == "tool_result"]


@pytest.mark.parametrize("name", CASES)
def test_a_flag_gives_what_2_1_325_gives(name: str, tmp_path: Path, steno: Steno) -> None:
    case = CASES[name]
    with world_at(tmp_path, {}) as world:
        stage(world, case)
        ran = steno(world, *arguments(case, "json"))
        asked = world.asked()
        told = json.loads(ran.stdout)
        assert ({name: told[name] for name in TOLD if name in told}, ran.returncode) == (case.told, case.code)
        assert [request["model"] for request in asked] == list(case.models)
        assert results_in(asked[-1]) == list(case.results)
        assert not (world.cwd / "ran").exists()
        assert_valid(world.session)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.text])
def test_the_words_in_text_format_are_those_of_2_1_325(name: str, tmp_path: Path, steno: Steno) -> None:
    case = CASES[name]
    with world_at(tmp_path, {}) as world:
        stage(world, case)
        ran = steno(world, *arguments(case, "text"))
    assert (ran.stdout, ran.returncode) == (case.text, case.code)


@pytest.mark.clients
@pytest.mark.parametrize("name", CASES)
def test_2_1_325_gives_what_is_written_here(name: str, client: Client, tmp_path: Path) -> None:
    case = CASES[name]
    program = client(NEWEST)
    with world_at(tmp_path, {}) as world:
        stage(world, case)
        given = ["-p", *arguments(case, "json"), "--dangerously-skip-permissions"]
        ran = run_client(program, home=world.home.parent, cwd=world.cwd, args=given, base_url=world.stage.url)
        told = json.loads(ran.stdout)
        asked = [request["model"] for request in world.asked() if request["max_tokens"] > 1]
    assert ({name: told[name] for name in TOLD if name in told}, ran.returncode) == (case.told, case.code)
    assert asked == list(case.models)


@pytest.mark.parametrize(
    ("given", "offered"),
    [
        (["--tools", "Read,Bash"], ["Bash", "Read"]),
        (["--tools", "Read", "Bash"], ["Bash", "Read"]),
        (["--tools", ""], []),
        (["--tools", "Nope"], []),
    ],
)
def test_only_the_chosen_tools_are_offered_as_by_2_1_325(
    given: list[str], offered: list[str], tmp_path: Path, steno: Steno
) -> None:
    with world_at(tmp_path, {"s": [say(text("hello"))]}) as world:
        ran = steno(world, cue("s"), *given)
        [request] = world.asked()
    assert [each["name"] for each in request.get("tools", [])] == offered
    assert ran.returncode == 0
    assert ("unknown tool" in ran.stderr) == ("Nope" in given)


def test_the_next_prompt_calls_the_asked_model_again(tmp_path: Path) -> None:
    """As 2.1.325 does: it fell back for one prompt only."""
    with world_at(tmp_path, {"a": FELL_BACK, "b": [say(text("second"))]}) as world:
        overloaded = Fail(529, "overloaded_error", say(text("never")), times=3)
        world.stage.answer_when(lambda body: body["model"] == MODEL and "[scene b]" not in json.dumps(body), overloaded)
        world.run(cue("a"), cue("b"), model=MODEL, fallback_models=["claude-haiku-4-5"])
        asked = [request["model"] for request in world.asked()]
        lines = lines_of(world.session)
    assert asked == [MODEL] * 3 + ["claude-haiku-4-5", MODEL]
    assert [line["message"]["model"] for line in lines if line["type"] == "assistant"] == ["claude-haiku-4-5", MODEL]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--json-schema", '{"type":'], "--json-schema is not valid JSON"),
        (["--json-schema", "[]"], "--json-schema must be a JSON object"),
        (["--json-schema", '{"type":"nonsense"}'], "--json-schema is not a valid JSON Schema: check `type`"),
        (["--max-budget-usd", "0"], "--max-budget-usd must be a positive number"),
    ],
)
def test_a_flag_that_can_not_be_is_refused(given: list[str], words: str, tmp_path: Path, steno: Steno) -> None:
    with world_at(tmp_path, {}) as world:
        ran = steno(world, "hi", *given)
        assert not world.asked()
    assert (ran.returncode, words in ran.stderr) == (2, True)


#: Of `--setting-sources`, what 2.1.325 then sent and let run.
SOURCES = {
    "user": {"MEM-USER", "uskill", "My own", "You are own."},
    "project": {"MEM-PROJECT", "demo-skill", "Greet somebody", "p"},
    "local": {"MEM-LOCAL", "l"},
    "": set(),
    "user, project,local": {
        *("MEM-USER", "uskill", "My own", "You are own.", "MEM-PROJECT", "demo-skill", "Greet somebody", "p", "MEM-LOCAL", "l"),
    },
}


@pytest.mark.parametrize("chosen", SOURCES)
def test_only_the_chosen_sources_are_used(chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tool("Agent", description="Own", prompt=cue("sub"), subagent_type="own", run_in_background=False)
    calls = [say(tool("Bash", command="touch p")), say(tool("Bash", command="touch l")), say(own), say(text("Done."))]
    with world_at(tmp_path, {"sources": calls, "sub": [say(text("Sub."))]}) as world:
        furnish(world.home, world.cwd)
        for path, words in {world.home: "MEM-USER", world.cwd: "MEM-PROJECT"}.items():
            (path / "CLAUDE.md").write_text(words, encoding="utf-8")
        (world.cwd / "CLAUDE.local.md").write_text("MEM-LOCAL", encoding="utf-8")
        for name, letter in {"settings.json": "p", "settings.local.json": "l"}.items():
            rules = {"permissions": {"allow": [f"Bash(touch {letter})"]}}
            (world.cwd / ".claude" / name).write_text(json.dumps(rules), encoding="utf-8")
        monkeypatch.chdir(world.cwd)
        given = ["agent", "-p", cue("sources"), "--home", str(world.home), "--trust-project", "--setting-sources", chosen]
        environment = {"ANTHROPIC_BASE_URL": world.stage.url, "ANTHROPIC_API_KEY": FAKE_KEY, "HOME": str(tmp_path / "home")}
        done = run(*given, environment=environment)
        assert done.returncode == 0, done.stderr
        sent = json.dumps(world.asked())
        made = {name for name in "pl" if (world.cwd / name).exists()}
        known = set().union(*SOURCES.values()) - {"p", "l"}
        assert {words for words in known if words in sent} | made == SOURCES[chosen]


def test_an_unknown_source_is_wrong_usage() -> None:
    done = run("agent", "-p", "x", "--setting-sources", "user,team")
    assert (done.returncode, "is not one of user, project, local" in done.stderr) == (2, True)


#: Of `--thinking`: by model, what 2.1.325 sends.
THINKING: dict[tuple[str, str], Json] = {
    ("disabled", "claude-sonnet-4-5"): {"type": "disabled"},
    ("0", "claude-sonnet-4-5"): {"type": "disabled"},
    ("disabled", "claude-opus-4-6"): {"type": "disabled"},
    ("disabled", "claude-sonnet-5"): {"type": "disabled"},
    ("disabled", "claude-opus-5-5"): {"type": "adaptive"},
    ("disabled", "claude-haiku-5-5"): {"type": "adaptive"},
    ("adaptive", "claude-opus-5-5"): {"type": "adaptive"},
    ("adaptive", "claude-sonnet-4-5"): {"type": "enabled", "budget_tokens": 31999},
    ("enabled", "claude-opus-5-5"): {"type": "adaptive"},
}


@pytest.mark.parametrize(("word", "model"), THINKING)
def test_thinking_is_asked_for_as_the_client_does(word: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with world_at(tmp_path, {}) as world:
        monkeypatch.chdir(world.cwd)
        environment = {"ANTHROPIC_BASE_URL": world.stage.url, "ANTHROPIC_API_KEY": FAKE_KEY}
        done = run("agent", "-p", "x", "--home", world.home, "--thinking", word, "--model", model, environment=environment)
        assert done.returncode == 0, done.stderr
        assert world.asked()[0]["thinking"] == THINKING[word, model]
