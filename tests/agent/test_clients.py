"""Real clients take up what we write, and we take up what they wrote.

A session in which everything happens is resumed by each release as we predict, shown in its terminal, and gone on with.
Sessions that clients wrote are resumed by ours with the messages that the newest would send, reminders aside: the newest puts
some in the role `system`, ours in the user's words, which every endpoint takes.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TypeGuard

import pytest
from lab.oracle import PROMPT, normalise, plain
from lab.terminal import Terminal
from tests.agent.everything import AFTER, AGENTS, SUMMARY, TURNS, VARIANTS, Played, calls_of, played
from tests.agent.sending import live_messages
from tests.agent.world import Json, World, turn_ends, world_at
from tests.conftest import Client, Need
from tests.corpora import CORPUS, FIXTURES, without_agents
from tests.messages.asking import Question, ask_question, of_file
from tests.messages.golden import RELEASES, compare, compare_with_answer, entry, our_messages
from tests.messages.hard_cases import hard_cases
from tests.terminals import BROKEN, need_tmux

from stenograph.agent.engine.events import Event, Outcome, SessionBegin, ToolEnd
from stenograph.agent.recording.resuming import as_user_words
from stenograph.disk.projects import project_folder_name
from stenograph.errors import StenographError
from stenograph.sessions.loading import load_messages
from stenograph.testing.scripted_api import ScriptedApi, script_prompt

TIMEOUT = 120.0
NEWEST = "2.1.325"
#: In the place of a prompt: up to it means all.
NOT_SAID = "nobody says this"
#: Releases of which recordings with all their words may be at hand.
WHOLE_RECORDINGS = ("1.0.128", "2.0.36", "2.0.42", "2.0.50", "2.0.76", "2.1.29", "2.1.45", "2.1.112", "2.1.200", NEWEST)
NEW_NAMES = {"Task": "Agent", "KillShell": "TaskStop"}


# Ours, taken up by clients


@pytest.mark.sample
@pytest.mark.clients
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_session_of_ours_is_resumed_as_predicted(
    variant: str, release: str, client: Client, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = client(release)
    ours = played(variant, tmp_path_factory)
    question = of_file(ours.path, variant)
    answer = ask_question(program, question, TIMEOUT)
    assert answer.messages is not None, answer.said
    difference = compare_with_answer(release, question.data, answer, our_messages(release, question.data, ours.path))
    assert difference is None, str(difference)
    assert_holds_everything(normalise(answer.messages), ours)
    if release == NEWEST:
        # Not by our own rules: what it sends is what we sent ourselves, and the answer to it.
        assert without_reminders(renamed(answer.messages))[:-1] == without_reminders(renamed(ours.sent))
        assert ours.is_compacted or "<result>Fourth is done.</result>" in str(answer.messages)


def renamed(messages: list[Json]) -> list[Json]:
    """With calls by their new names."""
    return [{**message, "content": [_renamed(block) for block in message["content"]]} for message in plain(messages)]


def _renamed(block: Json) -> Json:
    return {**block, "name": NEW_NAMES.get(block["name"], block["name"])} if block["type"] == "tool_use" else block


def assert_holds_everything(messages: list[Json], ours: Played) -> None:
    """By hand: every prompt, every answer and every call is there, or the summary in their place, each once."""
    texts = "\n".join(block["text"] for message in messages for block in message["content"] if block["type"] == "text")
    scenes = AFTER if ours.is_compacted else {**TURNS, **AFTER}
    for scene, answer in scenes.items():
        assert texts.count(f"Prompt for {scene}.") == 1
        assert not answer or texts.count(answer) == 1
    assert texts.count(SUMMARY) == ours.is_compacted
    blocks = [block for message in messages for block in message["content"]]
    # The newest sends calls by old names under the new ones.
    calls = Counter(NEW_NAMES.get(block["name"], block["name"]) for block in blocks if block["type"] == "tool_use")
    assert calls == ({"Read": 1, "Bash": 1} if ours.is_compacted else calls_of(ours))
    uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert sorted(uses) == sorted(block["tool_use_id"] for block in blocks if block["type"] == "tool_result")
    assert len(set(uses)) == len(uses)


@pytest.mark.clients
@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("variant", ["whole", "compacted", "old-whole"])
def test_a_session_of_ours_is_shown_and_goes_on(
    variant: str, release: str, client: Client, need: Need, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    need_tmux(need)
    program = client(release)
    ours = played(variant, tmp_path_factory)
    home, cwd = (tmp_path / "home").resolve(), (tmp_path / "work").resolve()
    put(of_file(ours.path, variant), home / ".claude", cwd)
    with (
        ScriptedApi() as api,
        Terminal(program, home=home, cwd=cwd, base_url=api.url, args=["--resume", ours.path.stem]) as terminal,
    ):
        terminal.wait_until_ready()
        assert not BROKEN.search(terminal.wait_for(AFTER["after"]))
        terminal.submit(script_prompt([[{"text": "Gone on WITH it."}]], "And now?"))
        assert not BROKEN.search(terminal.wait_for("Gone on WITH it."))


def put(question: Question, home: Path, cwd: Path) -> Path:
    """A session and all that stands beside it, where clients look for it in that folder."""
    folder = home / "projects" / project_folder_name(str(cwd))
    path = folder / f"{question.session_id}.jsonl"
    for name, data in {**question.extra_files, path.name: question.data}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return path


@pytest.mark.parametrize("variant", VARIANTS)
def test_everything_happens_in_the_session_that_clients_are_given(variant: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    ours = played(variant, tmp_path_factory)
    calls = Counter(NEW_NAMES.get(event.tool, event.tool) for event in ours.seen if _is_result(event))
    assert calls == calls_of(ours)
    begun = next(event for event in ours.seen if isinstance(event, SessionBegin))
    # Notebooks have tests of their own.
    offered = {NEW_NAMES.get(name, name) for name in begun.tools} - {"NotebookEdit"}
    assert offered | {"NoSuchTool"} == calls_of(ours).keys()
    assert len(ours.agents) == AGENTS
    assert [end.outcome for end in turn_ends(ours.seen) if end.outcome is not Outcome.DONE] == [
        Outcome.FAILED,
        Outcome.INTERRUPTED,
    ]


def _is_result(event: Event) -> TypeGuard[ToolEnd]:
    """Of a call of the main conversation."""
    return isinstance(event, ToolEnd) and event.agent_id is None


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_session_of_ours_is_resumed_by_ours_as_it_was_left(
    variant: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ours = played(variant, tmp_path_factory)
    with world_at(tmp_path, {}) as world:
        sent = resumed_by_ours(world, of_file(ours.path, variant))
    assert sent is not None
    # As the newest sends them: with calls by their new names.
    assert renamed(sent)[: len(ours.sent)] == renamed(ours.sent)
    texts = [block["text"] for message in sent[len(ours.sent) :] for block in message["content"]]
    assert texts == [AFTER["after"], PROMPT]


# Theirs, taken up by ours


def recorded_sessions() -> list[Path]:
    return without_agents((FIXTURES / "recorded").rglob("*.jsonl"))


def without_reminders(messages: list[Json], up_to: str = PROMPT) -> list[Json]:
    """What is compared: without reminders in any role, neighbours of one role joined as the API joins them.

    What a background task said is a reminder of the newest's, and words of the user in ours.
    """
    joined: list[Json] = []
    for message in normalise(messages, prompt=up_to):
        message["content"] = [block for block in message["content"] if not _is_notification(block)]
        if not message["content"]:
            continue
        if joined and joined[-1]["role"] == message["role"]:
            message = {**message, "content": [*joined.pop()["content"], *message["content"]]}
        joined.append(message)
    return joined


def _is_notification(block: Json) -> bool:
    return block["type"] == "text" and str(block["text"]).startswith("<task-notification>")


def resumed_by_ours(world: World, question: Question) -> list[Json] | None:
    """The messages of our first request, which are read so from the file afterwards; None where we refuse, in one line."""
    sent = first_request(world, question)
    if sent is None:
        return None
    (path,) = world.home.rglob(f"{question.session_id}.jsonl")
    # And what we wrote there is read as what we sent.
    read = without_reminders(as_user_words(load_messages(path).messages or []), up_to=NOT_SAID)
    ours = without_reminders(sent, up_to=NOT_SAID)
    assert _without_blanks(read[: len(ours)]) == _without_blanks(ours)
    return sent


def first_request(world: World, question: Question) -> list[Json] | None:
    path = put(question, world.home, world.cwd)
    try:
        world.run(PROMPT, resume=str(path))
    except StenographError as error:
        said = str(error)
    else:
        return live_messages(world.asked()[0])
    assert "\n" not in said
    assert path.read_bytes() == question.data
    return None


def _without_blanks(messages: list[Json]) -> list[Json]:
    """Blanks at the ends of texts come and go with what follows them (rule 29)."""
    return [{**message, "content": [_bare(block) for block in message["content"]]} for message in messages]


def _bare(block: Json) -> Json:
    return {name: value.strip() if isinstance(value, str) else value for name, value in block.items()}


def expected_of_the_newest(question: Question, path: Path) -> list[Json] | None:
    """What 2.1.325 answered. Of long answers the golden holds a digest alone: then our prediction, if that is its digest."""
    known = entry(NEWEST, question.key)
    assert known is not None
    if "outcome" in known:
        return None
    if "messages" in known:
        return list(known["messages"])
    predicted = our_messages(NEWEST, question.data, path)
    assert compare(NEWEST, question.key, predicted) is None
    return predicted


def assert_resumed_as(expected: list[Json] | None, question: Question, folder: Path) -> None:
    with world_at(folder, {}) as world:
        sent = resumed_by_ours(world, question)
    if expected is None or sent is None:
        assert sent is expected
    else:
        assert _without_last_break(without_reminders(sent)) == _without_last_break(without_reminders(expected))


def _without_last_break(messages: list[Json]) -> list[Json]:
    """The line break before the new prompt is the last text's, or that of the reminder that the client puts between (rule 29)."""
    if messages and (last := messages[-1]["content"][-1])["type"] == "text":
        last["text"] = last["text"].rstrip("\n")
    return messages


