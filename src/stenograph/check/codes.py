"""The codes that a check reports, with what each means for a person."""

from __future__ import annotations

from stenograph.drift import MISSING_FIELD, NEW_FIELD, TYPE_MISMATCH, UNKNOWN_TYPE

DRIFT = {
    UNKNOWN_TYPE: "a kind that was never recorded from this release or an earlier one",
    NEW_FIELD: "a field that was never recorded from this release or an earlier one",
    TYPE_MISMATCH: "a field with a JSON type that it never had",
    MISSING_FIELD: "a field that this release always writes is not there",
}

#: In the order of the report.
DAMAGE = {
    "unreadable": "a file or folder that can't be read",
    "torn-tail": "the last line was not written to its end; a client that goes on glues its next line to it",
    "damaged-line-not-json": "a line that is no JSON; clients pass over it, and what hangs off it is cut off",
    "damaged-line-several-values": "a line with more than one JSON value; clients pass over it",
    "damaged-line-not-an-object": "a line with a JSON value that is no object; clients pass over it",
    "damaged-line-too-deep": "a line nested deeper than can be read",
    "blank-line": "an empty line; harmless",
    "invalid-utf8": "a line with bytes that are no UTF-8; clients read replacement characters",
    "missing-final-newline": "the last line has no newline; a client that goes on glues its next line to it",
    "duplicate-uuid": "several lines with one uuid; the last counts",
    "dangling-parent": "a line whose parent is not in the file; old clients lose what stands before it",
    "self-parent": "a line that names itself as its parent",
    "forward-parent": "a line whose parent stands further down",
    "parent-cycle": "lines that are each other's ancestors; 2.0 clients never come back from that",
    "unknown-kind-in-chain": "a line of an unknown kind inside the conversation; old clients lose what stands before it",
    "orphan-tool-use": "a tool call without a result; clients put in a result of their own or drop the call",
    "orphan-tool-result": "a tool result without its call; clients drop it",
    "stale-last-prompt": "the last-prompt line names another branch than the newest; new clients go on from the old one",
    "misleading-timestamps": "times that make old clients go on from another line than new ones",
    "missing-agent-file": "a sub-agent ran, but its file is not there",
    "agent-without-session": "a sub-agent's file whose session is not there",
    "folder-without-session": "a session's folder without the session's file",
    "damaged-meta": "a sub-agent's .meta.json that can't be read",
    "left-unfinished": "left by a write that was killed; can be deleted",
    "broken-link": "a link that points to nothing",
    "not-a-file": "a folder or device with a session's name",
    "linked-folder": "a link to a folder where the session's own would be; what it leads to is not the session's",
    "unreadable-file": "a file of the session's family that can't be read",
    "unreadable-folder": "a folder of the session's family that can't be looked into",
}

#: Reported by families, harmful to nobody.
HARMLESS = frozenset({"linked-file", "name-not-utf8"})
