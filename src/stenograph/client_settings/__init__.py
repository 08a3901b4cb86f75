"""The client's settings: where they are, what hooks they hold, and changes that leave every other byte as it is.

In: homes, folders, and which hooks are wanted. Out: changes as values, which can be shown before they are made;
`archive.settings` makes them and keeps the original. Every installer of hooks uses this. Refuses a file that is not JSON. Does
not know what a hook runs.
"""

from stenograph.client_settings.events import client_of_unknown_release, events_known_to, release_on_path
from stenograph.client_settings.files import (
    SettingsChange,
    home_settings,
    hooks_of,
    plan_hooks,
    plan_removal,
    project_settings,
    settings_files,
)
from stenograph.client_settings.text import Hook, IsOurs, add_hooks, hooks_in, parse_settings, remove_hooks

__all__ = [
    "Hook",
    "IsOurs",
    "SettingsChange",
    "add_hooks",
    "client_of_unknown_release",
    "events_known_to",
    "home_settings",
    "hooks_in",
    "hooks_of",
    "parse_settings",
    "plan_hooks",
    "plan_removal",
    "project_settings",
    "release_on_path",
    "remove_hooks",
    "settings_files",
]
