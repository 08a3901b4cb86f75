"""Clones: a new family with new ids, otherwise the same bytes, and the same conversation for every client."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.running import assert_one_clear_line, run
from tests.corpora import FIXTURES, ROOT
from tests.disk.conftest import Unprivileged, open_folder, unprivileged  # noqa: F401 - fixtures needed here too
from tests.homes import session_id, turns, user, write_session
from tests.messages.golden import RELEASES, our_messages
from tests.surgery.cloning import (
    UUID,
    api_ids,
    beside_what_was_said,
    contents_of,
    end_of_turn,
    originals_of,
    own_ids,
    paths_put_back,
    public,
    put_back,
    recorded,
    records_of,
    remaining,
    said,
)
from tests.surgery.conversations import called, linked, turn

from stenograph import __version__
from stenograph.analysis import compare
from stenograph.archive import Archive
from stenograph.errors import BusyError, UnwritableError, UsageError
from stenograph.family import find_family
from stenograph.sessions.loading import load_file
from stenograph.surgery.clone import ClonePlan, apply_clone, plan_clone
from stenograph.testing import lines
from stenograph.turns.model import tokens_of_all

NEW_ID = "c10e0000-0000-4000-8000-00000000c10e"
OTHER_ID = "c10e0000-0000-4000-8000-00000000c10f"
FAMILY = "051aa553-4fc2-4134-996d-2fe793e565ee"
INTERACTIVE = FIXTURES / "recorded" / "2.1.325" / "interactive" / "-home-user-proj-i-2-1-325"


@pytest.mark.parametrize("path", [*recorded(), *public()])
def test_no_member_of_a_line_has_an_old_id_and_nothing_else_is_new(path: Path, tmp_path: Path) -> None:
    plan = plan_clone(path, to_project=tmp_path / "projects" / "p", new_id=NEW_ID)
    before, after = originals_of(plan), contents_of(plan)
    # Ids of a form that no client makes may be any word: they are renewed where they make up a value (see test_ids).
    ids = {one for one in own_ids(data for target, data in before.items() if target.suffix == ".jsonl") if UUID.fullmatch(one)}
    loose = [file for file in plan.files if file.what == "agent" and file.target.parent == plan.path.parent]
    beside = {file.source.stem.removeprefix("agent-").encode() for file in loose}
    for target, data in after.items():
        if target.suffix == ".jsonl":
            assert not remaining(ids | beside, beside_what_was_said(data)), target
        assert not remaining(ids | beside, str(target.relative_to(tmp_path)).encode()), target
        if not beside:
            assert said(paths_put_back(plan, data)) == said(before[target])[: len(said(data))], target
    assert api_ids(after.values()) == api_ids(before.values())
    for target, data in after.items():
        whole = before[target] if target.suffix != ".jsonl" or before[target].endswith(b"\n") else _whole_lines(before[target])
        assert put_back(plan, data) == whole, target


def _whole_lines(data: bytes) -> bytes:
    """The file with a newline behind its last line, or without that line where it is no JSON."""
    body, _, last = data.rpartition(b"\n")
    try:
        json.loads(last)
    except ValueError:
        return body + b"\n" if body else b""
    return data + b"\n"


@pytest.mark.parametrize("path", [*recorded(pytest.mark.full), *public()])
def test_every_client_would_send_the_same(path: Path, tmp_path: Path) -> None:
    plan = plan_clone(path, to_project=tmp_path, new_id=NEW_ID)
    clone = contents_of(plan)[plan.path]
    plan.path.write_bytes(clone)
    for release in RELEASES:
        ours = our_messages(release, clone, plan.path)
        sent = None if ours is None else json.loads(put_back(plan, json.dumps(ours).encode()))
        assert sent == our_messages(release, path.read_bytes(), path), release


@pytest.mark.parametrize("path", recorded(pytest.mark.full))
def test_a_clone_of_a_clone_is_a_clone_but_for_ids(path: Path, tmp_path: Path) -> None:
    first = plan_clone(path, to_project=tmp_path / "home" / "projects" / "p", new_id=OTHER_ID)
    for target, data in contents_of(first).items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    second = plan_clone(first.path, new_id=NEW_ID)
    again = {target.relative_to(first.path.parent): put_back(second, data) for target, data in contents_of(second).items()}
    once = {target.relative_to(first.path.parent): data for target, data in contents_of(first).items()}
    assert sorted(again.values()) == sorted(once.values())
    assert second.ids == first.ids


def _family(home: Path) -> Path:
    """A session with agents, spilled results, file history, a title and a backup that names the session."""
    project = home / "projects" / "p"
    for source in (INTERACTIVE / f"{FAMILY}.jsonl", *(INTERACTIVE / FAMILY).rglob("*.*")):
        target = project / source.relative_to(INTERACTIVE)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    (project / FAMILY / "tool-results").mkdir()
    (project / FAMILY / "tool-results" / "b43u7qv4e.txt").write_text(f"output of {FAMILY}")
    (project / FAMILY / "custom-title.json").write_text('{"customTitle":"old"}')
    (home / "file-history" / FAMILY).mkdir(parents=True)
    (home / "file-history" / FAMILY / "0123456789abcdef@v1").write_text(f"a file of the user's that says {FAMILY}")
    return project / f"{FAMILY}.jsonl"


def test_the_whole_family_is_written_in_the_same_layout(tmp_path: Path) -> None:
    path = _family(tmp_path)
    plan = plan_clone(path, new_id=NEW_ID, title="Another way")
    archive = Archive(tmp_path / "archive")
    entry = apply_clone(plan, archive)
    family = find_family(path.parent, NEW_ID)
    assert [agent.layout.value for agent in family.agents] == ["nested", "nested"]
    assert all(agent.meta for agent in family.agents)
    assert [spilled.name for spilled in family.tool_results] == ["b43u7qv4e.txt"]
    assert family.tool_results[0].read_text() == f"output of {FAMILY}", "what was said"
    assert family.others[0].read_text() == '{"customTitle":"Another way"}'
    assert family.file_history is not None
    backup = family.file_history / "0123456789abcdef@v1"
    assert backup.read_text() == f"a file of the user's that says {FAMILY}", "the user's file, as a rewind puts it back"
    assert plan.path.read_bytes().endswith(
        b'{"type":"custom-title","customTitle":"Another way","sessionId":"%b","stenograph":"%b"}\n'
        % (NEW_ID.encode(), __version__.encode())
    )
    assert entry.session_id == NEW_ID
    assert entry.command["from"] == str(path)
    assert entry.command["session"] == FAMILY


def test_undoing_a_clone_removes_all_of_it(tmp_path: Path) -> None:
    path = _family(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    archive = Archive(tmp_path.parent / f"{tmp_path.name}-archive")
    entry = apply_clone(plan_clone(path), archive)
    archive.undo(entry.number)
    assert sorted(tmp_path.rglob("*")) == before


def test_agents_beside_the_session_get_names_that_nobody_has() -> None:
    source = FIXTURES / "recorded" / "2.0.76" / "interactive" / "-home-user-proj-i-2-0-76"
    path = next(path for path in sorted(source.glob("*.jsonl")) if path.stem in (source / "agent-a0f86f7.jsonl").read_text())
    plan = plan_clone(path, to_project=source)
    agents = [file for file in plan.files if file.what == "agent"]
    assert agents
    assert all(file.target.parent == source and not file.target.exists() for file in agents)
    assert all(len(file.target.name) == len(file.source.name) and file.target.name.startswith("agent-a") for file in agents)


def test_an_agent_whose_new_name_is_taken_gets_another(tmp_path: Path) -> None:
    source = FIXTURES / "recorded" / "2.0.76" / "interactive" / "-home-user-proj-i-2-0-76"
    path = next(path for path in sorted(source.glob("*.jsonl")) if path.stem in (source / "agent-a0f86f7.jsonl").read_text())
    first = plan_clone(path, to_project=tmp_path, new_id=NEW_ID)
    taken = next(file.target for file in first.files if file.what == "agent")
    taken.write_bytes(b'{"type":"user","sessionId":"of-another"}\n')
    second = plan_clone(path, to_project=tmp_path, new_id=NEW_ID)
    apply_clone(second, Archive(tmp_path / "archive"))
    assert taken.read_bytes() == b'{"type":"user","sessionId":"of-another"}\n'
    new = next(file.target for file, old in zip(second.files, first.files, strict=True) if old.target == taken)
    assert new != taken
    assert {record["agentId"] for record in records_of(new.read_bytes())} == {new.stem.removeprefix("agent-")}


def test_a_clone_has_the_permissions_of_its_original(tmp_path: Path) -> None:
    path = _family(tmp_path)
    backup = tmp_path / "file-history" / FAMILY / "0123456789abcdef@v1"
    backup.chmod(0o755)
    path.chmod(0o600)
    (path.parent / FAMILY / "tool-results" / "b43u7qv4e.txt").chmod(0o644)
    plan = plan_clone(path, new_id=NEW_ID)
    apply_clone(plan, Archive(tmp_path / "archive"))
    modes = {file.target: (file.source.stat().st_mode, file.target.stat().st_mode) for file in plan.files}
    assert all(old == new for old, new in modes.values())
    assert (tmp_path / "file-history" / NEW_ID / backup.name).stat().st_mode & 0o777 == 0o755


def test_an_original_and_its_clones_count_once(tmp_path: Path) -> None:
    path = _family(tmp_path)
    archive = Archive(tmp_path / "archive")
    clones = [apply_clone(plan_clone(path), archive) for _ in range(2)]
    paths = [path, *(path.with_name(f"{entry.session_id}.jsonl") for entry in clones)]
    sessions = [load_file(each) for each in paths]
    assert tokens_of_all(sessions) == tokens_of_all(sessions[:1])
    assert _counted(*(path.parent.rglob("*.jsonl"))) == _counted(path, *(path.parent / FAMILY).rglob("*.jsonl"))


def _counted(*paths: Path) -> int:
    """Output tokens as ccusage counts them: each pair of message.id and requestId once, the last line of it."""
    usage: dict[tuple[str, str], int] = {}
    for path in paths:
        for record in records_of(path.read_bytes()):
            message = record.get("message")
            if isinstance(message, dict) and "usage" in message and record.get("requestId"):
                usage[message["id"], record["requestId"]] = message["usage"]["output_tokens"]
    assert usage
    return sum(usage.values())


# Cut at a message


def _turns() -> list[object]:
    found = []
    for parameter in recorded():
        path = parameter.values[0]  # type: ignore[attr-defined]
        if path.is_relative_to(FIXTURES) and path.stat().st_size < 60_000:
            found.append(parameter)
    return found


@pytest.mark.parametrize("path", _turns())
def test_cut_at_a_turn_the_newest_client_sends_what_it_would_of_the_original_there(path: Path, tmp_path: Path) -> None:
    """The original with a line that says where to go on from (rule 21) is what the clone is measured by."""
    session = load_file(path)
    for number in range(1, len(session.turns) + 1):
        plan = plan_clone(path, at=session.turns[number - 1].number, to_project=tmp_path / str(number), new_id=NEW_ID)
        if number < len(session.turns):
            assert plan.at == end_of_turn(path, session.turns[number].node)
        sent = _sent(plan, RELEASES[-1])
        told = json.dumps({"type": "last-prompt", "leafUuid": plan.at, "explicit": True, "sessionId": path.stem}).encode()
        lines = path.read_bytes().split(b"\n")[:-1]
        # What came later is not there yet: a compaction would make the client forget the message.
        last = max(place for place, line in enumerate(lines) if b'"uuid":"%b"' % str(plan.at).encode() in line)
        kept = [line for line in lines[: last + 1] if b'"type":"last-prompt"' not in line]
        original = tmp_path / "original.jsonl"
        original.write_bytes(b"\n".join([*kept, told, b""]))
        assert sent == our_messages(RELEASES[-1], original.read_bytes(), original), number


def _sent(plan: ClonePlan, release: str) -> object:
    clone = contents_of(plan)[plan.path]
    plan.path.parent.mkdir(parents=True, exist_ok=True)
    plan.path.write_bytes(clone)
    ours = our_messages(release, clone, plan.path)
    return None if ours is None else json.loads(put_back(plan, json.dumps(ours).encode()))


def test_cut_at_a_turn_only_what_belongs_to_it_comes_along(tmp_path: Path) -> None:
    path = _family(tmp_path)
    # By hand, from the recording: the background task b43u7qv4e is of turn 1, turns 3 and 5 start an agent each.
    kept = {number: [file.what for file in plan_clone(path, at=number).files] for number in (1, 2, 3, 4, 5)}
    assert kept[1] == ["tool-result", "other", "session"]
    assert kept[2] == ["tool-result", "other", "session"]
    assert kept[3] == kept[4] == ["agent", "meta", "tool-result", "other", "session"]
    assert kept[5] == ["agent", "meta", "agent", "meta", "tool-result", "other", "session"]


def test_cut_clones_hold_nothing_of_what_came_later(tmp_path: Path) -> None:
    path = _family(tmp_path)
    data = b"".join(contents_of(plan_clone(path, at=1)).values())
    assert b"Background shell" in data
    assert b"Background agent" not in data
    assert b"Foreground agent" not in data


def test_each_branch_of_a_rewound_session_can_be_cloned(tmp_path: Path) -> None:
    scenarios = json.loads((INTERACTIVE.parent / "scenarios.json").read_text())
    name = next(name for name in json.dumps(scenarios["rewind"]).split('"') if name.endswith(".jsonl"))
    path = next(INTERACTIVE.rglob(Path(name).name))
    session = load_file(path)
    assert len(session.branches) > 1
    prompts = []
    for number in range(1, len(session.branches) + 1):
        plan = plan_clone(path, branch=number, to_project=tmp_path / str(number))
        _sent(plan, RELEASES[-1])
        clone = load_file(plan.path)
        assert len(clone.branches) == 1
        prompts.append([turn.prompt for turn in clone.turns])
    assert prompts == [[turn.prompt for turn in branch.turns] for branch in session.branches]


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        ({"at": "zz"}, "at least 4"),
        ({"at": "ffffffff"}, "no message"),
        ({"at": 99}, "no turn 99"),
        ({"branch": 7}, "no branch 7"),
        ({"new_id": "x"}, "UUID"),
        ({"new_id": FAMILY}, "already"),
        ({"title": " "}, "visible"),
    ],
)
def test_what_can_not_be_is_refused_in_one_line(cut: dict[str, object], said: str, tmp_path: Path) -> None:
    path = _family(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match=said) as caught:
        plan_clone(path, **cut)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_session_that_grows_is_cloned_as_far_as_it_was(tmp_path: Path) -> None:
    path = _family(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"type":"user","uuid":"half')
    plan = plan_clone(path)
    with path.open("ab") as file:
        file.write(b' a line"}\n{"type":"user"}\n')
    assert put_back(plan, contents_of(plan)[plan.path]) == whole
    assert plan.left_out == {"unfinished last lines": 1}


def test_a_session_that_was_rewritten_since_is_refused(tmp_path: Path) -> None:
    path = _family(tmp_path)
    plan = plan_clone(path)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(BusyError, match="rewritten"):
        apply_clone(plan, Archive(tmp_path / "archive"))
    assert not plan.path.exists()


def test_the_original_is_not_touched(tmp_path: Path) -> None:
    path = _family(tmp_path)
    before = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in tmp_path.rglob("*") if file.is_file()}
    apply_clone(plan_clone(path, at=3), Archive(tmp_path.parent / f"{tmp_path.name}-archive"))
    assert {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in before} == before


def test_agents_and_workflows_in_the_sessions_own_folder_keep_their_names(tmp_path: Path) -> None:
    path = ROOT / "recordings" / "2.1.325" / "modes" / "9b2fbf62-d89a-4930-a3da-5bfad7c05237.jsonl"
    plan = plan_clone(path, to_project=tmp_path)
    inside = [file for file in plan.files if file.what in ("agent", "meta", "other")]
    assert any("wf_a01ea55b-d6c" in file.target.parts for file in inside)
    assert [file.target.relative_to(plan.path.with_suffix("")) for file in inside] == [
        file.source.relative_to(path.with_suffix("")) for file in inside
    ]


def test_what_was_said_stays_but_paths_lead_to_the_clones_own_files(tmp_path: Path) -> None:
    """The scratchpad is the original's, as the commands that wrote to it; spilled results were copied."""
    spilled = f"saved to: /home/user/.claude/projects/p/{FAMILY}/tool-results/b43u7qv4e.txt"
    scratch = f"ls /tmp/claude-1000/p/{FAMILY}/scratchpad; steno show {FAMILY}"
    lines = linked(*turn("One", called("Bash", {"command": scratch}, f"{spilled} {FAMILY}", identity="toolu_1")))
    path = write_session(tmp_path / "home", FAMILY, [{**each, "sessionId": FAMILY} for each in lines], project="p")
    plan = plan_clone(path, to_project=path.parent.with_name("q"), new_id=NEW_ID)
    clone = contents_of(plan)[plan.path].decode()
    assert scratch in clone
    assert f"saved to: /home/user/.claude/projects/q/{NEW_ID}/tool-results/b43u7qv4e.txt {FAMILY}" in clone
    assert {record["sessionId"] for record in records_of(clone.encode())} == {NEW_ID}


