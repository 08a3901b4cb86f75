"""Rules that a user allows for good -> the settings file that keeps them, as the client writes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stenograph.agent.permissions.live_policy import PermissionUpdate, RuleDestination
from stenograph.agent.permissions.trust import ProjectTrust
from stenograph.client_settings import (
    Scope,
    SettingsFile,
    home_settings,
    parse_settings,
    plan_rules,
    project_settings,
    read_settings_files,
)
from stenograph.disk import write_user_file
from stenograph.errors import UsageError

_COMMAND = {"command": "agent"}


def keep_rules(update: PermissionUpdate, *, home: Path, project: Path, environ: Mapping[str, str]) -> None:
    """A project stays trusted when the user adds a rule to its file. Raises DiskError, UsageError."""
    shared, own = project_settings(project)
    paths = {RuleDestination.USER: home_settings(home), RuleDestination.PROJECT: shared, RuleDestination.LOCAL: own}
    path = paths.get(update.destination)
    if path is None or update.kind != "addRules":
        raise UsageError(f"{update.kind} cannot be saved in {update.destination.value}; it applies to this session")
    if path.is_symlink() or path.parent.is_symlink():
        raise UsageError(f"{path} is a link; the rule applies to this session", hint="write the rule into the file itself")
    change = plan_rules(path, update.behavior.value, [rule.text for rule in update.rules], _COMMAND)
    if change.after is None or change.is_empty:
        return
    if update.destination is RuleDestination.USER:
        write_user_file(path, change.after)
        return
    scope = Scope(update.destination.value)
    files = [file for file in read_settings_files(home, project)[0] if file.scope is not scope]
    # Of exactly what the rule is added to, not of what the file may be in a moment.
    before, after = (
        SettingsFile(scope, str(path), project, parse_settings((data or b"").decode())) for data in (change.before, change.after)
    )
    trust = ProjectTrust(project, [*files, before], environ)
    was_trusted = trust.is_given or not trust.is_needed
    write_user_file(path, change.after)
    if was_trusted:
        trust.remember_with([*files, after])