def _name_of(path: Path) -> str:
    return f"{path.relative_to(FIXTURES / 'recorded').parts[0]}-{path.stem[:8]}"


@pytest.mark.parametrize("path", recorded_sessions(), ids=_name_of)
def test_a_recorded_session_is_resumed_as_the_newest_would(path: Path, tmp_path: Path) -> None:
    question = of_file(path, path.name)
    assert_resumed_as(expected_of_the_newest(question, path), question, tmp_path)


@pytest.mark.full
def test_every_hand_made_session_is_resumed_as_the_newest_would(tmp_path: Path) -> None:
    """Damage and rare endings. Only what is sent is compared: some of them have lines that nobody can hang anything on."""
    asked = 0
    for number, case in enumerate(hard_cases()):
        question = Question(case.name, case.data)
        if entry(NEWEST, question.key) is None:
            continue
        asked += 1
        folder = tmp_path / str(number)
        folder.mkdir()
        path = folder / "session.jsonl"
        path.write_bytes(case.data)
        expected = expected_of_the_newest(question, path)
        with world_at(folder, {}) as world:
            sent = first_request(world, question)
        if expected is None or sent is None:
            assert sent is expected, case.name
        else:
            assert without_reminders(sent) == without_reminders(expected), case.name
    assert asked > 300


@pytest.mark.full
@pytest.mark.clients
@pytest.mark.parametrize("release", WHOLE_RECORDINGS)
def test_whole_recordings_are_resumed_as_the_newest_does(release: str, client: Client, tmp_path: Path) -> None:
    """Recordings with all their words, where they are at hand: goldens know only some of them, so the newest is asked itself."""
    paths = without_agents((CORPUS / "recorded" / release).rglob("*.jsonl"))
    if not paths:
        pytest.skip("no corpus of whole recordings")
    program = client(NEWEST)
    for number, path in enumerate(paths):
        question = of_file(path, path.name)
        answer = ask_question(program, question, TIMEOUT)
        assert not answer.timed_out
        folder = tmp_path / str(number)
        folder.mkdir()
        assert_resumed_as(answer.messages, question, folder)
