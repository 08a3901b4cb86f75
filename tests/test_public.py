"""The public surface: what `import stenograph` gives, called as its documentation says."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from importlib.resources import files
from pathlib import Path

import pytest
from tests.corpora import DEMO, FIXTURES

import stenograph
from stenograph.sessions import glance, title

SESSION_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
RECORDED = [path for path in sorted((FIXTURES / "recorded").rglob("*.jsonl")) if SESSION_ID.fullmatch(path.stem)]


@pytest.fixture
def demo_home(monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(DEMO))
    return DEMO


def test_dir_lists_exactly_the_public_names() -> None:
    assert dir(stenograph) == sorted(stenograph.__all__)
    assert all(getattr(stenograph, name) is not None for name in dir(stenograph))
    assert (files("stenograph") / "py.typed").is_file()


def test_every_public_function_is_typed_and_documented() -> None:
    functions = [value for name in stenograph.__all__ if inspect.isfunction(value := getattr(stenograph, name))]
    assert len(functions) >= 7
    for function in functions:
        assert function.__doc__, function.__name__
        signature = inspect.signature(function)
        given = [signature.return_annotation, *(parameter.annotation for parameter in signature.parameters.values())]
        assert inspect.Signature.empty not in given, function.__name__


def test_sessions_are_found_in_the_homes_of_the_environment(demo_home: Path) -> None:
    listed = stenograph.list_sessions(everything=True).sessions
    assert {info.path for info in listed} == {
        path for path in demo_home.glob("projects/*/*.jsonl") if SESSION_ID.fullmatch(path.stem)
    }
    newest = stenograph.resolve()
    assert newest == stenograph.resolve("last") == stenograph.resolve("last", [demo_home])
    assert stenograph.load().path == stenograph.load("last").path == stenograph.load(newest.path).path == newest.path
    assert [turn.number for turn in stenograph.stream()] == [turn.number for turn in stenograph.stream(newest.path)]
    assert stenograph.load_messages().messages == stenograph.load_messages(newest.path).messages


def test_a_demo_session_has_the_title_directory_model_and_release_of_its_story(demo_home: Path) -> None:
    """The values are those that scripts/make_demo.py wrote into the story."""
    assert demo_home
    session = stenograph.load("4583cf3d")
    assert session.title == "Add discount codes to the checkout"
    assert session.cwd == "/home/user/lantern-shop"
    assert session.release == "2.1.325"
    assert session.model is not None
    assert session.model.startswith("claude-")


@pytest.mark.parametrize("path", RECORDED[:: max(1, len(RECORDED) // 40)], ids=lambda path: path.stem[:8])
def test_a_loaded_session_says_of_itself_what_a_list_says(path: Path) -> None:
    session, seen = stenograph.load(path), glance(path)
    assert (session.title, session.cwd, session.release) == (title(seen), seen.cwd, seen.release)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    models = [line["message"]["model"] for line in lines if line.get("type") == "assistant" and not line["isSidechain"]]
    spoken = {model for model in models if model != "<synthetic>"}
    assert session.model in (spoken or {None})


def test_reprs_help_and_say_nothing_of_the_transcript(demo_home: Path) -> None:
    assert demo_home
    session = stenograph.load("4583cf3d")
    assert repr(session) == f"<Session 4583cf3d: {len(session.turns)} turns, 2.1.325>"
    first = session.turns[0]
    assert repr(first) == f"<Turn 1: {len(first.calls)} calls, {len(first.tool_calls)} tool calls>"
    assert repr(stenograph.Session("x", session.graph, session.context, (), (), ())).startswith("<Session x: 0 turns, ")
    assert first.prompt not in repr([session, first, session.agents])


def test_the_example_in_the_docstring_runs(demo_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo_home
    (example,) = re.findall(r"\n\n((?: {4}.*\n|\n)+)\n", str(stenograph.__doc__))
    exec(compile(textwrap.dedent(example), "docstring", "exec"), {})
    assert capsys.readouterr().out.strip()
