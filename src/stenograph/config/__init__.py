"""One configuration file and the environment, typed; and where our own folders are.

In: `config.toml` and variables. Out: frozen values, or a ConfigError of one line that names the file and the key, or the
variable, and what is expected there; never a value, which may be a secret. Does not open anything but its own file. The
settings of traces are in `config.traces`: few commands need them. `traces.hook` has folder and switch of its own: it has to work
without this package, and a test compares the two.
"""

from stenograph.config.folders import cache_folder, config_folder, data_folder, state_folder
from stenograph.config.settings import (
    ACTIVE_SECONDS,
    Config,
    ListSettings,
    is_debugging,
    read_config,
    usual_config_file,
    wants_color,
)

__all__ = [
    "ACTIVE_SECONDS",
    "Config",
    "ListSettings",
    "cache_folder",
    "config_folder",
    "data_folder",
    "is_debugging",
    "read_config",
    "state_folder",
    "usual_config_file",
    "wants_color",
]