def test_a_folder_without_the_right_to_write_is_refused_and_nothing_is_left(
    open_folder: Path,  # noqa: F811
    unprivileged: Unprivileged,  # noqa: F811
) -> None:
    path = _family(open_folder / "home")
    (open_folder / "data").mkdir()
    (open_folder / "data").chmod(0o777)
    for folder in (open_folder / "home").rglob("*"):
        folder.chmod(0o555 if folder.is_dir() else 0o444)
    before = sorted((open_folder / "home").rglob("*"))
    with unprivileged():
        plan = plan_clone(path)
        with pytest.raises(UnwritableError, match="cannot write to"):
            apply_clone(plan, Archive(open_folder / "data" / "archive"))
    assert sorted((open_folder / "home").rglob("*")) == before


# At a message that is named


LINES = linked(*turn("One", called("Read", {"file_path": "/p"}, "words", identity="toolu_1")), *turn("Two"))


@pytest.mark.parametrize("length", [36, 13, 4])
def test_a_message_is_named_by_its_uuid_or_the_beginning_of_it(length: int, tmp_path: Path) -> None:
    path = _family(tmp_path)
    spoken = [record for record in records_of(path.read_bytes()) if record["type"] == "assistant"]
    # By hand: the first answer's line is no other's beginning.
    named = spoken[0]["uuid"]
    assert [record["uuid"] for record in records_of(path.read_bytes()) if record.get("uuid", "").startswith(named[:4])] == [named]
    for given in (named[:length], named[:length].upper()):
        plan = plan_clone(path, at=given)
        assert plan.at == named
        last = [record for record in records_of(put_back(plan, contents_of(plan)[plan.path])) if "parentUuid" in record][-1]
        assert last["uuid"] == named


