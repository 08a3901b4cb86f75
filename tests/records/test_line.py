"""The parser's specification: the same bytes back, nothing but typed fields and `extra`, one field changed alone."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from tests.corpora import FIXTURES, lines_of, recorded_releases, session_files

from stenograph.errors import DamagedLineError, FieldError, UnknownKindError
from stenograph.records import (
    REMOVE,
    UNSET,
    AssistantRecord,
    CompactBoundaryRecord,
    CronDeleteResult,
    DamagedRecord,
    ForkContextRefRecord,
    McpResource,
    Record,
    Shape,
    SystemRecord,
    TextBlock,
    ToolResult,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    UnknownRecord,
    UnknownResult,
    UserRecord,
    WorktreeStateRecord,
    change,
    decode,
    encode,
    rebuild,
)
from stenograph.records.line import _Decoding
from stenograph.records.shape import attributes_of

EVERY_FILE = pytest.mark.parametrize("path", session_files())


def parse_as_clients_do(line: bytes) -> Any:
    """The standard library's reading of a line; ValueError where JavaScript's would refuse it as well."""

    def refuse(name: str) -> NoReturn:
        raise ValueError(name)

    text = line.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return json.loads(text, parse_constant=refuse)


def as_text(value: Any) -> str:
    """JSON with its names in order: unlike Python's own comparison it tells true from 1 and 1 from 1.0."""
    return json.dumps(value, sort_keys=True)


def is_json_object(line: bytes) -> bool:
    try:
        return isinstance(parse_as_clients_do(line), dict)
    except (ValueError, RecursionError):
        return False


@EVERY_FILE
def test_every_line_comes_back_byte_for_byte(path: Path) -> None:
    for line in lines_of(path):
        assert encode(decode(line)) == line


@EVERY_FILE
def test_typed_fields_and_extra_alone_rebuild_every_record(path: Path) -> None:
    for line in lines_of(path):
        record = decode(line)
        assert isinstance(record, DamagedRecord) is not is_json_object(line)
        if not isinstance(record, DamagedRecord):
            assert as_text(rebuild(record)) == as_text(parse_as_clients_do(line))


def paths_into(value: Any) -> list[tuple[str | int, ...]]:
    """Every path to a member or an item; without recursion, because newer Pythons parse deeper than they can call."""
    found: list[tuple[str | int, ...]] = []
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while waiting:
        path, at = waiting.pop()
        if path:
            found.append(path)
        members: list[tuple[str | int, Any]] = []
        if isinstance(at, dict):
            members = list(at.items())
        elif isinstance(at, list):
            members = list(enumerate(at))
        waiting += [((*path, name), member) for name, member in reversed(members)]
    return found


def value_at(value: Any, path: tuple[str | int, ...]) -> Any:
    for name in path:
        value = value[name]
    return value


MARK = "a value that no transcript holds"


def assert_only_this_changed(line: bytes, path: tuple[str | int, ...]) -> None:
    was = parse_as_clients_do(line)
    changed = encode(change(decode(line), path, MARK))
    at = changed.index(json.dumps(MARK).encode())
    before, after = changed[:at], changed[at + len(MARK) + 2 :]
    assert line.startswith(before)
    assert line.endswith(after)
    old = line[len(before) : len(line) - len(after)]
    assert as_text(parse_as_clients_do(old)) == as_text(value_at(was, path))
    assert value_at(parse_as_clients_do(changed), path) == MARK


@EVERY_FILE
def test_changing_one_field_leaves_every_other_byte(path: Path, request: pytest.FixtureRequest) -> None:
    every = bool(request.config.getoption("--full", default=False))
    chance = random.Random(20261115)
    for line in lines_of(path):
        if not is_json_object(line):
            continue
        # Python 3.12 and later parse lines that nest 5,000 deep, and a change costs the square of its depth.
        paths = [into for into in paths_into(parse_as_clients_do(line)) if len(into) < 20]
        # All paths of all lines take minutes: `make test-all`. A few from each line otherwise, the deep ones too.
        for chosen in paths if every and len(line) < 20_000 else chance.sample(paths, min(3, len(paths))):
            assert_only_this_changed(line, chosen)


