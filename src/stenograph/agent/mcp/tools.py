"""The tools of MCP servers, and those that read servers' resources, as tools of the agent.

What a server says of a tool is a hint: `readOnlyHint` lets calls run side by side, but never allows one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from stenograph.agent.mcp.results import Blobs, blocks_from, output_of
from stenograph.agent.mcp.servers import McpServers, ServerConnection, ServerStatus, ServerTool, plain_name
from stenograph.agent.tools.base import Tool, ToolContext, ToolFailed, ToolInput, ToolOutput
from stenograph.agent.tools.schemas import forgiven
from stenograph.records import Json

#: Characters, by the Messages API.
_LONGEST_NAME = 128


class McpInput(ToolInput):
    """As the model gave it, but for what it certainly meant; the server checks it."""

    arguments: Json


class McpTool(Tool[McpInput]):
    def __init__(self, server: ServerConnection, tool: ServerTool, timeout: float) -> None:
        self.name = tool.name
        self.server = server.name
        self.runs_in_parallel = bool(tool.reads_only)
        self._server = server
        self._tool = tool
        self._timeout = timeout

    def description(self) -> str:
        return self._tool.description

    def definition(self) -> Json:
        schema = {**self._tool.schema, "type": "object"}
        return {"name": self.name, "description": self.description(), "input_schema": schema}

    def check(self, given: Json) -> McpInput:
        return McpInput(arguments=forgiven(given, {**self._tool.schema, "type": "object"}))

    async def ask(self, arguments: Json, tool_use_id: str) -> Json:
        """The server's answer. Raises ToolFailed."""
        meta: Any = {"claudecode/toolUseId": tool_use_id}
        own = self._tool.own_name
        result = await self._server.request(
            lambda client: client.call_tool(own, arguments, meta=meta),
            timeout=self._timeout,
            timed_out=f'MCP server "{self._server.name}" tool "{own}" timed out after {self._timeout:g}s',
        )
        answer: Json = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        if answer.get("isError"):
            words = "\n".join(str(one["text"]) for one in answer.get("content") or () if one.get("type") == "text")
            raise ToolFailed(words or f"{self.name} failed without an error message")
        return answer

    async def run(self, given: McpInput, context: ToolContext) -> ToolOutput:
        answer = await self.ask(given.arguments, context.tool_use_id)
        content: list[Json] = answer.get("content") or []
        server = plain_name(self._server.name)
        structured = answer.get("structuredContent")
        shown: str | list[Json] = (
            msgspec.json.encode(structured).decode()
            if structured is not None
            else blocks_from(content, self._server.name, Blobs(context.spill_folder, server))
        )
        output = output_of(shown, tool=self.name, folder=context.spill_folder, call=context.tool_use_id)
        output.record = self._record(answer, content)
        return output

    def _record(self, answer: Json, content: Iterable[Json]) -> Json:
        """Members of the result's line (2.1.325)."""
        links = [
            {name: value for name, value in one.items() if name != "type"}
            for one in content
            if one.get("type") == "resource_link"
        ]
        meta = {"_meta": answer.get("_meta"), "structuredContent": answer.get("structuredContent"), "resourceLinks": links}
        meta = {name: value for name, value in meta.items() if value}
        record: Json = {"mcpMeta": meta} if meta else {}
        if not self._tool.reads_only:
            record["mcpCallNotReadOnly"] = "no_hint" if self._tool.reads_only is None else "declared"
        return record


class ListResourcesInput(ToolInput):
    server: Annotated[str | None, Meta(description="Only resources of this server")] = None


class ListMcpResources(Tool[ListResourcesInput]):
    name = "ListMcpResourcesTool"
    server = ""
    input_type = ListResourcesInput
    is_read_only = True

    def __init__(self, servers: McpServers) -> None:
        self._servers = servers

    async def run(self, given: ListResourcesInput, context: ToolContext) -> ToolOutput:  # noqa: ARG002 - as all tools
        asked = [found_server(self._servers, given.server)] if given.server else list(self._servers)
        resources = [one for server in asked if server.has_resources for one in await self._listed(server)]
        words = msgspec.json.encode(resources).decode() if resources else _NO_RESOURCES
        return ToolOutput(content=words, structured=resources)

    async def _listed(self, server: ServerConnection) -> list[Json]:
        words = f'MCP server "{server.name}" did not list its resources within {self._servers.tool_timeout:g}s'
        page = await server.request(lambda client: client.list_resources(), timeout=self._servers.tool_timeout, timed_out=words)
        members = ("name", "uri", "mimeType", "description", "title", "size")
        listed: list[Json] = [one.model_dump(by_alias=True, mode="json", exclude_none=True) for one in page.resources]
        return [{**{name: one[name] for name in members if name in one}, "server": server.name} for one in listed]


_NO_RESOURCES = "No resources found. MCP servers may still provide tools even if they have no resources."


class ReadResourceInput(ToolInput):
    server: Annotated[str, Meta(description="The name of the server")]
    uri: Annotated[str, Meta(description="The address of the resource")]


class ReadMcpResource(Tool[ReadResourceInput]):
    name = "ReadMcpResourceTool"
    server = ""
    input_type = ReadResourceInput
    is_read_only = True

    def __init__(self, servers: McpServers) -> None:
        self._servers = servers

    async def run(self, given: ReadResourceInput, context: ToolContext) -> ToolOutput:
        server = found_server(self._servers, given.server)
        result = await server.request(
            lambda client: client.read_resource(given.uri),
            timeout=self._servers.tool_timeout,
            timed_out=f'MCP server "{server.name}" did not read {given.uri} within {self._servers.tool_timeout:g}s',
        )
        answer: Json = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        contents = [_readable(one, Blobs(context.spill_folder, plain_name(server.name))) for one in answer.get("contents") or []]
        structured: Json = {"contents": contents}
        words = msgspec.json.encode(structured).decode()
        output = output_of(words, tool=self.name, folder=context.spill_folder, call=context.tool_use_id)
        output.structured = structured
        return output


def _readable(one: Json, blobs: Blobs) -> Json:
    """Bytes go to a file."""
    if "blob" not in one:
        return {name: one[name] for name in ("uri", "mimeType", "text") if name in one}
    (said, *_) = blocks_from([{"type": "audio", "mimeType": one.get("mimeType"), "data": one["blob"]}], "", blobs)
    return {
        "uri": one.get("uri"),
        "mimeType": one.get("mimeType"),
        "text": str(said.get("text", "")).removeprefix("[Audio from ] "),
    }


def found_server(servers: McpServers, name: str) -> ServerConnection:
    """Raises ToolFailed."""
    server = servers.find(name)
    if server is None:
        raise ToolFailed(f'Server "{name}" not found. Available servers: {", ".join(servers.names)}')
    return server


def server_tools(servers: McpServers) -> list[Tool[Any]]:
    """Always in the same order, whichever server was ready first.

    Endpoints refuse a request as a whole for two tools of one name, or for a name that is too long: such tools are left out.
    """
    all_tools: list[Tool[Any]] = [
        McpTool(server, tool, servers.tool_timeout)
        for server in servers
        if server.status is ServerStatus.CONNECTED
        for tool in server.tools
        if len(tool.name) <= _LONGEST_NAME
    ]
    by_name = {tool.name: tool for tool in reversed(all_tools)}
    made = [by_name[name] for name in sorted(by_name)]
    if any(server.has_resources for server in servers):
        made += [ListMcpResources(servers), ReadMcpResource(servers)]
    return made
