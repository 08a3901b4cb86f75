"""WebSearch: by the endpoint's own search tool, in a request of its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, field

from stenograph.agent.tools.base import Json, Tool, ToolContext, ToolFailed, ToolInput, ToolOutput
from stenograph.errors import ModelError

#: Per call.
_MOST_SEARCHES = 8


class WebSearchInput(ToolInput):
    query: Annotated[str, Meta(description="What to search for", min_length=2)]
    allowed_domains: Annotated[list[str], Meta(description="Only pages from these domains")] = field(default_factory=list)
    blocked_domains: Annotated[list[str], Meta(description="No pages from these domains")] = field(default_factory=list)


class WebSearch(Tool[WebSearchInput]):
    name = "WebSearch"
    input_type = WebSearchInput
    runs_in_parallel = True

    async def run(self, given: WebSearchInput, context: ToolContext) -> ToolOutput:
        if given.allowed_domains and given.blocked_domains:
            raise ToolFailed("Error: Cannot specify both allowed_domains and blocked_domains in the same request")
        began = time.monotonic()
        try:
            blocks = await context.ask_with_tool(f"Perform a web search for the query: {given.query}", _server_tool(given))
        except ModelError as error:
            raise ToolFailed(f"Web search failed: {error}") from None
        results: list[str | Json] = []
        query, searches = given.query, 0
        for block in blocks:
            match block.get("type"):
                case "text":
                    results.append(block["text"].strip())
                case "server_tool_use":
                    query = str(block["input"].get("query", given.query))
                    context.progress({"type": "query_update", "query": query})
                case "web_search_tool_result":
                    searches += 1
                    found = _links(block.get("content"))
                    context.progress({"type": "search_results_received", "resultCount": len(found), "query": query})
                    results.append({"tool_use_id": str(block.get("tool_use_id", "")), "content": found})
        if not searches:
            raise ToolFailed("Web search failed: the endpoint made no search; it may not have this tool")
        structured: Json = {
            "query": given.query,
            "results": [result for result in results if result],
            "durationSeconds": time.monotonic() - began,
            "searchCount": searches,
        }
        return ToolOutput(content=_words(given.query, structured["results"]), structured=structured)


class OldWebSearch(WebSearch):
    """In the shapes of 2.0."""

    async def run(self, given: WebSearchInput, context: ToolContext) -> ToolOutput:
        output = await super().run(given, context)
        del output.structured["searchCount"]
        return output


def _server_tool(given: WebSearchInput) -> Json:
    tool: Json = {"type": "web_search_20250305", "name": "web_search", "max_uses": _MOST_SEARCHES}
    if given.allowed_domains:
        tool["allowed_domains"] = given.allowed_domains
    if given.blocked_domains:
        tool["blocked_domains"] = given.blocked_domains
    return tool


def _links(content: Any) -> list[Json]:
    """Titles and addresses; none for an error."""
    if not isinstance(content, list):
        return []
    return [{"title": one.get("title", ""), "url": one.get("url", "")} for one in content if isinstance(one, dict)]


def _words(query: str, results: Sequence[str | Json]) -> str:
    parts = [f'Web search results for query: "{query}"']
    for result in results:
        if isinstance(result, str):
            parts.append(result)
        elif result["content"]:
            parts.append(f"Links: {msgspec.json.encode(result['content']).decode()}")
        else:
            parts.append("No links found.")
    return "\n\n".join([*parts, "Name the pages that you used, with their addresses, in your answer."])
