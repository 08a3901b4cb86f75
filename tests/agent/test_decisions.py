"""What may run, beside the decisions of 2.1.325 about the same commands under the same settings (`scripts/ask_decisions.py`)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from lab.decision_cases import DISGUISES, GROUPS, Group
from lab.decisions import SETTINGS_FILES, ask_group
from lab.observatory.project import make_project
from tests.conftest import Client

from stenograph.agent.engine.options import AgentOptions, PermissionMode
from stenograph.agent.permissions.configuring import configured
from stenograph.agent.permissions.live_policy import Behavior, Decision, policy_from
from stenograph.agent.permissions.policy import Permissions
from stenograph.agent.tools import all_tools
from stenograph.agent.tools.base import Workspace

NEWEST = "2.1.325"
GOLDEN = json.loads((Path(__file__).parent / "decisions" / f"{NEWEST}.json").read_text(encoding="utf-8"))
_RANKS = [Behavior.ALLOW, Behavior.ASK, Behavior.DENY]
#: Where ours is stricter, and why.
STRICTER = {
    "git ls-remote": "it opens a connection that the repository names",
    "cd .. && ls": "it leads out of the working directories",
    "grep -R TODO .": "-R follows links out of the working directories",
    'printf "a%d" 1': "some shells evaluate a number that is given to printf",
    "man ls": "it runs a pager and formatters that the environment names",
    "x=1; make": "a variable may be one that programs look at",
    "m\\ake x": "a rule is compared with the command as it is written",
    "'make' x": "a rule is compared with the command as it is written",
    'ma"ke" x': "a rule is compared with the command as it is written",
    "echo $((1+1))": "the result may be the name of a link",
    "make $((1+1))": "the result may be the name of a link",
    "mkdir b": "a local file comes with a project that is not trusted",
}


def ours(group: Group, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Decision]:
    home = tmp_path / "home"
    project = home / "project"
    make_project(project)
    (project / ".env").write_text("A=1\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    for name, values in group.settings.items():
        path = (home if name == "user" else project) / SETTINGS_FILES[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")
    given = AgentOptions(
        cwd=project,
        home=home / ".claude",
        permission_mode=PermissionMode(group.mode or "default"),
        environ={"XDG_STATE_HOME": str(tmp_path / "state")},
    )
    options, _ = configured(given, has_mode=bool(group.mode), trusts=group.is_trusted)
    workspace = Workspace(cwd=project, project=project, additional=options.additional)
    permissions = Permissions(policy_from(options), workspace)
    bash = next(tool for tool in all_tools(options) if tool.name == "Bash")
    return {
        command: permissions.decide(bash, bash.check({"command": command}), {"command": command}) for command in group.commands
    }


@pytest.mark.parametrize("name", GROUPS)
def test_a_command_is_decided_as_2_1_325_decides_it_or_more_strictly_for_a_reason(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    golden = GOLDEN["decisions"][name]
    decided = {command: decision.behavior for command, decision in ours(GROUPS[name], tmp_path, monkeypatch).items()}
    assert decided.keys() == golden.keys()
    laxer = {command for command in golden if _RANKS.index(decided[command]) < _RANKS.index(Behavior(golden[command]))}
    assert laxer == set()
    stricter = {command for command in golden if decided[command] is not Behavior.ALLOW and golden[command] == "allow"}
    assert stricter - STRICTER.keys() == set()


def test_enough_commands_were_put_to_the_client() -> None:
    decisions = Counter(behavior for answers in GOLDEN["decisions"].values() for behavior in answers.values())
    assert decisions.total() >= 400
    assert min(decisions.values()) >= 5
    assert {command for group in GROUPS.values() for command in group.commands} >= STRICTER.keys()


def test_a_refusal_names_the_part_and_the_rule_that_would_allow_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = ["make && npm run lint -- x", "git push origin", "ls | tee out", "make > out.txt", "make $X", "bash -c make"]
    decided = ours(Group(commands, GROUPS["rules"].settings), tmp_path, monkeypatch)
    first = "This Bash command contains multiple operations. The following part requires approval: "
    assert {command: decision.reason for command, decision in decided.items()} == {
        commands[0]: f"{first}npm run lint -- x. The rule Bash(npm run *) would allow it.",
        commands[1]: "This command requires approval. The rule Bash(git push *) would allow it.",
        commands[2]: f"{first}tee out. The rule Bash(tee out *) would allow it.",
        commands[3]: "Output redirection to 'out.txt' needs approval. The rule Edit(out.txt) would allow it.",
        commands[4]: "This command requires approval: a variable cannot be checked, at `$X`."
        " Only the rule Bash, or one with exactly this command, would allow it.",
        commands[5]: "This command requires approval. The rule Bash(bash -c make) would allow it.",
    }


@pytest.mark.clients
def test_the_client_still_decides_so(client: Client) -> None:
    group = Group(DISGUISES[:12], GROUPS["rules"].settings)
    assert (
        dict(zip(group.commands, ask_group(client(NEWEST), group), strict=True)).items() <= GOLDEN["decisions"]["rules"].items()
    )


def test_what_hides_a_command_or_a_file_needs_a_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these ran or read something in a real bash although it looks like reading."""
    commands = [
        "cat <<'EOF'x\nEOFx\ntouch pwn\nEOF",
        "[[ x && echo -eq 'a[$(touch pwn)]' ]]",
        "find . -name {{y},-o,-delete}",
        "rg x {--pre=/bin/sh,{zz}} zz",
        "cat ~/.ssh/*",
        "cat $HOME/.ssh/*",
        "sort [[.-.]]* q",
        "cat secre[[:alpha:]].txt",
        "cat link/../passw*",
        "cat $((1))",
    ]
    decided = ours(Group(commands, {}), tmp_path, monkeypatch)
    assert [command for command, decision in decided.items() if decision.behavior is Behavior.ALLOW] == []