def undescribed(value: Any, where: str) -> list[str]:
    """Where something stands in `extra`, or under a shape that is not known."""
    if isinstance(value, Shape):
        name = type(value).__name__
        found = [f"{where}.{key}" for key in value.extra] + ([f"{where} {name}"] if name.startswith("Unknown") else [])
        for key, attribute in attributes_of(type(value)).items():
            found += undescribed(getattr(value, attribute), f"{where}.{key}")
        return found
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [hit for item in items for hit in undescribed(item, where + "[]")]


@pytest.mark.parametrize("path", [p for p in session_files() if "invented" not in str(p)])
def test_nothing_that_real_clients_wrote_is_undescribed(path: Path) -> None:
    for line in lines_of(path):
        record = decode(line)
        assert undescribed(record, record.kind) == []


EVERY_RELEASE = pytest.mark.parametrize("release", recorded_releases())


def recorded_lines(release: Path) -> Iterator[bytes]:
    for path in sorted(release.rglob("*.jsonl")):
        yield from lines_of(path)


@pytest.mark.spread(10)
@EVERY_RELEASE
def test_nothing_that_a_recorded_release_wrote_is_undescribed(release: Path) -> None:
    """Where this fails, `make record` met something new: "A record kind" in docs/data-flow.md says what to do."""
    for line in recorded_lines(release):
        record = decode(line)
        assert undescribed(record, record.kind) == []


@pytest.mark.spread(4)
@EVERY_RELEASE
def test_every_line_that_a_recorded_release_wrote_is_rebuilt_from_its_typed_fields(release: Path) -> None:
    for line in recorded_lines(release):
        record = decode(line)
        assert encode(record) == line
        assert as_text(rebuild(record)) == as_text(parse_as_clients_do(line))


def test_a_flat_line_is_known_by_its_role() -> None:
    """Seed 002 §4: role = type, else message.role."""
    user = decode(b'{"sessionId":"s","type":"user","timestamp":"2025-01-15T10:00:00Z","content":"hello"}')
    assert isinstance(user, UserRecord)
    assert user.content == "hello"
    assert user.message is UNSET
    answer = decode(b'{"message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"hi"}]}}')
    assert isinstance(answer, AssistantRecord)
    assert answer.kind == "assistant"
    assert answer.type is UNSET
    assert isinstance(answer.content, tuple)
    assert isinstance(answer.content[0], TextBlock)
    bare = decode(b'{"role":"user","content":"hello"}')
    assert isinstance(bare, UserRecord)
    assert bare.content == "hello"


def test_an_unknown_kind_keeps_its_place_in_the_tree() -> None:
    record = decode(b'{"type":"hologram","uuid":"u","parentUuid":null,"beam":[1,{"a":2}]}')
    assert isinstance(record, UnknownRecord)
    assert (record.kind, record.uuid, record.parentUuid) == ("hologram", "u", None)
    assert record.extra == {"beam": [1, {"a": 2}]}


def test_an_unknown_block_and_unknown_fields_are_kept_where_they_stand() -> None:
    record = decode(b'{"type":"user","new":1,"message":{"role":"user","other":2,"content":[{"type":"smell","of":"rain"},7]}}')
    assert isinstance(record, UserRecord)
    assert record.extra == {"new": 1}
    assert record.message
    assert record.message.extra == {"other": 2}
    assert isinstance(record.message.content, tuple)
    block, number = record.message.content
    assert isinstance(block, UnknownBlock)
    assert (block.type, block.extra) == ("smell", {"of": "rain"})
    assert number == 7


