"""Words that clients themselves write into sessions, and that readers know them by."""

from __future__ import annotations

#: The model of a message that the client made up.
SYNTHETIC = "<synthetic>"
#: How the note of an interruption begins; what was interrupted follows.
INTERRUPTED = "[Request interrupted by user"
#: The prompt by which 2.0.x starts its sub-agents ahead of need.
WARM_UP = "Warmup"
#: How the note before a local command begins: without a tag up to 2.0.x.
CAVEATS = ("Caveat:", "<local-command-caveat>")