def test_a_beginning_that_several_messages_have_is_refused_and_the_whole_uuid_is_not(tmp_path: Path) -> None:
    path = write_session(tmp_path, session_id(1), LINES)
    beginning = "00000000-0000-4000-8000-00000000000"
    with pytest.raises(UsageError, match=f'"{beginning}" matches 6 messages; use a longer prefix'):
        plan_clone(path, at=beginning)
    assert plan_clone(path, at=f"{beginning}3").at == f"{beginning}3"


def test_a_sub_agents_message_is_no_place_to_cut_at(tmp_path: Path) -> None:
    path = _family(tmp_path)
    agent = next((path.parent / FAMILY / "subagents").glob("*.jsonl"))
    answer = next(record["uuid"] for record in records_of(agent.read_bytes()) if record["type"] == "assistant")
    with pytest.raises(UsageError, match="no message of this session"):
        plan_clone(path, at=answer)
    # As in 1.0, among the session's own lines.
    inline = {**LINES[3], "isSidechain": True, "uuid": "11111111-0000-4000-8000-000000000000", "parentUuid": None}
    old = write_session(tmp_path / "old", session_id(1), [*LINES[:4], inline, *LINES[4:]])
    with pytest.raises(UsageError, match='"11111111" is a subagent'):
        plan_clone(old, at="11111111")