def test_a_value_of_another_type_than_described_stands_in_extra() -> None:
    record = decode(b'{"type":"user","timestamp":17,"uuid":["u"],"isSidechain":"no","cwd":"/a","message":3}')
    assert isinstance(record, UserRecord)
    assert record.timestamp is UNSET
    assert record.message is UNSET
    assert record.cwd == "/a"
    assert record.extra == {"timestamp": 17, "uuid": ["u"], "isSidechain": "no", "message": 3}


def test_null_and_absent_are_told_apart() -> None:
    record = decode(b'{"type":"user","parentUuid":null}')
    assert isinstance(record, UserRecord)
    assert record.parentUuid is None
    assert record.uuid is UNSET
    assert not record.uuid


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "blank"),
        (b" \t\r", "blank"),
        (b"\x00" * 512, "not-json"),
        (b'{"type":"user"', "not-json"),
        (b"// a comment", "not-json"),
        (b'{"a":NaN}', "not-json"),
        (b'{"type":"user"}{"type":"user"}', "several-values"),
        (b'{"type":"user"} x', "several-values"),
        (b"null", "not-an-object"),
        (b"[1,2]", "not-an-object"),
        (b'"text"', "not-an-object"),
        (b"17", "not-an-object"),
        (b'{"type":"user","message":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "too-deep"),
    ],
)
def test_a_line_without_an_object_is_a_damaged_record_that_says_why(line: bytes, reason: str) -> None:
    record = decode(line)
    assert isinstance(record, DamagedRecord)
    assert record.reason == reason
    assert encode(record) == line
    with pytest.raises(DamagedLineError):
        decode(line, strict=True)


def test_strict_mode_refuses_an_unknown_kind_and_takes_the_known_ones() -> None:
    with pytest.raises(UnknownKindError):
        decode(b'{"type":"hologram"}', strict=True)
    assert isinstance(decode(b'{"type":"user"}', strict=True), UserRecord)


@pytest.mark.parametrize(
    "line",
    [
        b'\xef\xbb\xbf{"type":"user","message":{"role":"user","content":"a"}}',
        b'{"type":"user","message":{"role":"user","content":"a"}}\r',
        b'  {"message" : {"content" : "a", "role" : "user"}, "type" : "user"}',
        b'{"type":"user","message":{"role":"user","content":"a"},"x":"\xff"}',
        b'{"type":"user","message":{"role":"user","content":"a"},"x":"\\ud800"}',
        b'{"type":"user","message":{"role":"user","content":"a"},"x":1e400}',
        b'{"type":"attachment","type":"user","message":{"role":"user","content":"a"}}',
    ],
)
def test_odd_spellings_of_a_line_are_read_as_clients_read_them(line: bytes) -> None:
    record = decode(line)
    assert isinstance(record, UserRecord)
    assert record.content == "a"
    assert encode(record) == line


def test_invalid_utf8_and_lone_surrogates_inside_a_text_are_reachable() -> None:
    """Rules 13 and 18."""
    broken = decode(b'{"type":"user","message":{"role":"user","content":"a\xffb"}}')
    assert isinstance(broken, UserRecord)
    assert broken.content == "a\ufffdb"
    lone = decode(b'{"type":"user","uuid":"u","message":{"role":"user","content":[{"type":"text","text":"\\ud83d!"}]}}')
    assert isinstance(lone, UserRecord)
    assert lone.uuid == "u"
    assert isinstance(lone.content, tuple)
    assert lone.content[0].text == "\ud83d!"


def test_a_subtype_of_system_records_has_its_own_shape() -> None:
    record = decode(
        b'{"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"auto","preTokens":5,'
        b'"preservedMessages":{"anchorUuid":"a","uuids":["b"],"allUuids":["b","c"]}}}'
    )
    assert isinstance(record, CompactBoundaryRecord)
    assert record.kind == "system/compact_boundary"
    assert record.compactMetadata
    assert record.compactMetadata.preTokens == 5
    assert record.compactMetadata.preservedMessages
    assert record.compactMetadata.preservedMessages.allUuids == ["b", "c"]
    assert decode(b'{"type":"system","subtype":"sneeze","content":"x"}').kind == "system/sneeze"


