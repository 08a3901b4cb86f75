"""The codes that a check reports, with what each means for a person."""

from __future__ import annotations

from stenograph.drift import MISSING_FIELD, NEW_FIELD, TYPE_MISMATCH, UNKNOWN_TYPE

DRIFT = {
    UNKNOWN_TYPE: "a kind that this release and earlier ones were never seen to write",
    NEW_FIELD: "a field that this release and earlier ones were never seen to write",
    TYPE_MISMATCH: "a field with a new JSON type",
    MISSING_FIELD: "a field that this release always writes is missing",
}

#: In the order of the report.
DAMAGE = {
    "unreadable": "a file or directory that cannot be read",
    "torn-tail": "the last line is incomplete; the next line would be appended to it",
    "damaged-line-not-json": "a line that is not JSON; clients skip it and lose everything before it",
    "damaged-line-several-values": "a line with more than one JSON value; clients skip it",
    "damaged-line-not-an-object": "a line with a JSON value that is not an object; clients skip it",
    "damaged-line-too-deep": "a line is nested too deeply to read",
    "blank-line": "a line is empty; harmless",
    "invalid-utf8": "a line with bytes that are not UTF-8; clients read replacement characters",
    "missing-final-newline": "the last line has no newline; the next line would be appended to it",
    "duplicate-uuid": "several lines have the same UUID; the last one counts",
    "dangling-parent": "a line whose parent is not in the file; in a conversation, old releases lose what is before it",
    "self-parent": "a line that is its own parent",
    "forward-parent": "a line whose parent comes later in the file",
    "parent-cycle": "lines that are each other's ancestors; release 2.0 hangs",
    "unknown-kind-in-chain": "a line of an unknown kind in the conversation; old releases lose everything before it",
    "orphan-tool-use": "a tool call without a result, though the model continued; clients insert a result or drop the call",
    "orphan-tool-result": "a tool result has no call; clients drop it",
    "stale-last-prompt": "last-prompt names a branch that is not the newest; new releases resume the older one",
    "misleading-timestamps": "timestamps that make old and new releases resume from different lines",
    "missing-agent-file": "a subagent ran, but its file is missing",
    "agent-without-session": "a subagent's file whose session is missing",
    "folder-without-session": "a session's directory without the session's file",
    "damaged-meta": "a subagent's .meta.json that cannot be read",
    "left-unfinished": "left by an interrupted write; can be deleted",
    "broken-link": "a link without a target",
    "not-a-file": "a directory or device with a session's name",
    "linked-folder": "a link where the session's own directory would be; its target is not part of the session",
    "unreadable-file": "a file of the session cannot be read",
    "unreadable-folder": "a directory of the session that cannot be read",
    "interrupted-call": "a tool call that was interrupted before its result; clients insert a result or drop the call",
}

#: What clients leave behind themselves, and what no resume is hurt by: reported, but not damage.
ORDINARY = frozenset({"interrupted-call", "blank-line", "agent-without-session"})

#: Damage of the tree, which is gone when a session is written as one chain.
IN_THE_TREE = frozenset({
    "dangling-parent", "forward-parent", "misleading-timestamps", "parent-cycle", "self-parent", "stale-last-prompt",
    "unknown-kind-in-chain",
})  # fmt: skip

#: Reported by families, harmful to nobody.
HARMLESS = frozenset({"linked-file", "name-not-utf8"})