def test_a_fork_copies_what_is_in_the_sessions_own_directory_and_leaves_loose_agents_to_the_original(tmp_path: Path) -> None:
    """As 2.1.325 forks: ids of lines stay, so that an agent beside the session is the same file for both."""
    path = _family(tmp_path)
    lines.write(path.parent / "agent-a0f86f7.jsonl", [lines.user(None, "Look.", sessionId=FAMILY, agentId="a0f86f7")])
    assert "agent-a0f86f7.jsonl" in {file.source.name for file in plan_clone(path).files}
    plan = plan_clone(path, as_fork=True, new_id=NEW_ID)
    found = sorted(file.source.relative_to(tmp_path).as_posix().replace(FAMILY, "ID") for file in plan.files)
    agents = sorted(path.name for path in (path.parent / FAMILY / "subagents").iterdir())
    assert len(agents) == 4
    assert found == sorted(
        [
            "projects/p/ID.jsonl",
            "projects/p/ID/custom-title.json",
            "projects/p/ID/tool-results/b43u7qv4e.txt",
            "file-history/ID/0123456789abcdef@v1",
            *(f"projects/p/ID/subagents/{name}" for name in agents),
        ]
    )
    assert not [file for file in plan.files if file.target.exists()]


def test_titles_of_dropped_messages_stay_behind_and_those_of_other_sessions_come_along(tmp_path: Path) -> None:
    other = {"type": "summary", "summary": "of another session", "leafUuid": "99999999-0000-4000-8000-000000000000"}
    of_one, of_two = ({"type": "summary", "summary": "x", "leafUuid": LINES[place]["uuid"]} for place in (3, 5))
    plan = plan_clone(write_session(tmp_path, session_id(1), [other, of_one, of_two, *LINES]), at=1)
    kept = [record for record in records_of(put_back(plan, contents_of(plan)[plan.path])) if record["type"] == "summary"]
    assert kept == [other, of_one]
    assert plan.left_out["titles of dropped messages"] == 1