def results_by_tool() -> dict[str, set[str]]:
    """Which shapes the structured results of each tool were given, in the zoo and the recordings."""
    found: dict[str, set[str]] = {}
    for path in [FIXTURES / "zoo.jsonl", *sorted((FIXTURES / "recorded").rglob("*.jsonl"))]:
        tools: dict[str, str] = {}
        records = [decode(line) for line in lines_of(path)]
        for record in records:
            for block in record.content or () if isinstance(record, AssistantRecord) else ():
                if isinstance(block, ToolUseBlock):
                    tools[block.id or ""] = block.name or ""
        for record in records:
            if isinstance(record, UserRecord) and isinstance(record.toolUseResult, ToolResult):
                for block in record.content or ():
                    if isinstance(block, ToolResultBlock) and block.tool_use_id in tools:
                        found.setdefault(tools[str(block.tool_use_id)], set()).add(type(record.toolUseResult).__name__)
    return found


def test_each_tool_has_the_shape_of_result_that_is_its_own() -> None:
    agents = {"AgentResult", "EarlyAgentResult", "TeammateResult"}
    shapes = {
        "Agent": agents, "Task": agents, "Bash": {"BashResult"}, "BashOutput": {"BashOutputResult"}, "Read": {"ReadResult"},
        "Edit": {"EditResult"}, "MultiEdit": {"MultiEditResult"}, "Write": {"WriteResult"}, "Glob": {"GlobResult"},
        "Grep": {"GrepResult"}, "NotebookEdit": {"NotebookEditResult"}, "TodoWrite": {"TodoWriteResult"},
        "TaskCreate": {"TaskResult"}, "TaskGet": {"TaskResult"}, "TaskList": {"TaskListResult"},
        "TaskUpdate": {"TaskUpdateResult"},
        "TaskOutput": {"TaskOutputResult"}, "TaskStop": {"TaskStopResult"}, "KillShell": {"KillShellResult"},
        "KillBash": {"KillShellResult"}, "SendMessage": {"SendMessageResult", "ResumedAgentResult"},
        "Skill": {"SkillResult"}, "SlashCommand": {"SkillResult"},
        "AskUserQuestion": {"AskUserQuestionResult"}, "ExitPlanMode": {"ExitPlanModeResult"}, "EnterPlanMode": {"MessageResult"},
        "ToolSearch": {"ToolSearchResult"}, "WebFetch": {"WebFetchResult"}, "WebSearch": {"WebSearchResult"},
        "Workflow": {"WorkflowResult"}, "TeamCreate": {"TeamResult"},
        "CronCreate": {"CronCreateResult"}, "CronList": {"CronListResult"}, "CronDelete": {"CronDeleteResult"},
        "EnterWorktree": {"EnterWorktreeResult"}, "ExitWorktree": {"ExitWorktreeResult"},
        "ReadMcpResourceTool": {"McpResourceResult"}, "ScheduleWakeup": {"ScheduleWakeupResult"}, "LSP": {"LspResult"},
        "Monitor": {"MonitorResult"}, "ReportFindings": {"FindingsResult"},
    }  # fmt: skip
    found = results_by_tool()
    assert {"Bash", "Read", "Edit", "MultiEdit", "Write", "Glob", "Grep", "Task", "Agent"} <= set(found)
    assert {tool: given for tool, given in found.items() if not given <= shapes.get(tool, set())} == {}


def test_a_structured_result_of_an_unknown_shape_is_kept() -> None:
    record = decode(b'{"type":"user","toolUseResult":{"weather":"rain","mm":3}}')
    assert isinstance(record, UserRecord)
    assert isinstance(record.toolUseResult, UnknownResult)
    assert record.toolUseResult.extra == {"weather": "rain", "mm": 3}


