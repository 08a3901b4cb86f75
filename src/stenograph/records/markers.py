"""Words that clients themselves write into sessions, and that readers know them by; and the one that is ours."""

from __future__ import annotations

#: The member of a line that is our own: the version of this package that wrote it, beside the release whose form it has.
OWN_FIELD = "stenograph"
#: The model of a message that the client made up.
SYNTHETIC = "<synthetic>"
#: In a `last-prompt` line: no line in particular, so the last in the file (rule 21).
ZERO_UUID = "00000000-0000-0000-0000-000000000000"
#: Tag and kind of origin of what a background task says when it ends.
NOTIFICATION = "task-notification"
#: How the note of an interruption begins; what was interrupted follows.
INTERRUPTED = "[Request interrupted by user"
INTERRUPTED_TURN, INTERRUPTED_TOOL_USE = f"{INTERRUPTED}]", f"{INTERRUPTED} for tool use]"
#: The prompt by which 2.0.x starts its sub-agents ahead of need.
WARM_UP = "Warmup"
#: How the note before a local command begins: without a tag up to 2.0.x.
CAVEATS = ("Caveat:", "<local-command-caveat>")
