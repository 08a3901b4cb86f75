"""What would make a question unnecessary, as 2.1.325 suggests it with the same questions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from stenograph.agent.engine.options import PermissionMode
from stenograph.agent.permissions.live_policy import PermissionUpdate, RuleDestination
from stenograph.agent.permissions.rules import PermissionRule

#: A word that may be a subcommand: neither a path nor an option.
_SUBCOMMAND = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def for_command(parts: Sequence[str]) -> list[PermissionUpdate]:
    rules = list(dict.fromkeys(map(rule_for, parts)))
    return [_rules(rules, RuleDestination.LOCAL)] if rules else []


def for_exactly(command: str) -> list[PermissionUpdate]:
    """For a command that no rules for its parts allow. A `*` would mean more than itself."""
    exact = command.strip(" \t\n")
    return [_rules([PermissionRule("Bash", exact)], RuleDestination.LOCAL)] if exact and "*" not in exact else []


def for_edit(outside: Path | None) -> list[PermissionUpdate]:
    if outside is not None:
        return [PermissionUpdate(kind="addDirectories", directories=[str(outside.parent)])]
    return [PermissionUpdate(kind="setMode", mode=PermissionMode.ACCEPT_EDITS)]


def for_reading(outside: Path) -> list[PermissionUpdate]:
    return [_rules([PermissionRule("Read", f"/{outside.parent.as_posix().rstrip('/')}/**")], RuleDestination.SESSION)]


def for_host(host: str) -> list[PermissionUpdate]:
    return [_rules([PermissionRule("WebFetch", f"domain:{host}")], RuleDestination.LOCAL)] if host else []


def for_tool(name: str) -> list[PermissionUpdate]:
    return [_rules([PermissionRule(name)], RuleDestination.LOCAL)]


def rule_for(part: str) -> PermissionRule:
    """`npm run *` for `npm run build`; a call with a path or an option is meant as it is."""
    words = part.split()
    is_subcommand = len(words) > 1 and _SUBCOMMAND.fullmatch(words[1])
    return PermissionRule("Bash", f"{words[0]} {words[1]} *" if is_subcommand else part)


def _rules(rules: list[PermissionRule], destination: RuleDestination) -> PermissionUpdate:
    return PermissionUpdate(kind="addRules", rules=rules, destination=destination)