def test_a_result_of_nothing_but_an_id_is_that_of_a_deleted_job() -> None:
    """As 2.1.325 answers CronDelete. An id beside other members says nothing of whose result it is."""
    deleted = decode(b'{"type":"user","toolUseResult":{"id":"4e31a43b"}}')
    assert isinstance(deleted, UserRecord)
    assert isinstance(deleted.toolUseResult, CronDeleteResult)
    assert deleted.toolUseResult.id == "4e31a43b"
    other = decode(b'{"type":"user","toolUseResult":{"id":"4e31a43b","weather":"rain"}}')
    assert isinstance(other, UserRecord)
    assert isinstance(other.toolUseResult, UnknownResult)


def test_the_resources_of_mcp_servers_are_typed_beside_blocks() -> None:
    """As ListMcpResourcesTool answers; the last item is no block of any kind, and not a resource either."""
    line = (
        b'{"type":"user","toolUseResult":[{"uri":"probe://one","name":"one","mimeType":"text/plain","server":"probe"},'
        b'{"type":"text","text":"hello"},{"uri":"probe://two"}]}'
    )
    record = decode(line)
    assert isinstance(record, UserRecord)
    assert isinstance(record.toolUseResult, tuple)
    resource, block, other = record.toolUseResult
    assert isinstance(resource, McpResource)
    assert (resource.uri, resource.server, resource.extra) == ("probe://one", "probe", {})
    assert isinstance(block, TextBlock)
    assert isinstance(other, UnknownBlock)


def test_a_worktree_that_was_left_is_null_and_one_that_was_entered_has_its_places() -> None:
    """As 2.1.91 and later write them."""
    left = decode(b'{"type":"worktree-state","worktreeSession":null,"sessionId":"s"}', strict=True)
    assert isinstance(left, WorktreeStateRecord)
    assert left.worktreeSession is None
    entered = decode(b'{"type":"worktree-state","worktreeSession":{"originalCwd":"/a","worktreePath":"/a/side"},"sessionId":"s"}')
    assert isinstance(entered, WorktreeStateRecord)
    assert entered.worktreeSession
    assert (entered.worktreeSession.originalCwd, entered.worktreeSession.worktreePath) == ("/a", "/a/side")


def test_a_member_is_added_removed_and_found_behind_duplicates() -> None:
    record = decode(b'{ "type": "user" , "a": 1, "a": 2 }')
    assert encode(change(record, "a", 3)) == b'{ "type": "user" , "a": 1, "a": 3 }'
    assert encode(change(record, "b", [None])) == b'{ "type": "user" , "a": 1, "a": 2,"b":[null] }'
    two = decode(b'{"type":"user","cwd":"/a","uuid":"u"}')
    assert encode(change(two, "cwd", REMOVE)) == b'{"type":"user","uuid":"u"}'
    assert encode(change(two, "uuid", REMOVE)) == b'{"type":"user","cwd":"/a"}'
    assert encode(change(two, "absent", REMOVE)) == encode(two)
    assert encode(change(decode(b"{}"), "a", 1)) == b'{"a":1}'


def test_a_change_that_cannot_be_made_says_which_field() -> None:
    record = decode(b'{"type":"user","message":{"content":["x"]}}')
    with pytest.raises(FieldError) as missing:
        change(record, ("message", "nowhere", "deep"), 1)
    assert missing.value.field == "message.nowhere.deep"
    with pytest.raises(FieldError):
        change(record, ("message", "content", 5), 1)
    with pytest.raises(FieldError):
        change(decode(b"null"), "a", 1)


def test_a_record_built_by_hand_is_written_as_clients_write() -> None:
    record = UserRecord(uuid="u", parentUuid=None, cwd="/é\u2028")
    assert encode(record) == '{"type":"user","uuid":"u","parentUuid":null,"cwd":"/é\u2028"}'.encode()
    assert decode(encode(record)).type == "user"


