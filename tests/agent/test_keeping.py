"""Rules that an answer adds for good: those that are offered, and what writing them means for the trust in a project."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from stenograph.agent.engine.options import AgentOptions
from stenograph.agent.permissions.configuring import configured
from stenograph.agent.permissions.keeping import keep_rules
from stenograph.agent.permissions.live_policy import Behavior, PermissionUpdate, RuleDestination, parse_rules, policy_from
from stenograph.agent.permissions.policy import Permissions
from stenograph.agent.permissions.rules import parse_rule
from stenograph.agent.tools.base import Workspace
from stenograph.agent.tools.bash import Bash, BashInput

HOOKS = {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}


class Kept:
    """A project, its settings and the user's trust in it."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.home = folder / "home"
        self.environ = {"XDG_STATE_HOME": str(folder / "state")}
        (self.project / ".claude").mkdir(parents=True)
        self.own = self.project / ".claude" / "settings.local.json"

    def start(self, *, trusts: bool = False) -> list[str]:
        """What is asked about."""
        asked: list[str] = []

        def refuse(wanted: Sequence[str]) -> bool:
            asked.extend(wanted)
            return False

        options = AgentOptions(cwd=self.project, home=self.home, environ=self.environ)
        configured(options, has_mode=False, trusts=trusts, ask=refuse)
        return asked

    def keep(self, rule: str, destination: RuleDestination = RuleDestination.LOCAL) -> None:
        update = PermissionUpdate(kind="addRules", rules=[parse_rule(rule)], destination=destination)
        keep_rules(update, home=self.home, project=self.project, environ=self.environ)


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


@pytest.mark.parametrize("destination", [RuleDestination.LOCAL, RuleDestination.PROJECT])
def test_an_answer_for_good_does_not_cost_a_question_at_the_next_start(kept: Kept, destination: RuleDestination) -> None:
    assert kept.start() == []
    kept.keep("Bash(npm test *)", destination)
    assert kept.start() == []
    kept.keep("Bash(make)", destination)
    assert kept.start() == []


def test_trust_in_what_else_a_project_asks_for_stays_with_a_new_rule(kept: Kept) -> None:
    kept.own.write_text(json.dumps({"hooks": HOOKS}))
    (kept.project / ".mcp.json").write_text("{}")
    assert kept.start(trusts=True) == []
    kept.keep("Bash(npm test *)")
    assert kept.start() == []
    (kept.project / ".mcp.json").write_text('{"mcpServers": {}}')
    assert kept.start() == ["1 hook", "1 allow rule", "MCP servers"]


def test_a_new_rule_trusts_nothing_that_came_in_between(kept: Kept) -> None:
    kept.own.write_text(json.dumps({"hooks": HOOKS}))
    assert kept.start() == ["1 hook"]
    kept.keep("Bash(npm test *)")
    assert kept.start() == ["1 hook", "1 allow rule"]


def test_a_rule_of_the_user_leaves_the_trust_alone(kept: Kept) -> None:
    kept.keep("Bash(npm test *)", RuleDestination.USER)
    kept.own.write_text(json.dumps({"hooks": HOOKS}))
    assert kept.start() == ["1 hook"]


# What is offered


def offered(project: Path, command: str, asks: str = "") -> list[str]:
    """The rules, of which is known here that they allow the command."""
    policy = policy_from(AgentOptions(cwd=project, home=project / "home"))
    policy.add(Behavior.ASK, parse_rules([asks] if asks else []))
    permissions = Permissions(policy, Workspace(cwd=project, project=project, additional=[]))
    bash, given = Bash(), BashInput(command=command)
    assert not permissions.decide(bash, given, {"command": command}).allowed
    updates = permissions.suggest(bash, given, {"command": command})
    for update in updates:
        policy.apply(update)
    assert permissions.decide(bash, given, {"command": command}).allowed is bool(updates)
    return [rule.text for update in updates for rule in update.rules]


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("npm test && cargo build", ["Bash(npm test *)", "Bash(cargo build *)"]),
        ("mkdir -p build && touch build/x", ["Bash(mkdir -p build)", "Bash(touch build/x)"]),
        # No rule for a part covers where it writes.
        (
            "mkdir -p build && touch build/x && echo made > build/y",
            ["Bash(mkdir -p build && touch build/x && echo made > build/y)"],
        ),
        ("echo $(npm bin)", ["Bash(echo $(npm bin))"]),
        ("python3 - <<EOF\nprint($X)\nEOF\n", ["Bash(python3 - <<EOF\nprint($X)\nEOF)"]),
        # An exact rule with a star would mean more.
        ("touch $X > *.txt", []),
    ],
)
def test_the_rules_that_are_offered_allow_the_very_same_command(tmp_path: Path, command: str, rules: list[str]) -> None:
    assert offered(tmp_path, command) == rules


def test_no_rule_is_offered_where_another_wants_to_be_asked(tmp_path: Path) -> None:
    assert offered(tmp_path, "npm test", asks="Bash(npm test)") == []
