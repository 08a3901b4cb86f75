"""Words that clients write into sessions, and that readers know them by; and the one that is ours."""

from __future__ import annotations

#: Our own member of a line: the version of this package that wrote it.
OWN_FIELD = "stenograph"
#: The model of a message that the client made up.
SYNTHETIC = "<synthetic>"
#: In a `last-prompt` line: the last line of the file (rule 21).
ZERO_UUID = "00000000-0000-0000-0000-000000000000"
#: Tag and kind of origin of what a background task says when it ends.
NOTIFICATION = "task-notification"
INTERRUPTED = "[Request interrupted by user"
INTERRUPTED_TURN, INTERRUPTED_TOOL_USE = f"{INTERRUPTED}]", f"{INTERRUPTED} for tool use]"
#: The prompt by which 2.0.x starts its subagents ahead of need.
WARM_UP = "Warmup"
#: How the note before a local command begins: without a tag up to 2.0.x.
CAVEATS = ("Caveat:", "<local-command-caveat>")
