"""What goes to the model beside a prompt: files that it mentions, and shell commands. No keys, and nothing that a rule denies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from lab.observatory.scenes import cue, say, text
from tests.agent.world import FAKE_KEY, World, world_at

from stenograph.agent.faces.console.completing import Completer
from stenograph.agent.faces.console.desk import Desk
from stenograph.agent.faces.console.look import Look
from stenograph.agent.permissions.live_policy import Behavior
from stenograph.agent.permissions.rules import parse_rule
from stenograph.model.client import ModelClient
from stenograph.model.endpoint import endpoint_from_environment

IMAGE = b"\x89PNG\r\n\x1a\n" + b"x" * 20


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with world_at(tmp_path.resolve(), {"all": [say(text("Seen."))]}) as made:
        (made.cwd / ".env").write_text("SECRET=1\n")
        (made.cwd / "notes.md").write_text("The milk.\n")
        yield made


def typed(
    world: World, *lines: str, denied: Sequence[str] = (), meanwhile: Callable[[], None] = lambda: None, **changes: Any
) -> str:
    """What the model was sent after these lines were typed. `denied`: rules that are added once the session is open.

    `meanwhile` happens once a line was taken, before anything is sent for it.
    """

    async def type_all() -> None:
        endpoint = endpoint_from_environment({"ANTHROPIC_BASE_URL": world.stage.url, "ANTHROPIC_API_KEY": FAKE_KEY})
        client = ModelClient(endpoint)
        desk = Desk(world.options(**changes), client, look=Look(color=False), state_folder=None, version="", is_plain=True)
        try:
            await desk.join(desk.options)
            assert desk.agent is not None
            desk.agent.policy.add(Behavior.DENY, map(parse_rule, denied))
            for line in lines:
                desk.submit(line, ())
                meanwhile()
                await asyncio.sleep(0.01)
                while desk.shell is not None or not desk.agent.is_idle:
                    await asyncio.sleep(0.01)
        finally:
            assert desk.link is not None
            await desk.link.close()
            await client.aclose()

    asyncio.run(type_all())
    return json.dumps([body["messages"] for body in world.asked()])


def test_a_shell_command_of_the_person_gets_no_keys(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    environ = {"PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": FAKE_KEY, "CLAUDE_CODE_OAUTH_TOKEN": "TOKEN"}
    sent = typed(world, "!env", cue("all"), environ=environ, environment={"FROM_SETTINGS": "yes"})
    written = world.session.read_text()
    for words in (sent, written, capsys.readouterr().out):
        assert FAKE_KEY not in words
        assert "TOKEN" not in words
        assert "FROM_SETTINGS=yes" in words


def test_a_mentioned_file_that_a_rule_denies_is_not_sent(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    sent = typed(world, cue("all", "See @.env, and @notes.md"), disallowed=["Read(.env)"])
    assert ("See @.env, and @notes.md" in sent, "The milk." in sent, "SECRET=1" in sent) == (True, True, False)
    assert "note: @.env was not sent: a rule denies reading it\n" in capsys.readouterr().out


def test_a_rule_that_was_added_later_denies_a_mention_too(world: World) -> None:
    (world.cwd / "link").symlink_to(".env")
    sent = typed(world, cue("all", "See @.env @link @notes.md"), denied=["Read(.env)", "Read(link)"])
    assert ("The milk." in sent, "SECRET=1" in sent) == (True, False)


def test_without_the_tool_that_reads_nothing_mentioned_is_read(world: World) -> None:
    assert "The milk." not in typed(world, cue("all", "See @notes.md"), disallowed=["Read"])


def test_a_file_is_denied_by_the_name_of_a_link_too(world: World) -> None:
    (world.cwd / "link").symlink_to("notes.md")
    assert "The milk." not in typed(world, cue("all", "See @link"), disallowed=["Read(link)"])


def test_a_link_that_led_to_a_denied_file_when_it_was_typed_is_not_sent(world: World) -> None:
    link = world.cwd / "link"
    link.symlink_to(".env")

    def lead_elsewhere() -> None:
        link.unlink()
        link.symlink_to("notes.md")

    sent = typed(world, cue("all", "See @link"), denied=["Read(.env)"], meanwhile=lead_elsewhere)
    assert ("See @link" in sent, "SECRET=1" in sent) == (True, False)


def test_a_mentioned_directory_lists_nothing_that_a_rule_denies(world: World) -> None:
    sent = typed(world, cue("all", "See @."), disallowed=["Read(.env)"])
    assert ("notes.md" in sent, ".env" in sent) == (True, False)


def test_our_own_environment_is_not_sent(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    sent = typed(world, cue("all", "See @/proc/self/environ"))
    assert "Called the Read tool" not in sent
    assert "note: @/proc/self/environ was not sent: files of processes may hold keys\n" in capsys.readouterr().out


def test_a_mentioned_image_that_a_rule_denies_is_not_sent(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("plan.png", "fine.png"):
        (world.cwd / name).write_bytes(IMAGE)
    sent = typed(world, cue("all", "See @plan.png @fine.png"), disallowed=["Read(plan.png)"])
    assert sent.count('"image/png"') == 1
    assert "note: @plan.png was not sent: a rule denies reading it\n" in capsys.readouterr().out


def test_a_file_in_the_home_directory_is_mentioned_with_a_tilde(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    home = world.cwd.parent / "own home"
    home.mkdir()
    (home / "list.txt").write_text("The bread.\n")
    (home / "plan.png").write_bytes(IMAGE)
    monkeypatch.setenv("HOME", str(home))
    sent = typed(world, cue("all", "See @~/list.txt, @~/plan.png and @~nobody-of-this-name/list.txt"))
    assert f"Called the Read tool with the following input: {home / 'list.txt'}" in sent
    assert ("The bread." in sent, sent.count('"image/png"')) == (True, 1)
    assert "note: " not in sent


def test_a_denied_file_stays_denied_with_a_tilde(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(world.cwd))
    assert "SECRET=1" not in typed(world, cue("all", "See @~/.env"), disallowed=["Read(~/.env)"])


def test_paths_outside_the_project_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("notes.md", "novels/one.txt", ".hidden", "project/own.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    completer = Completer(tmp_path / "project", lambda: ())

    def completed(text: str) -> list[str]:
        found = completer.complete(text, len(text))
        return [one.text for one in found.candidates] if found else []

    assert completed("see @~/no") == ["@~/notes.md", "@~/novels/"]
    assert completed("@~/novels/") == ["@~/novels/one.txt"]
    assert completed("@~/.h") == ["@~/.hidden"]
    assert completed("@../n") == ["@../notes.md", "@../novels/"]
    assert completed(f"@{tmp_path}/pro") == [f"@{tmp_path}/project/"]
    assert completed("@~/missing/") == []


def test_a_mention_that_no_file_can_be_called_stays_text(world: World) -> None:
    assert "xxx.png" in typed(world, cue("all", f"See @{'x' * 300}.png"))