def test_a_last_prompt_line_that_points_beside_the_conversation_does_not_move_the_end_of_a_clone(tmp_path: Path) -> None:
    """Rule 21: it cuts the chain at the record that it names; here the result of a parallel call, which is kept."""
    first, second = called("Read", {}, "one", identity="toolu_1"), called("Read", {}, "two", identity="toolu_2")
    lines = linked(user("Both"), first[0], second[0], first[1], second[1], *turn("", answer="Done.")[1:])
    lines[2]["message"]["id"] = lines[1]["message"]["id"]
    lines[3]["parentUuid"], lines[4]["parentUuid"] = lines[1]["uuid"], lines[2]["uuid"]
    elsewhere = {"type": "last-prompt", "leafUuid": lines[3]["uuid"], "sessionId": session_id(1)}
    path = write_session(tmp_path, session_id(1), [*lines[:5], elsewhere, lines[5]])
    plan = plan_clone(path, at=lines[5]["uuid"])
    assert plan.left_out == {"last-prompt lines that point elsewhere": 1}
    kept = put_back(plan, contents_of(plan)[plan.path]).replace(plan.new_id.encode(), session_id(1).encode())
    assert [record["uuid"] for record in records_of(kept)] == [line["uuid"] for line in lines]


# What a person should know


def test_it_is_said_when_old_clients_would_go_on_from_elsewhere(tmp_path: Path) -> None:
    """Rule 19: 2.0.76 and 2.1.45 go on from the newest by time, which here is the tool call."""
    lines = [{**line, "timestamp": "2027-01-01T00:00:00.000Z"} if line is LINES[1] else line for line in LINES]
    plan = plan_clone(write_session(tmp_path, session_id(1), lines), at=LINES[3]["uuid"])
    assert "because of its timestamps, 2.0.76 and 2.1.45 would resume from another message" in plan.notes
    assert plan.added == ()
    whole = plan_clone(write_session(tmp_path, session_id(2), LINES), at=LINES[3]["uuid"])
    assert not [note for note in whole.notes if "times" in note]


