"""What a project's own files may do before and after it is trusted, and which repositories git may look at."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lab.observatory.project import make_project

from stenograph.agent.context.git import GitState
from stenograph.agent.engine.options import AgentOptions, PermissionMode
from stenograph.agent.permissions.configuring import configured
from stenograph.agent.permissions.git_reading import is_plain_repository
from stenograph.agent.permissions.trust import ProjectTrust

HOOKS = {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}


def settle(tmp_path: Path, values: Any, **more: Any) -> tuple[AgentOptions, list[str]]:
    project = tmp_path / "project"
    (project / ".claude").mkdir(parents=True, exist_ok=True)
    text = values if isinstance(values, str) else json.dumps(values)
    (project / ".claude" / "settings.json").write_text(text, encoding="utf-8")
    options = AgentOptions(cwd=project, home=tmp_path / "home", environ={"XDG_STATE_HOME": str(tmp_path / "state")})
    return configured(options, has_mode=False, **more)


def test_only_denials_apply_until_a_project_is_trusted(tmp_path: Path) -> None:
    permissions = {"allow": ["Edit"], "deny": ["Read(.env)"], "ask": ["Bash(ls)"], "defaultMode": "acceptEdits"}
    values = {"permissions": permissions, "env": {"A": "1", "HTTPS_PROXY": "x"}, "hooks": HOOKS}
    options, lines = settle(tmp_path, values)
    settings = options.settings
    assert [rule.text for rule in (*settings.allow, *settings.ask, *settings.deny)] == ["Bash(ls)", "Read(.env)"]
    assert (settings.hooks, options.environment, options.permission_mode) == ((), {}, PermissionMode.DEFAULT)
    assert lines == [
        f"{tmp_path}/project/.claude/settings.json: a project cannot set HTTPS_PROXY",
        "this project is not trusted: 1 variable, 1 hook, 1 allow rule and 1 mode of its settings not used;"
        " add --trust-project to use them",
    ]
    options, lines = settle(tmp_path, values, trusts=True)
    assert [rule.text for rule in options.settings.allow] == ["Edit"]
    assert (len(options.settings.hooks), options.environment) == (1, {"A": "1"})
    assert options.permission_mode is PermissionMode.ACCEPT_EDITS
    assert len(lines) == 1


@pytest.mark.parametrize(
    ("theirs", "trusted", "mode"),
    [
        # As 2.1.325 does in a project that is trusted: the project's file is above the user's.
        ("default", True, "default"),
        ("dontAsk", True, "dontAsk"),
        ("acceptEdits", True, "acceptEdits"),
        # One that nobody trusts can't lead out of plan mode.
        ("default", False, "plan"),
        ("dontAsk", False, "plan"),
        ("acceptEdits", False, "plan"),
        ("plan", False, "plan"),
    ],
)
def test_an_untrusted_project_does_not_allow_more_than_the_mode_of_the_user(
    tmp_path: Path, theirs: str, trusted: bool, mode: str
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "settings.json").write_text('{"permissions": {"defaultMode": "plan"}}')
    options, _ = settle(tmp_path, {"permissions": {"defaultMode": theirs}}, **({"trusts": True} if trusted else {}))
    assert options.permission_mode == mode


def test_an_untrusted_project_may_choose_a_stricter_mode(tmp_path: Path) -> None:
    assert settle(tmp_path, {"permissions": {"defaultMode": "plan"}})[0].permission_mode is PermissionMode.PLAN


def test_trust_is_remembered_until_what_it_was_given_to_changes(tmp_path: Path) -> None:
    assert settle(tmp_path, {"hooks": HOOKS}, ask=lambda _: True)[0].is_trusted
    assert settle(tmp_path, {"hooks": HOOKS, "model": "opus"})[0].is_trusted
    assert not settle(tmp_path, {"hooks": {**HOOKS, "SessionStart": HOOKS["Stop"]}})[0].is_trusted
    assert not (tmp_path / "home").exists()


def test_a_project_never_gets_rid_of_all_questions(tmp_path: Path) -> None:
    options, lines = settle(tmp_path, {"permissions": {"defaultMode": "bypassPermissions"}}, trusts=True)
    assert options.permission_mode is PermissionMode.DEFAULT
    assert len(lines) == 1


@pytest.mark.parametrize("text", ["{", "[]", '{"permissions": 1}', '{"hooks": {"Stop": 1}}', '{"permissions": {"deny": "x"}}'])
def test_a_damaged_file_is_reported_in_one_line(tmp_path: Path, text: str) -> None:
    _, lines = settle(tmp_path, text)
    assert len(lines) == 1
    assert "settings.json" in lines[0]


@pytest.mark.parametrize(
    ("setting", "is_plain"),
    [
        ("user.name=x", True),
        ("core.fsmonitor=touch pwned", False),
        ("diff.x.textconv=touch pwned", False),
        ("include.path=x", False),
    ],
)
def test_a_repository_is_looked_at_only_if_it_runs_nothing_by_itself(tmp_path: Path, setting: str, is_plain: bool) -> None:
    make_project(tmp_path / "project")
    name, _, value = setting.partition("=")
    subprocess.run(["git", "config", name, value], cwd=tmp_path / "project", check=True)
    assert is_plain_repository(tmp_path / "project", "/usr/local/bin:/usr/bin:/bin") is is_plain


def test_a_command_that_allows_tools_is_part_of_what_is_trusted(tmp_path: Path) -> None:
    command = tmp_path / "project" / ".claude" / "commands" / "check.md"
    command.parent.mkdir(parents=True)
    command.write_text("---\nallowed-tools: Bash(make check)\n---\nCheck it.\n")
    assert not settle(tmp_path, {})[0].is_trusted
    assert settle(tmp_path, {}, ask=lambda _: True)[0].is_trusted
    assert settle(tmp_path, {})[0].is_trusted
    command.write_text("---\nallowed-tools: Bash(*)\n---\nCheck it.\n")
    assert not settle(tmp_path, {})[0].is_trusted


@pytest.mark.parametrize("name", ["commands", "skills", "commands/deep.md"])
def test_what_is_not_read_of_a_project_needs_no_trust(tmp_path: Path, name: str) -> None:
    """A link could lead to the whole disk, which nobody would wait for."""
    (tmp_path / "elsewhere" / "deep").mkdir(parents=True)
    for file in ("check.md", "deep/SKILL.md"):
        (tmp_path / "elsewhere" / file).write_text("---\nallowed-tools: Bash(*)\n---\nCheck it.\n")
    link = tmp_path / "project" / ".claude" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "elsewhere" / ("check.md" if link.suffix else ""))
    assert not ProjectTrust(tmp_path / "project", [], {}).is_needed


@pytest.mark.parametrize(
    "config",
    [
        '[core] [filter "evil"]\n\tclean = touch PWN; cat\n',
        '[remote "origin"]\n\tpromisor = true\n\tuploadpack = touch PWN\n[extensions]\n\tpartialClone = origin\n',
        '[lfs "extension.evil"]\n\tclean = touch PWN\n',
    ],
)
def test_git_is_not_asked_about_a_repository_that_names_programs(tmp_path: Path, config: str) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitattributes").write_text("* filter=evil\n")
    (tmp_path / "a").write_text("x")
    subprocess.run(["git", "add", "a"], cwd=tmp_path, check=True)
    (tmp_path / "a").write_text("y")
    with (tmp_path / ".git" / "config").open("a") as file:
        file.write(config)
    assert GitState(tmp_path, os.environ).text == ""
    assert not (tmp_path / "PWN").exists()


def test_a_repository_inside_another_is_looked_at_by_nobody(tmp_path: Path) -> None:
    inner = tmp_path / "sub"
    for folder in (tmp_path, inner):
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
    mode = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run([*mode, "commit", "-q", "--allow-empty", "-m", "x"], cwd=inner, check=True)
    assert is_plain_repository(tmp_path, os.environ["PATH"])
    subprocess.run(["git", "-c", "advice.addEmbeddedRepo=false", "add", "sub"], cwd=tmp_path, check=True)
    assert not is_plain_repository(tmp_path, os.environ["PATH"])


@pytest.mark.parametrize(("own", "expected"), [({}, "default"), ({"defaultMode": "acceptEdits"}, "acceptEdits")])
def test_settings_that_forbid_to_skip_questions_are_not_overruled(tmp_path: Path, own: Any, expected: str) -> None:
    """2.1.325 starts in the mode of its settings instead, or in the default mode, and exits with 0."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "settings.json").write_text(json.dumps({"permissions": {"disableBypassPermissionsMode": "disable", **own}}))
    options = AgentOptions(
        cwd=tmp_path, home=home, environ={"XDG_STATE_HOME": str(tmp_path)}, permission_mode=PermissionMode.BYPASS
    )
    made, lines = configured(options, has_mode=True)
    assert made.permission_mode.value == expected
    assert lines == [f"bypassPermissions is disabled by settings; the mode is {expected}"]
