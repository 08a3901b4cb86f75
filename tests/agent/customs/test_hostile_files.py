"""Commands, skills and agents of a project that nobody trusts yet: they send nothing of the user's, and keep nothing waiting."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lab.observatory.scenes import Scene, cue, say, text, tool
from tests.agent.world import World, world_at

from stenograph.agent.customs.commands import command_names
from stenograph.agent.customs.frontmatter import read_document
from stenograph.agent.engine import events

PLACES = ("commands/odd.md", "skills/odd/SKILL.md", "agents/odd.md")
SECRET = "---\nname: odd\ndescription: SECRET\n---\nSECRET\n"
OUTSIDE = "it is a link to outside the project"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    scenes: dict[str, Scene] = {"main": [say(text("Done."))], "calls": [say(tool("Skill", skill="odd")), say(text("Done."))]}
    with world_at(tmp_path.resolve(), scenes) as made:
        yield made


def place_of(world: World, name: str) -> Path:
    path = world.cwd / ".claude" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def notices(seen: list[events.Event]) -> list[str]:
    return [event.text for event in seen if isinstance(event, events.Notice)]


def sent(world: World) -> str:
    return json.dumps(world.asked())


@pytest.mark.parametrize("name", PLACES)
def test_a_projects_file_that_is_a_link_to_outside_is_not_read(name: str, world: World) -> None:
    (world.cwd.parent / "secret").write_text(SECRET)
    place_of(world, name).symlink_to(world.cwd.parent / "secret")
    seen = world.run(cue("calls"))
    assert "SECRET" not in sent(world)
    assert notices(seen) == [f"skipped {world.cwd}/.claude/{name}: {OUTSIDE}"]


@pytest.mark.parametrize(("name", "file"), [("commands", "odd.md"), ("skills", "odd/SKILL.md"), ("agents", "deep/odd.md")])
def test_a_projects_folder_that_is_a_link_to_outside_is_not_looked_into(name: str, file: str, world: World) -> None:
    path = world.cwd.parent / "diary" / file
    path.parent.mkdir(parents=True)
    path.write_text(SECRET)
    place_of(world, name).symlink_to(world.cwd.parent / "diary")
    seen = world.run(cue("calls"))
    assert "SECRET" not in sent(world)
    assert notices(seen) == [f"skipped {world.cwd}/.claude/{name}: {OUTSIDE}"]


def test_a_link_of_a_skills_directory_is_held_to_the_same(world: World) -> None:
    (world.cwd.parent / "diary").mkdir()
    (world.cwd.parent / "diary" / "SKILL.md").write_text(SECRET)
    place_of(world, "skills/odd").symlink_to(world.cwd.parent / "diary")
    world.run(cue("calls"))
    assert "SECRET" not in sent(world)


def test_links_inside_the_project_and_in_the_users_own_directory_are_followed(world: World) -> None:
    (world.cwd / "shared.md").write_text("Shared in the project.\n")
    place_of(world, "commands/ours.md").symlink_to("../../shared.md")
    (world.cwd.parent / "dotfiles").mkdir()
    (world.cwd.parent / "dotfiles" / "mine.md").write_text("Mine in the dotfiles.\n")
    (world.home / "commands").symlink_to(world.cwd.parent / "dotfiles")
    assert notices(world.run(cue("main"))) == []
    assert "- mine: Mine in the dotfiles." in sent(world)
    assert "- ours: Shared in the project." in sent(world)


def test_in_the_users_own_directory_as_project_links_are_the_users(world: World) -> None:
    (world.cwd.parent / "dotfiles").mkdir()
    (world.cwd.parent / "dotfiles" / "mine.md").write_text("Mine in the dotfiles.\n")
    (world.home / "commands").symlink_to(world.cwd.parent / "dotfiles")
    assert notices(world.run(cue("main"), cwd=world.home.parent)) == []
    assert "- mine: Mine in the dotfiles." in sent(world)


@pytest.mark.parametrize("name", PLACES)
def test_what_a_rule_denies_to_read_is_no_command_skill_or_agent(name: str, world: World) -> None:
    place_of(world, name).write_text(SECRET)
    seen = world.run(cue("calls"), disallowed=[f"Read(.claude/{name})"])
    assert "SECRET" not in sent(world)
    assert notices(seen) == [f"skipped {world.cwd}/.claude/{name}: a rule denies reading it"]


def test_a_command_that_is_not_read_is_unknown_on_the_command_line(world: World) -> None:
    (world.cwd.parent / "secret").write_text(SECRET)
    place_of(world, "commands/odd.md").symlink_to(world.cwd.parent / "secret")
    place_of(world, "commands/denied.md").write_text(SECRET)
    place_of(world, "commands/fine.md").write_text("Fine.\n")
    assert command_names(world.options(disallowed=["Read(denied.md)"])) == ["fine"]


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


def _terminal(path: Path) -> None:
    path.symlink_to("/dev/ptmx")


@pytest.mark.parametrize("make", [_pipe, _socket, _terminal])
def test_only_regular_files_are_read(make: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "odd.md")
    assert read_document(tmp_path / "odd.md") is None


@pytest.mark.parametrize("name", PLACES)
def test_a_pipe_among_the_files_keeps_no_session_waiting(name: str, world: World) -> None:
    os.mkfifo(place_of(world, name))
    (end,) = [event for event in world.run(cue("main")) if isinstance(event, events.TurnEnd)]
    assert end.outcome is events.Outcome.DONE


_BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [{','.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "front",
    [
        f"{_BOMB}allowed-tools: *i\nargument-hint: *i",
        "d: 2001-13-45",
        "d: 0001-01-01 00:00:00 +99:99",
        f"description: {'9' * 5000}",
        f"description: 0x{'f' * 9000}",
        f"x: {'[' * 100_000}",
        f"x: {'[' * 150}",
        f"x: {'- ' * 9_000}",
        'd: !!int ""',
        "d: !!bool x",
        "d: !!timestamp x",
        "? {a: b}\n: c",
    ],
    ids=lambda front: front[:20],
)
def test_wrong_yaml_keeps_its_simple_lines_and_the_body(front: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.md"
    path.write_text(f"---\nname: odd\n{front}\n---\nBody\n")
    document = read_document(path)
    assert document is not None
    assert (document.text("name"), document.body) == ("odd", "Body\n")
    assert all(isinstance(document.text(name), str) for name in document.members)


def test_an_alias_is_not_read_as_what_it_stands_for(tmp_path: Path) -> None:
    path = tmp_path / "odd.md"
    path.write_text("---\na: &a [x, y]\nallowed-tools: *a\n---\nBody\n")
    document = read_document(path)
    assert document is not None
    assert document.names("allowed-tools") == ["*a"]


def test_a_million_characters_of_yaml_are_not_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import yaml  # type: ignore[import-untyped]

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr(yaml, "load", refuse)
    path = tmp_path / "odd.md"
    path.write_text(f"---\nname: odd\nx: [{'a, ' * 250_000}]\n---\nBody\n")
    document = read_document(path)
    assert document is not None
    assert document.text("name") == "odd"