def test_a_record_cannot_be_changed_in_place() -> None:
    record = decode(b'{"type":"user","uuid":"u"}')
    with pytest.raises(AttributeError):
        record.uuid = "other"  # type: ignore[attr-defined]


def test_no_repr_shows_what_a_transcript_says() -> None:
    secret = "the-secret-word"
    line = json.dumps(
        {"type": "user", "uuid": secret, "message": {"role": secret, "content": [{"type": "text", "text": secret}]}}
    )
    record = decode(line.encode())
    assert isinstance(record, UserRecord)
    assert isinstance(record.content, tuple)
    shown: list[Record | Shape] = [record, record.message, *record.content]  # type: ignore[list-item]
    assert all(secret not in repr(each) for each in shown)


def test_a_forked_agents_reference_to_its_context_is_a_record_of_its_own() -> None:
    """The first line of a forked sub-agent's file, as 2.1.325 wrote it."""
    line = (
        b'{"type":"fork-context-ref","agentId":"a49a3b60e0c47a3f2","parentSessionId":"a07b50e6-e0e3-4095-901d-ebf04c748622",'
        b'"parentLastUuid":"26be99ba-c983-4992-8114-019b33b5bf18","contextLength":18}'
    )
    record = decode(line, strict=True)
    assert isinstance(record, ForkContextRefRecord)
    assert (record.agentId, record.contextLength) == ("a49a3b60e0c47a3f2", 18)
    assert record.parentLastUuid == "26be99ba-c983-4992-8114-019b33b5bf18"
    assert encode(record) == line
    assert not record.extra


@pytest.mark.parametrize(
    ("line", "left"),
    [
        (b'{"type":"user","a":1,"b":2}', b'{"type":"user","b":2}'),
        (b'{"type":"user" , "a" : 1 , "b":2}', b'{"type":"user" , "b":2}'),
        (b'{"type":"user","b":2 , "a":1}', b'{"type":"user","b":2 }'),
        (b'{"a":1,"type":"user"}', b'{"type":"user"}'),
    ],
)
def test_a_removed_member_takes_one_comma_with_it(line: bytes, left: bytes) -> None:
    assert encode(change(decode(line), "a", REMOVE)) == left


def test_an_odd_system_line_keeps_its_kind() -> None:
    """A member of a wrong type makes the first reader refuse the line; the second one knows the subtype too."""
    line = b'{"type":"system","subtype":"compact_boundary","uuid":"u","isMeta":[],"parentUuid":{"a":1},"timestamp":5}'
    assert type(decode(line)) is CompactBoundaryRecord
    assert type(decode(line.replace(b"compact_boundary", b"unheard_of"))) is SystemRecord


ODD_LINES = [
    b"",
    b"null",
    b"[1]",
    b'"text"',
    b"{}",
    b'{"type":1}',
    b'{"type":"none-such"}',
    b'{"type":"user","uuid":7}',
    b'{"type":"user"',
    b"\xff",
]


def test_the_first_lines_of_a_run_are_decoded_as_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few lines are decoded kind by kind, many by one decoder of all kinds."""
    lines = [*(FIXTURES / "zoo.jsonl").read_bytes().splitlines(), *ODD_LINES]
    monkeypatch.setattr("stenograph.records.line._FEW", len(lines) + 1)
    monkeypatch.setattr("stenograph.records.line._decoding", _Decoding())
    first = [decode(line) for line in lines]
    monkeypatch.setattr("stenograph.records.line._FEW", 0)
    monkeypatch.setattr("stenograph.records.line._decoding", _Decoding())
    later = [decode(line) for line in lines]
    assert [type(record) for record in first] == [type(record) for record in later]
    assert first == later
    assert [encode(record) for record in first] == lines
