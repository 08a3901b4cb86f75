"""Sessions that somebody else wrote: whatever their lines hold, they are gone on with or refused, and touch nothing of others."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.observatory.scenes import Scene, cue, say, text, tool
from tests.agent.sending import assert_sendable, live_messages
from tests.agent.world import Json, World, lines_of, of, turn_ends, world_at

from stenograph.agent.engine.sendable import sendable
from stenograph.agent.recording.file_history import FileHistory
from stenograph.check import check
from stenograph.errors import StenographError

ID = "7f3e2d10-0000-4000-8000-00000000000b"
HALF = "a\ud800"
SCENES: dict[str, Scene] = {
    "plain": [say(text("Hello."))],
    "calls": [say(tool("Bash", command="echo a")), say(text("Called."))],
    "writes": [say(tool("Write", file_path="a.txt", content="one\n")), say(text("Written."))],
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_at(tmp_path, SCENES) as made:
        yield made


def begun(world: World, scene: str = "calls") -> list[Json]:
    world.run(cue(scene), session_id=ID)
    return lines_of(world.session)


def rewrite(world: World, lines: list[Json] | bytes) -> None:
    world.session.write_bytes(
        lines if isinstance(lines, bytes) else b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    )


def go_on(world: World, **changes: Any) -> list[Json]:
    """The messages that are sent when the session is gone on with."""
    events = world.run(cue("plain"), resume=ID, **changes)
    assert [end.text for end in turn_ends(events)] == ["Hello."]
    messages = live_messages(world.asked()[-1])
    assert_sendable(messages)
    return messages


# What is sent


VALUES: list[Any] = [None, 5, "x", HALF, [], {}, [1], [None], {"a": 1}, [[]], [{"type": ["x"]}], [{"type": {}}]]
VALUES += [[{"type": "tool_use"}], [{"type": "tool_result"}], [{"type": "text"}], 1e308, True]
BLOCK_MEMBERS = ("id", "name", "input", "tool_use_id", "content", "text", "type")
LINE_MEMBERS = ("uuid", "timestamp", "sessionId", "slug", "cwd", "origin", "toolUseResult", "version", "isMeta")
MESSAGE_MEMBERS = ("content", "model", "id", "usage")


def changed(lines: list[Json], where: str, name: str, value: Any) -> list[Json]:
    copied: list[Json] = json.loads(json.dumps(lines))
    for line in copied:
        message = line.get("message", {})
        content = message.get("content") if isinstance(message.get("content"), list) else []
        for holder in {"line": [line], "message": [message], "block": content}[where]:
            if name in holder:
                holder[name] = value
    return copied


@pytest.mark.spread(12)
@pytest.mark.parametrize(
    ("where", "name"),
    [
        *itertools.product(["line"], LINE_MEMBERS),
        *itertools.product(["message"], MESSAGE_MEMBERS),
        *itertools.product(["block"], BLOCK_MEMBERS),
    ],
)
def test_whatever_a_member_holds_what_is_sent_can_be_taken(world: World, where: str, name: str) -> None:
    lines = begun(world)
    gone_on = 0
    for value in VALUES:
        rewrite(world, changed(lines, where, name, value))
        asked = len(world.asked())
        try:
            world.run(cue("plain"), resume=ID)
        except StenographError:
            continue
        assert len(world.asked()) == asked + 1, value
        messages = live_messages(world.asked()[-1])
        for block in (block for message in messages for block in message["content"]):
            assert isinstance(block["type"], str), value
            assert isinstance(block.get("text", ""), str), value
        calls = [block for message in messages for block in message["content"] if block["type"] == "tool_use"]
        results = [block for message in messages for block in message["content"] if block["type"] == "tool_result"]
        assert [call["id"] for call in calls] == [result["tool_use_id"] for result in results], value
        assert all(isinstance(call["id"], str) and isinstance(call["input"], dict) for call in calls), value
        gone_on += 1
    assert gone_on or name == "timestamp"


def user_says(*blocks: Any) -> Json:
    return {"role": "user", "content": list(blocks)}


def model_says(*blocks: Any) -> Json:
    return {"role": "assistant", "content": list(blocks)}


Q, A, NONE = {"type": "text", "text": "q"}, {"type": "text", "text": "a"}, {"type": "text", "text": "(no content)"}
CALL = {"type": "tool_use", "id": "a", "name": "Bash", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "r"}
THOUGHT = {"type": "thinking", "thinking": "t", "signature": "s"}


def test_what_is_whole_stays_as_it_is() -> None:
    messages = [user_says(Q), model_says(THOUGHT, CALL), user_says(RESULT, {"type": "of tomorrow"}), model_says(A)]
    assert sendable(messages) is messages


@pytest.mark.parametrize("odd", [{"input": 5}, {"input": None}, {"id": 5}, {"id": ["a"]}, {"name": None}])
def test_a_call_that_is_none_goes_with_its_result(odd: Json) -> None:
    messages = [user_says(Q), model_says(THOUGHT, {**CALL, **odd}), user_says(RESULT), model_says(A)]
    assert sendable(messages) == [user_says(Q), model_says(A)]
    beside = [user_says(Q), model_says(A, {**CALL, **odd}), user_says(RESULT), model_says(A)]
    assert sendable(beside) == [user_says(Q), model_says(A), user_says(NONE), model_says(A)]


def test_a_result_that_is_none_goes_with_its_call() -> None:
    messages = [user_says(Q), model_says(A, CALL), user_says({**RESULT, "tool_use_id": 5}, Q), model_says(A)]
    assert sendable(messages) == [user_says(Q), model_says(A), user_says(Q), model_says(A)]


def test_a_conversation_begins_with_the_user_even_if_nothing_of_it_is_left() -> None:
    assert sendable([user_says({"type": 5}), model_says(A)]) == [user_says(NONE), model_says(A)]


def test_parts_of_a_result_that_are_no_blocks_are_left_out() -> None:
    messages = [user_says(Q), model_says(CALL), user_says({**RESULT, "content": [None, A, {"type": 5}]}), model_says(A)]
    assert sendable(messages)[2] == user_says({**RESULT, "content": [A]})
    messages[2] = user_says({**RESULT, "content": 5})
    assert sendable(messages)[2] == user_says({**RESULT, "content": []})


# What is written


def test_half_a_surrogate_pair_is_written_as_the_character_that_stands_for_none(world: World) -> None:
    lines = begun(world)
    for line in lines:
        line.update({"slug": HALF} if "slug" in line else {})
        if line["type"] == "assistant":
            line["message"]["model"] = "claude-" + HALF
    lines.append({"type": "custom-title", "customTitle": HALF, "sessionId": ID})
    rewrite(world, lines)
    go_on(world)
    written = lines_of(world.session)[len(lines) :]
    assert {line["slug"] for line in written if "slug" in line} == {"a\ufffd"}
    assert {line["customTitle"] for line in of("custom-title", written)} == {"a\ufffd"}
    assert world.asked()[-1]["model"] == "claude-a\ufffd"


def test_a_line_hangs_off_one_whose_uuid_is_no_text(world: World) -> None:
    lines = begun(world)
    last = [line for line in lines if "uuid" in line][-1]
    last["uuid"] = HALF
    rewrite(world, lines)
    go_on(world)
    again = go_on(world)
    assert [line for line in lines_of(world.session) if line.get("parentUuid") == HALF]
    assert len([message for message in again if message["role"] == "user"]) == 4
    assert not check([world.session]).damage


def test_after_the_last_year_there_is_still_a_time(world: World) -> None:
    end = "9999-12-31T23:59:59.999Z"
    lines = begun(world)
    rewrite(world, [{**line, "timestamp": end} if "timestamp" in line else line for line in lines])
    go_on(world)
    assert {line["timestamp"] for line in lines_of(world.session)[len(lines) :] if "timestamp" in line and "uuid" in line} == {
        end
    }


# The history of files


def snapshot(message_id: str, tracked: Any, **more: Any) -> Json:
    inner = {"messageId": message_id, "trackedFileBackups": tracked, "timestamp": "2026-01-01T00:00:00.000Z", **more}
    return {"type": "file-history-snapshot", "messageId": message_id, "snapshot": inner, "isSnapshotUpdate": True}


def backup(name: str | None, **more: Any) -> Json:
    return {"backupFileName": name, "version": 1, "backupTime": "x", **more}


ODD_TRACKED: dict[str, Json] = {
    "a half in a name": {HALF: backup(None)},
    "NUL in a name": {"a\0b": backup(None)},
    "no name": {"": backup(None)},
    "a name that is too long": {"x" * 5000: backup("evil@v1")},
    "a name below a file": {"a.txt/x": backup("evil@v1")},
    "NUL in the name of a copy": {"b.txt": backup("e\0")},
    "a half in the name of a copy": {"b.txt": backup(HALF)},
    "a great version": {"b.txt": backup("evil@v1", version=10**30)},
    "a version that is none": {"b.txt": backup("evil@v1", version=True)},
}


@pytest.mark.parametrize("name", ODD_TRACKED)
def test_names_that_no_file_has_keep_nobody_from_going_on_or_back(world: World, name: str) -> None:
    lines = begun(world, "writes")
    prompt = next(line["uuid"] for line in lines if line.get("promptSource") == "typed")
    hostile = [*lines, snapshot(prompt, {**ODD_TRACKED[name], "a.txt": backup(None)})]
    copies = world.home / "file-history" / ID
    copies.mkdir(parents=True, exist_ok=True)
    (copies / "evil@v1").write_text("evil\n")
    rewrite(world, hostile)
    go_on(world)
    rewrite(world, hostile)
    go_on(world, fork=True)
    for path in world.sessions:
        if path.stem != ID:
            path.unlink()
    rewrite(world, hostile)
    go_on(world, rewind="1")
    assert sorted(path.name for path in world.cwd.iterdir()) == []  # the file was not there before the prompt


@pytest.mark.parametrize(
    "members", [{"backupTime": [1]}, {"realParentDir": 5}, {"realParentDir": HALF}, {"of": {"tomorrow": 10**30}}]
)
def test_what_a_copy_says_besides_is_written_again_only_where_it_makes_sense(world: World, members: Json) -> None:
    lines = begun(world)
    rewrite(world, [*lines, snapshot("p", {"b.txt": backup(None, **members)})])
    go_on(world)
    written = of("file-history-snapshot", lines_of(world.session)[len(lines) + 1 :])
    kept = [line["snapshot"]["trackedFileBackups"]["b.txt"] for line in written]
    assert kept
    for one in kept:
        assert one.keys() <= {"backupFileName", "version", "backupTime", "realParentDir"}
        assert all(isinstance(one.get(name, ""), str) for name in ("backupTime", "realParentDir"))


@pytest.mark.parametrize("depth", [900, 100_000])
def test_a_line_of_the_history_may_be_deep(world: World, depth: int) -> None:
    begun(world)
    deep = b'{"type":"file-history-snapshot","snapshot":' + b"[" * depth + b"]" * depth + b"}\n"
    rewrite(world, world.session.read_bytes() + deep)
    go_on(world)
    go_on(world, fork=True)


def test_going_back_touches_nothing_but_the_projects_own_files(world: World, tmp_path: Path) -> None:
    lines = begun(world, "writes")
    prompt = next(line["uuid"] for line in lines if line.get("promptSource") == "typed")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("precious\n")
    (world.cwd / "link").symlink_to(outside)
    (world.cwd / "hooks").mkdir()
    (world.cwd / ".git").mkdir()
    (world.cwd / "to-git").symlink_to(".git")
    (world.home.parent / ".bashrc").write_text("rc\n")
    copies = world.home / "file-history" / ID
    copies.mkdir(parents=True, exist_ok=True)
    (copies / "evil@v1").write_text("evil\n")
    evil = backup("evil@v1")
    tracked = {
        str(outside / "kept.txt"): backup(None),
        "../outside/kept.txt": evil,
        "link/kept.txt": evil,
        "link/new.txt": evil,
        str(outside / "new/new.txt"): evil,
        str(world.home.parent / ".bashrc"): evil,
        ".git/hooks/post-checkout": evil,
        ".GIT/config": evil,
        "to-git/config": evil,
        "sub/.git": evil,
        ".claude/settings.json": evil,
        "sub/.bashrc": evil,
        "sub/good.txt": evil,
    }
    rewrite(world, [*lines, snapshot(prompt, tracked)])
    before = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file() and world.home not in path.parents}
    go_on(world, rewind="1")
    after = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file() and world.home not in path.parents}
    before.pop(world.cwd / "a.txt")  # was not there before the prompt
    assert after == {**before, world.cwd / "sub/good.txt": "evil\n"}
    assert not (outside / "new").exists()


def test_files_in_additional_folders_are_brought_back_wherever_those_really_are(tmp_path: Path) -> None:
    real, project, copies = tmp_path / "real", tmp_path / "project", tmp_path / "copies"
    for folder in (real, project, copies):
        folder.mkdir()
    (tmp_path / "named").symlink_to(real)
    (copies / "one@v1").write_text("one\n")
    for name in ("in.txt", "out.txt"):
        (real / name).write_text("two\n")
    history = FileHistory(copies, project, additional=[tmp_path / "named"])
    history.take_up([snapshot("p", {str(tmp_path / "named/in.txt"): backup("one@v1")})])
    assert history.restore("p") == [tmp_path / "named/in.txt"]
    elsewhere = FileHistory(copies, project)
    elsewhere.take_up([snapshot("p", {str(real / "out.txt"): backup("one@v1")})])
    assert elsewhere.restore("p") == []
    assert [(real / name).read_text() for name in ("in.txt", "out.txt")] == ["one\n", "two\n"]


def test_what_the_newest_prompt_does_not_know_is_kept_before_it_is_taken_away(tmp_path: Path) -> None:
    project, copies = tmp_path / "project", tmp_path / "copies"
    project.mkdir()
    (project / "a.txt").write_text("precious\n")
    history = FileHistory(copies, project)
    history.take_up([snapshot("p1", {"a.txt": backup(None)}), snapshot("p2", {})])
    assert history.restore("p1") == [project / "a.txt"]
    assert not (project / "a.txt").exists()
    kept = history.copy_of(project / "a.txt")
    assert kept is not None
    assert kept.read_text() == "precious\n"


def test_nothing_is_changed_where_a_name_can_not_be_judged(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("kept\n")
    history = FileHistory(tmp_path / "copies", project)
    history.take_up([snapshot("p", {"a.txt": backup(None), "b.txt": backup(None)})])

    def may_touch(path: Path) -> bool:
        if path.name == "b.txt":
            raise StenographError("not to be told")
        return True

    with pytest.raises(StenographError):
        history.restore("p", may_touch)
    assert (project / "a.txt").read_text() == "kept\n"
