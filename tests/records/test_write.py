"""Constructors of lines: by hand, in the form of old and new releases."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stenograph.records import OWN_FIELD
from stenograph.records.write import (
    Envelope,
    Position,
    agent_meta,
    answer_members,
    api_error_members,
    boundary_members,
    chained,
    encode_line,
    interruption_members,
    last_prompt,
    meta_members,
    notification_members,
    prompt_members,
    result_members,
    shared_with,
    summary_members,
    synthetic_members,
    turn_duration_members,
)

OLD, NEW = "2.0.76", "2.1.325"


def envelope(version: str = NEW, **more: Any) -> Envelope:
    return Envelope(session_id="s", cwd="/w", git_branch="main", slug="calm-sea", version=version, **more)


def around(version: str, members: dict[str, Any], **more: Any) -> dict[str, Any]:
    return envelope(version, **more).around(members, uuid="u", parent="p", timestamp="t")


def test_old_releases_write_what_lines_share_first_and_new_ones_last() -> None:
    own = {"type": "user", "message": {}}
    assert list(around(OLD, own)) == [
        *("parentUuid", "isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "slug", OWN_FIELD),
        *("type", "message", "uuid", "timestamp"),
    ]
    assert list(around(NEW, own)) == [
        *("parentUuid", "isSidechain", "type", "message", "uuid", "timestamp"),
        *("userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug", OWN_FIELD),
    ]
    assert around(NEW, own)["isSidechain"] is False


def test_a_line_of_an_agent_is_a_sidechain_and_names_it() -> None:
    line = around(NEW, {"type": "user"}, agent_id="a1")
    assert (line["isSidechain"], line["agentId"]) == (True, "a1")
    assert list(around(OLD, {"type": "user"}, agent_id="a1")).index("agentId") == 9


def test_a_failed_request_of_old_releases_has_no_slug() -> None:
    for version, has_slug in ((OLD, False), (NEW, True)):
        line = around(version, {"type": "system", "subtype": "api_error"})
        assert ("slug" in line) is has_slug
    assert "slug" in around(OLD, {"type": "system", "subtype": "local_command"})


def test_the_logical_parent_stands_behind_the_parent() -> None:
    line = chained({"type": "system", "logicalParentUuid": "l"}, uuid="u", parent=None, timestamp="t", shared={})
    assert list(line)[:3] == ["parentUuid", "logicalParentUuid", "isSidechain"]
    assert line["logicalParentUuid"] == "l"


def test_what_lines_share_is_taken_from_a_record_that_has_it() -> None:
    class Beside:
        cwd, sessionId, slug = "/w", "s", "calm-sea"  # noqa: N815 - the file's own names

    assert shared_with(Beside()) == {"cwd": "/w", "sessionId": "s", "slug": "calm-sea"}
    assert shared_with(Beside(), without=("slug",)) == {"cwd": "/w", "sessionId": "s"}


def test_half_a_surrogate_pair_is_replaced_but_not_in_a_link() -> None:
    line = json.loads(encode_line({"parentUuid": "\ud800", "text": "a\ud800b"}))
    assert line == {"parentUuid": "\ud800", "text": "a\ufffdb"}


@pytest.mark.parametrize("is_agent", [False, True])
@pytest.mark.parametrize("version", [OLD, NEW])
def test_a_prompt_says_who_typed_it_in_new_main_conversations(version: str, is_agent: bool) -> None:
    given = envelope(version, agent_id="a1" if is_agent else None)
    members = prompt_members(given, "Hi", prompt_id="p", permission_mode="plan", position=Position(2, 3))
    if version == OLD:
        assert members == {"type": "user", "message": {"role": "user", "content": "Hi"}}
    elif is_agent:
        assert list(members) == ["promptId", "type", "message"]
    else:
        assert members["turnPosition"] == {"promptIndex": 2, "turnIndex": 3}
        assert (members["permissionMode"], members["turnOrigin"]) == ("plan", "human")
        without = prompt_members(given, "Hi", prompt_id="p", permission_mode="plan", position=None)
        assert "turnPosition" not in without


def test_a_notification_is_no_persons_prompt() -> None:
    new = notification_members(envelope(), "x", prompt_id="p", permission_mode="default", position=Position(1, 2))
    assert (new["promptSource"], new["origin"], new["turnPosition"]["turnIndex"]) == ("system", {"kind": "task-notification"}, 2)
    none = notification_members(envelope(), "x", prompt_id="p", permission_mode="default", position=None)
    assert "turnPosition" not in none
    old = notification_members(envelope(OLD), "x", prompt_id="p", permission_mode="default", position=None)
    assert list(old) == ["type", "message"]


def test_only_new_releases_name_the_prompt_of_their_own_words() -> None:
    for make in (meta_members, interruption_members):
        assert "promptId" in make(envelope(), "x", prompt_id="p")
        assert "promptId" not in make(envelope(OLD), "x", prompt_id="p")
    assert meta_members(envelope(), "x", prompt_id="p")["isMeta"] is True


def test_a_result_keeps_its_structure_in_the_main_conversation_alone() -> None:
    block = {"type": "tool_result"}
    given: dict[str, Any] = {"prompt_id": "p", "structured": {"a": 1}, "source": "u"}
    main = result_members(envelope(), block, **given, denied_by="rule", permission={"k": 1})
    assert (main["toolUseResult"], main["sourceToolAssistantUUID"]) == ({"a": 1}, "u")
    assert (main["toolDenialKind"], main["permissionDecision"]) == ("rule", {"k": 1})
    plain = result_members(envelope(), block, **given)
    assert not {"toolDenialKind", "permissionDecision"} & plain.keys()
    assert "toolUseResult" not in result_members(envelope(agent_id="a1"), block, **given)
    assert "toolUseResult" not in result_members(envelope(), block, prompt_id="p", structured=None, source="u")
    assert list(result_members(envelope(OLD), block, **given, denied_by="rule")) == ["type", "message", "toolUseResult"]


def test_an_answer_holds_one_block_and_names_its_request_where_there_is_one() -> None:
    given: dict[str, Any] = {"index": 3, "requested_model": "m"}
    new = answer_members(envelope(agent_type="Explore"), {"id": "m1"}, {"type": "text"}, request_id="r", **given)
    assert new == {
        "message": {"id": "m1", "content": [{"type": "text"}]},
        "apiBlockIndex": 3,
        "requestId": "r",
        "requestedModel": "m",
        "attributionAgent": "Explore",
        "type": "assistant",
        "madeBy": "model",
    }
    bare = answer_members(envelope(), {}, {}, request_id="", **given)
    assert not {"requestId", "attributionAgent", "toolInputStreamMs"} & bare.keys()
    assert answer_members(envelope(), {}, {}, request_id="", **given, input_ms=7)["toolInputStreamMs"] == 7
    assert list(answer_members(envelope(OLD), {}, {}, request_id="r", **given)) == ["message", "requestId", "type"]
    assert list(answer_members(envelope(OLD), {}, {}, request_id="", **given)) == ["message", "type"]


def test_a_synthetic_answer_is_an_error_only_where_one_is_named() -> None:
    plain = synthetic_members(envelope(), "m1", "x")
    assert not {"error", "isApiErrorMessage", "apiErrorStatus"} & plain.keys()
    assert plain["madeBy"] == "model"
    usage = plain["message"]["usage"]
    counts = [*usage.values(), *usage["server_tool_use"].values(), *usage["cache_creation"].values()]
    assert {value for value in counts if isinstance(value, int)} == {0}
    failed = synthetic_members(envelope(), "m1", "x", error="overloaded", status=529)
    assert (failed["error"], failed["isApiErrorMessage"], failed["apiErrorStatus"]) == ("overloaded", True, 529)
    assert "apiErrorStatus" not in synthetic_members(envelope(), "m1", "x", error="overloaded")
    old = synthetic_members(envelope(OLD), "m1", "x", error="overloaded", status=529)
    assert not {"apiErrorStatus", "madeBy"} & old.keys()


def test_a_failed_request_says_when_it_is_made_again() -> None:
    given: dict[str, Any] = {"words": "w", "request_id": "", "wait": 1.5, "attempt": 2, "max_retries": 10}
    new = api_error_members(envelope(), status=529, **given)
    assert (new["retryInMs"], new["retryAttempt"], new["maxRetries"]) == (1500, 2, 10)
    assert new["error"] == {"message": "w", "status": 529, "requestId": None}
    assert api_error_members(envelope(), status=0, **given)["error"]["status"] is None
    assert api_error_members(envelope(OLD), status=529, **given)["error"] == {"status": 529}
    assert api_error_members(envelope(OLD), status=0, **given)["error"] == {}


def test_a_boundary_counts_tokens_where_they_are_known() -> None:
    counted = boundary_members(logical_parent="l", trigger="auto", before=100, after=130, took=5)["compactMetadata"]
    assert counted == {"trigger": "auto", "preTokens": 100, "postTokens": 130, "cumulativeDroppedTokens": 0, "durationMs": 5}
    dropped = boundary_members(logical_parent="l", trigger="auto", before=100, after=30)["compactMetadata"]
    assert (dropped["cumulativeDroppedTokens"], dropped["durationMs"]) == (70, 0)
    assert boundary_members(logical_parent="l", trigger="auto", before=1)["compactMetadata"] == {
        "trigger": "auto",
        "preTokens": 1,
    }
    boundary = boundary_members(logical_parent="l", trigger="auto", before=1)
    assert (boundary["isMeta"], boundary["logicalParentUuid"]) == (False, "l")


def test_notes_are_marked_as_clients_mark_them() -> None:
    summary = summary_members("x", position=Position(1, 1))
    assert (summary["isVisibleInTranscriptOnly"], summary["isCompactSummary"]) == (True, True)
    assert "turnPosition" not in summary_members("x")
    assert turn_duration_members(5, 6) == {
        "type": "system",
        "subtype": "turn_duration",
        "content": "",
        "durationMs": 5,
        "messageCount": 6,
        "isMeta": False,
    }


def test_a_last_prompt_is_cut_where_clients_cut_it() -> None:
    assert last_prompt("a" * 199 + "bc", "l", "s")["lastPrompt"].startswith("a" * 199 + "b")
    assert "c" not in last_prompt("a" * 199 + "bc", "l", "s")["lastPrompt"]


def test_an_agents_metadata_names_a_parent_where_it_has_one() -> None:
    given: dict[str, Any] = {"agent_type": "Explore", "description": "d", "tool_use_id": "t", "depth": 1}
    alone = json.loads(agent_meta(**given, parent_agent_id=None))
    below = json.loads(agent_meta(**given, parent_agent_id="a0"))
    assert "a0" not in alone.values()
    assert "a0" in below.values()
