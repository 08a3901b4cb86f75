"""The client's settings: where they are, their hooks, and planned changes that leave every other byte alone.

`archive.settings` applies a change and keeps the original. A file that is not JSON is refused.
"""

from stenograph.client_settings.events import client_of_unknown_release, events_known_to, release_on_path
from stenograph.client_settings.files import (
    SettingsChange,
    cleanup_days,
    home_settings,
    hooks_of,
    plan_hooks,
    plan_removal,
    plan_rules,
    project_settings,
    settings_files,
)
from stenograph.client_settings.text import Hook, IsOurs, add_hooks, hooks_in, parse_settings, remove_hooks

__all__ = [
    "Hook",
    "IsOurs",
    "SettingsChange",
    "add_hooks",
    "cleanup_days",
    "client_of_unknown_release",
    "events_known_to",
    "home_settings",
    "hooks_in",
    "hooks_of",
    "parse_settings",
    "plan_hooks",
    "plan_removal",
    "plan_rules",
    "project_settings",
    "release_on_path",
    "remove_hooks",
    "settings_files",
]