def test_it_is_said_when_a_line_was_added_for_new_clients(tmp_path: Path) -> None:
    """Rule 20: the prompt stands last and is the newest by time, so that 2.1.325 would not go on to its answer."""
    prompt = {**LINES[4], "timestamp": "2027-01-01T00:00:00.000Z"}
    plan = plan_clone(write_session(tmp_path, session_id(1), [*LINES[:4], LINES[5], prompt]), at=LINES[5]["uuid"], new_id=NEW_ID)
    assert "added a last-prompt line, so that new releases resume from the last message" in plan.notes
    added = json.loads(contents_of(plan)[plan.path].splitlines()[-1])
    leaf = put_back(plan, added["leafUuid"].encode()).decode()
    assert {**added, "leafUuid": leaf} == {
        "type": "last-prompt",
        "leafUuid": LINES[5]["uuid"],
        "explicit": True,
        "sessionId": NEW_ID,
        "stenograph": __version__,
    }


def test_it_is_said_when_somebody_is_writing_and_when_a_part_can_not_be_read(tmp_path: Path) -> None:
    path = _family(tmp_path)
    odd = path.parent / FAMILY / "tool-results" / "odd"
    odd.symlink_to("nowhere")
    assert [note for note in plan_clone(path).notes if note.startswith(f"{odd}: ")]
    with path.open("ab"):
        told = json.loads(run("clone", FAMILY, "--home", tmp_path, "--dry-run", "--json").stdout)["notes"]
    writing = f"the original is being written to; the clone has the complete lines up to byte {path.stat().st_size}"
    assert (writing in told) is Path("/proc/self/fd").is_dir()  # who has a file open is known on Linux only


