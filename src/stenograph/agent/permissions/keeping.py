"""Rules that a user allows for good -> the settings file that keeps them, as the client writes it."""

from __future__ import annotations

from pathlib import Path

from stenograph.agent.permissions.live_policy import PermissionUpdate, RuleDestination
from stenograph.client_settings import home_settings, plan_rules, project_settings
from stenograph.disk import write_user_file
from stenograph.errors import UsageError

_COMMAND = {"command": "agent"}


def keep_rules(update: PermissionUpdate, *, home: Path, project: Path) -> None:
    """Raises DiskError, UsageError."""
    shared, own = project_settings(project)
    paths = {RuleDestination.USER: home_settings(home), RuleDestination.PROJECT: shared, RuleDestination.LOCAL: own}
    path = paths.get(update.destination)
    if path is None or update.kind != "addRules":
        raise UsageError(f"{update.kind} cannot be saved in {update.destination.value}; it applies to this session")
    if path.is_symlink() or path.parent.is_symlink():
        raise UsageError(f"{path} is a link; the rule applies to this session", hint="write the rule into the file itself")
    change = plan_rules(path, update.behavior.value, [rule.text for rule in update.rules], _COMMAND)
    if change.after is not None and not change.is_empty:
        write_user_file(path, change.after)
