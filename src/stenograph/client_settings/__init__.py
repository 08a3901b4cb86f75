"""The client's settings: where they are, what applies, their hooks, and planned changes that leave every other byte alone.

`archive.settings` applies a change and keeps the original. A file that is not JSON is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports

if TYPE_CHECKING:
    from stenograph.client_settings.events import client_of_unknown_release, events_known_to, release_on_path
    from stenograph.client_settings.files import (
        USUAL_DAYS,
        SettingsChange,
        cleanup_days,
        hooks_of,
        plan_hooks,
        plan_removal,
        plan_rules,
    )
    from stenograph.client_settings.places import home_settings, project_settings, settings_files
    from stenograph.client_settings.reading import (
        ALL_SOURCES,
        ClientSettings,
        HookCommand,
        Scope,
        SettingsFile,
        SettingsRule,
        merge_settings,
        read_settings_files,
    )
    from stenograph.client_settings.text import Hook, IsOurs, add_hooks, hooks_in, parse_settings, remove_hooks

_MODULES = {
    "events": "client_of_unknown_release events_known_to release_on_path",
    "files": "USUAL_DAYS SettingsChange cleanup_days hooks_of plan_hooks plan_removal plan_rules",
    "places": "home_settings project_settings settings_files",
    "reading": "ALL_SOURCES ClientSettings HookCommand Scope SettingsFile SettingsRule merge_settings read_settings_files",
    "text": "Hook IsOurs add_hooks hooks_in parse_settings remove_hooks",
}

__all__ = [
    "ALL_SOURCES",
    "USUAL_DAYS",
    "ClientSettings",
    "Hook",
    "HookCommand",
    "IsOurs",
    "Scope",
    "SettingsChange",
    "SettingsFile",
    "SettingsRule",
    "add_hooks",
    "cleanup_days",
    "client_of_unknown_release",
    "events_known_to",
    "home_settings",
    "hooks_in",
    "hooks_of",
    "merge_settings",
    "parse_settings",
    "plan_hooks",
    "plan_removal",
    "plan_rules",
    "project_settings",
    "read_settings_files",
    "release_on_path",
    "remove_hooks",
    "settings_files",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