# On the command line


def test_the_command_says_the_new_id_where_it_is_and_how_to_go_on(tmp_path: Path) -> None:
    path = _family(tmp_path)
    done = run("clone", FAMILY[:8], "--home", tmp_path, "--title", "Another way")
    assert done.returncode == 0, done.stderr
    first, place, *_ = done.stdout.splitlines()
    new_id = first.partition(":")[0]
    assert place.endswith(f"{new_id}.jsonl")
    assert (path.parent / f"{new_id}.jsonl").is_file()
    assert f"resume {new_id}" in done.stdout
    assert new_id in run("resume", "--home", tmp_path, new_id, "--print").stdout
    assert run("ls", "--home", tmp_path, "--all").stdout.count("Another way") == 1
    undo = run("undo", "--apply", "--home", tmp_path, new_id)
    assert undo.returncode == 0, undo.stderr
    assert not (path.parent / f"{new_id}.jsonl").exists()


def test_a_dry_run_writes_nothing_and_says_what_would_be(tmp_path: Path) -> None:
    _family(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    done = run("clone", FAMILY, "--home", tmp_path, "--turn", "1", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["applied"] is False
    assert told["entry"] is None
    assert [file["kind"] for file in told["files"]] == ["tool-result", "other", "session"]
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "arguments", [("--at", "1234", "--turn", "1"), ("--at", "1234", "--branch", "1"), ("--turn", "99"), ("--title", "")]
)
def test_the_command_refuses_what_can_not_be(arguments: tuple[str, ...], tmp_path: Path) -> None:
    _family(tmp_path)
    assert_one_clear_line(run("clone", FAMILY, "--home", tmp_path, *arguments))


@pytest.mark.parametrize("as_fork", [False, True])
def test_a_clone_takes_nothing_through_a_link_to_a_folder_and_says_so(tmp_path: Path, as_fork: bool) -> None:
    path = write_session(tmp_path / "home", FAMILY, turns(2))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "thesis.tex").write_text("not the session's")
    histories = tmp_path / "home" / "file-history"
    histories.mkdir()
    for link in (path.with_suffix(""), histories / FAMILY):
        link.symlink_to(elsewhere)
    plan = plan_clone(path, as_fork=as_fork)
    assert [file.source for file in plan.files] == [path]
    assert sum("a link to a directory" in note for note in plan.notes) == 2


@pytest.mark.parametrize("as_fork", [False, True])
def test_a_clone_of_a_file_that_is_not_named_by_a_uuid_leaves_the_folder_beside_it(tmp_path: Path, as_fork: bool) -> None:
    path = tmp_path / "src.jsonl"
    path.write_bytes(write_session(tmp_path / "home", FAMILY, turns(2)).read_bytes())
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.py").write_text("print()")
    assert [file.source for file in plan_clone(path, as_fork=as_fork).files] == [path]


# Beside its original


@pytest.mark.parametrize("path", recorded(pytest.mark.full))
def test_a_session_and_its_clone_do_not_differ(path: Path, tmp_path: Path) -> None:
    plan = plan_clone(path, to_project=tmp_path / "projects" / "q", new_id=NEW_ID)
    for target, data in contents_of(plan).items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    original = load_file(path)
    found = compare(original, load_file(plan.path))
    assert (found.shared, found.parting) == (len(original.turns), "same")


def test_the_diff_of_a_clone_that_went_on_shows_only_that(tmp_path: Path) -> None:
    path = _family(tmp_path)
    entry = apply_clone(plan_clone(path, at=2), Archive(tmp_path / "archive"))
    told = json.loads(run("diff", FAMILY, entry.session_id, "--home", tmp_path, "--json").stdout)
    assert told["shared"] == 2
