"""Progress records: signs of life of a running tool, hook or subagent, one shape per type. 2.1.11 to 2.1.81 wrote them."""

from __future__ import annotations

from msgspec import UNSET

from stenograph.records.envelope import ChainedRecord
from stenograph.records.readers import TaggedReader
from stenograph.records.shape import Json, Later, Opt, Shape, later, once, read_later


class Progress(Shape):
    """What is going on. One of a type not described here is an `UnknownProgress`."""


class UnknownProgress(Progress):
    """Progress of a type not described here; what it holds is in `extra`."""

    type: Opt[str] = UNSET


class ProgressRecord(ChainedRecord, tag_field="type", tag="progress"):
    """Those with a uuid stand in the chain of 2.1.45, which cuts 2.0.76 there (rule 24)."""

    data_raw: Later = later("data")
    toolUseID: Opt[str] = UNSET
    parentToolUseID: Opt[str] = UNSET

    @once
    def data(self) -> Opt[Progress]:
        return read_later(self.data_raw, _read_progress)

    @property
    def kind(self) -> str:
        found = self.data
        if isinstance(found, UnknownProgress):
            return f"progress/{found.type}" if found.type else "progress"
        return f"progress/{type(found).__struct_config__.tag}" if found else "progress"


class AgentProgress(Progress, tag_field="type", tag="agent_progress"):
    """A subagent's record, whole, inside the parent's file (2.1.12 to 2.1.81)."""

    message: Opt[dict[str, Json]] = UNSET
    normalizedMessages: Opt[list[Json]] = UNSET
    prompt: Opt[str] = UNSET
    agentId: Opt[str] = UNSET


class BashProgress(Progress, tag_field="type", tag="bash_progress"):
    output: Opt[str] = UNSET
    fullOutput: Opt[str] = UNSET
    elapsedTimeSeconds: Opt[int | float] = UNSET
    totalLines: Opt[int] = UNSET
    totalBytes: Opt[int] = UNSET
    taskId: Opt[str] = UNSET
    timeoutMs: Opt[int | float] = UNSET


class HookProgress(Progress, tag_field="type", tag="hook_progress"):
    hookEvent: Opt[str] = UNSET
    hookName: Opt[str] = UNSET
    command: Opt[str] = UNSET


class McpProgress(Progress, tag_field="type", tag="mcp_progress"):
    status: Opt[str] = UNSET
    serverName: Opt[str] = UNSET
    toolName: Opt[str] = UNSET
    elapsedTimeMs: Opt[int | float] = UNSET


class QueryUpdateProgress(Progress, tag_field="type", tag="query_update"):
    query: Opt[str] = UNSET


class SearchResultsReceivedProgress(Progress, tag_field="type", tag="search_results_received"):
    resultCount: Opt[int] = UNSET
    query: Opt[str] = UNSET


class WaitingForTaskProgress(Progress, tag_field="type", tag="waiting_for_task"):
    taskDescription: Opt[str] = UNSET
    taskType: Opt[str] = UNSET


_read_progress: TaggedReader[Progress] = TaggedReader(
    AgentProgress,
    BashProgress,
    HookProgress,
    McpProgress,
    QueryUpdateProgress,
    SearchResultsReceivedProgress,
    WaitingForTaskProgress,
    otherwise=UnknownProgress,
)
