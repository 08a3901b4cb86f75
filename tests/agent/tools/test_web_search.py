"""WebSearch: a question to the endpoint's own search, and what is made of the answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.agent.tools.desk import Desk

from stenograph.agent.tools.base import Json
from stenograph.agent.tools.web_search import WebSearch
from stenograph.errors import RefusedError

# As a search was answered to 2.1.325, and what it made of it (recordings/2.1.325/tools).
FOUND: list[Json] = [
    {"type": "text", "text": "Searching."},
    {"type": "server_tool_use", "id": "srvtoolu_01", "name": "web_search", "input": {"query": "scripted"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_01",
        "content": [
            {"type": "web_search_result", "title": "Found page", "url": "https://example.com/", "encrypted_content": "x"}
        ],
    },
    {"type": "text", "text": "Found it."},
]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_what_was_found_is_told_with_its_addresses(desk: Desk) -> None:
    desk.blocks = FOUND
    output = asyncio.run(desk.call(WebSearch(), query="scripted words"))
    assert isinstance(output.content, str)
    assert output.content.startswith(
        'Web search results for query: "scripted words"\n\nSearching.\n\n'
        'Links: [{"title":"Found page","url":"https://example.com/"}]\n\nFound it.'
    )
    assert output.structured.pop("durationSeconds") >= 0
    assert output.structured == {
        "query": "scripted words",
        "results": [
            "Searching.",
            {"tool_use_id": "srvtoolu_01", "content": [{"title": "Found page", "url": "https://example.com/"}]},
            "Found it.",
        ],
        "searchCount": 1,
    }


def test_a_search_shows_how_far_it_is(desk: Desk) -> None:
    desk.blocks = FOUND
    asyncio.run(desk.call(WebSearch(), query="scripted words"))
    assert desk.progress == [
        {"type": "query_update", "query": "scripted"},
        {"type": "search_results_received", "resultCount": 1, "query": "scripted"},
    ]


def test_domains_reach_the_endpoint(desk: Desk) -> None:
    desk.blocks = FOUND
    asyncio.run(desk.call(WebSearch(), query="words", blocked_domains=["example.org"]))
    ((prompt, server_tool),) = desk.asked
    assert prompt == "Perform a web search for the query: words"
    assert server_tool["blocked_domains"] == ["example.org"]
    assert "allowed_domains" not in server_tool


def test_an_error_in_the_place_of_results_is_no_link(desk: Desk) -> None:
    failed = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    desk.blocks = [{"type": "web_search_tool_result", "tool_use_id": "srvtoolu_01", "content": failed}]
    output = asyncio.run(desk.call(WebSearch(), query="words"))
    assert "No links found." in output.content


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"query": "words", "allowed_domains": ["a.b"], "blocked_domains": ["c.d"]}, "Cannot specify both"),
        ({"query": "x"}, "InputValidationError"),
        ({}, "InputValidationError"),
    ],
)
def test_what_cannot_be_searched_is_told(desk: Desk, given: Json, words: str) -> None:
    assert words in asyncio.run(desk.fail(WebSearch(), **given))


def test_an_endpoint_without_search_is_told(desk: Desk) -> None:
    desk.blocks = [{"type": "text", "text": "I can't search."}]
    assert "made no search" in asyncio.run(desk.fail(WebSearch(), query="words"))
    desk.blocks = RefusedError("HTTP 400 invalid_request_error", status=400)
    assert "HTTP 400" in asyncio.run(desk.fail(WebSearch(), query="words"))
