"""One configuration file and the environment, typed; and where Stenograph's own directories are.

Errors name the file and key, or the variable, and what is expected there; never a value, which may be a secret. `traces.hook` has
its own copy of directory and switch, because it works without this package; a test compares the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports
from stenograph.config.settings import (
    ACTIVE_SECONDS,
    AgentSettings,
    ArchiveSettings,
    Config,
    ListSettings,
    ModelPrice,
    ModelProfile,
    archive_folder,
    cache_folder,
    config_folder,
    data_folder,
    is_debugging,
    logins_folder,
    read_config,
    state_folder,
    systemd_folder,
    usual_config_file,
    wants_color,
    wants_plain,
)

if TYPE_CHECKING:
    from stenograph.config.traces import (
        EXAMPLE,
        HEADER_NAME,
        Content,
        Destination,
        DestinationKind,
        KeySource,
        SpanLayout,
        TraceConfig,
        load_trace_config,
        no_destination,
        trace_config_file,
        trace_folder,
    )
    from stenograph.config.typed import UnfitError, read_typed

_MODULES = {
    "traces": (
        "EXAMPLE HEADER_NAME Content Destination DestinationKind KeySource SpanLayout TraceConfig load_trace_config"
        " no_destination trace_config_file trace_folder"
    ),
    "typed": "UnfitError read_typed",
}

__all__ = [
    "ACTIVE_SECONDS",
    "EXAMPLE",
    "HEADER_NAME",
    "AgentSettings",
    "ArchiveSettings",
    "Config",
    "Content",
    "Destination",
    "DestinationKind",
    "KeySource",
    "ListSettings",
    "ModelPrice",
    "ModelProfile",
    "SpanLayout",
    "TraceConfig",
    "UnfitError",
    "archive_folder",
    "cache_folder",
    "config_folder",
    "data_folder",
    "is_debugging",
    "load_trace_config",
    "logins_folder",
    "no_destination",
    "read_config",
    "read_typed",
    "state_folder",
    "systemd_folder",
    "trace_config_file",
    "trace_folder",
    "usual_config_file",
    "wants_color",
    "wants_plain",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
