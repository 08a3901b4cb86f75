"""Every code has a file that triggers it; the recorded session that they are made from triggers none."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.check.sessions import SESSION, Lines, changed, first, last, recorded_lines, write
from tests.cli.running import run_unprivileged

from stenograph.check import DAMAGE, DRIFT, check, report
from stenograph.testing.lines import user


def _codes(path: Path) -> set[str]:
    report = check([path])
    found = {each.code for each in report.drift} | {each.code for each in report.damage}
    return found | {failure.code for failure in report.failures}


def _blocks(lines: Lines, kind: str, block: str) -> list[dict[str, Any]]:
    return [
        each
        for line in lines
        if line["type"] == kind
        for each in line["message"]["content"]
        if isinstance(each, dict) and each["type"] == block
    ]


def _rewire(lines: Lines) -> None:
    """Two lines that are each other's parents."""
    a, b = [line for line in lines if line.get("uuid")][3:5]
    a["parentUuid"] = b["uuid"]


DRIFTING: dict[str, list[Callable[[Lines], Any]]] = {
    "UNKNOWN_TYPE": [
        lambda lines: lines.append({"type": "brand-new", "sessionId": lines[0]["sessionId"]}),
        lambda lines: first(lines, "attachment")["attachment"].update(type="brand_new"),
        lambda lines: _blocks(lines, "assistant", "text")[0].update(type="brand_new"),
        lambda lines: lines.append(
            {**last(lines, "assistant"), "type": "system", "subtype": "brand_new", "uuid": "u", "message": None}
        ),
        lambda lines: _blocks(lines, "assistant", "tool_use")[0].update(name="BrandNew"),
    ],
    "NEW_FIELD": [
        lambda lines: first(lines, "user").update(brandNew=1),
        lambda lines: first(lines, "assistant")["message"]["usage"].update(brand_new=1),
        lambda lines: _blocks(lines, "assistant", "tool_use")[0]["input"].update(brand_new=1),
        lambda lines: next(line for line in lines if isinstance(line.get("toolUseResult"), dict))["toolUseResult"].update(
            brandNew=1
        ),
    ],
    "TYPE_MISMATCH": [
        lambda lines: first(lines, "user").update(timestamp=5),
        lambda lines: first(lines, "assistant")["message"]["usage"].update(input_tokens="many"),
        lambda lines: first(lines, "assistant").update(message="words"),
        lambda lines: first(lines, "user").update(isSidechain="no"),
    ],
    "MISSING_FIELD": [
        lambda lines: first(lines, "user").pop("sessionId"),
        lambda lines: first(lines, "assistant").pop("cwd"),
        lambda lines: first(lines, "assistant")["message"].pop("model"),
        lambda lines: first(lines, "assistant")["message"]["usage"].pop("output_tokens"),
    ],
}


@pytest.mark.parametrize(
    ("code", "number"), [(code, number) for code, changes in DRIFTING.items() for number in range(len(changes))]
)
def test_a_session_that_drifts_is_told_with_its_code(code: str, number: int, tmp_path: Path) -> None:
    path = write(tmp_path, changed(DRIFTING[code][number]))
    found = {each.code for each in check([path]).drift}
    assert code in found


def test_the_recorded_session_itself_is_clean() -> None:
    report = check([SESSION])
    assert (report.drift, report.damage, report.failures) == ([], [], [])
    assert report.lines == len(SESSION.read_bytes().splitlines())


DAMAGING: dict[str, Callable[[Lines], Any]] = {
    "duplicate-uuid": lambda lines: lines.append(dict(last(lines, "assistant"))),
    "dangling-parent": lambda lines: last(lines, "assistant").update(parentUuid="00000000-0000-4000-8000-00000000dead"),
    "self-parent": lambda lines: last(lines, "assistant").update(parentUuid=last(lines, "assistant")["uuid"]),
    "parent-cycle": _rewire,
    "forward-parent": lambda lines: lines.insert(
        0, {**last(lines, "assistant"), "uuid": "u", "parentUuid": last(lines, "assistant")["uuid"]}
    ),
    "unknown-kind-in-chain": lambda lines: lines[lines.index(last(lines, "assistant")) - 1].update(
        type="brand-new", uuid=last(lines, "assistant")["parentUuid"]
    ),
    "orphan-tool-use": lambda lines: _blocks(lines, "user", "tool_result")[-1].update(tool_use_id="toolu_gone"),
    "orphan-tool-result": lambda lines: _blocks(lines, "assistant", "tool_use")[-1].update(id="toolu_gone"),
    "misleading-timestamps": lambda lines: first(lines, "assistant").update(timestamp="2099-01-01T00:00:00.000Z"),
    "stale-last-prompt": lambda lines: lines.extend(
        [
            {
                "type": "last-prompt",
                "lastPrompt": "x",
                "leafUuid": last(lines, "assistant")["uuid"],
                "sessionId": lines[0].get("sessionId"),
            },
            {**first(lines, "user"), "uuid": "other", "parentUuid": None, "timestamp": "2099-01-01T00:00:00.000Z"},
        ]
    ),
    "missing-agent-file": lambda lines: next(line for line in lines if isinstance(line.get("toolUseResult"), dict))[
        "toolUseResult"
    ].update(agentId="a0a0a0"),
}


@pytest.mark.parametrize("code", DAMAGING)
def test_a_damaged_session_is_told_with_its_code(code: str, tmp_path: Path) -> None:
    assert code in _codes(write(tmp_path, changed(DAMAGING[code])))


BYTES: dict[str, Callable[[bytes], bytes]] = {
    "torn-tail": lambda data: data[:-20],
    "missing-final-newline": lambda data: data[:-1],
    "blank-line": lambda data: data + b"\n" + data.splitlines()[0] + b"\n",
    "damaged-line-not-json": lambda data: b"// a comment\n" + data,
    "damaged-line-several-values": lambda data: b'{"type":"mode"}{"type":"mode"}\n' + data,
    "damaged-line-not-an-object": lambda data: b"[1]\n" + data,
    "damaged-line-too-deep": lambda data: b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n" + data,
    "invalid-utf8": lambda data: data.replace(b'"cwd":"/home', b'"cwd":"\xff/home', 1),
}


@pytest.mark.parametrize("code", BYTES)
def test_damaged_bytes_are_told_with_their_code(code: str, tmp_path: Path) -> None:
    path = tmp_path / SESSION.name
    path.write_bytes(BYTES[code](SESSION.read_bytes()))
    assert code in _codes(path)


def _agent_without_session(folder: Path) -> None:
    write(
        folder,
        [{**line, "isSidechain": True, "sessionId": "11111111-1111-4111-8111-111111111111"} for line in recorded_lines()],
        name="agent-a1b2c3.jsonl",
    )


def _folder_without_session(folder: Path) -> None:
    (folder / "11111111-1111-4111-8111-111111111111").mkdir()


def _broken_link(folder: Path) -> None:
    (folder / "11111111-1111-4111-8111-111111111111.jsonl").symlink_to(folder / "nowhere.jsonl")


def _not_a_file(folder: Path) -> None:
    (folder / "11111111-1111-4111-8111-111111111111.jsonl").mkdir()


def _linked_folder(folder: Path) -> None:
    elsewhere = folder.parent / f"{folder.name}-elsewhere"
    elsewhere.mkdir()
    (folder / SESSION.stem).symlink_to(elsewhere)


def _damaged_meta(folder: Path) -> None:
    agents = folder / SESSION.stem / "subagents"
    agents.mkdir(parents=True)
    write(agents, [{**line, "isSidechain": True} for line in recorded_lines()], name="agent-a1b2c3.jsonl")
    (agents / "agent-a1b2c3.meta.json").write_text("{", encoding="utf-8")


def _left_unfinished(folder: Path) -> None:
    (folder / ".steno-abc").write_text("", encoding="utf-8")


FOLDERS: dict[str, Callable[[Path], None]] = {
    "agent-without-session": _agent_without_session,
    "folder-without-session": _folder_without_session,
    "damaged-meta": _damaged_meta,
    "broken-link": _broken_link,
    "not-a-file": _not_a_file,
    "linked-folder": _linked_folder,
    "left-unfinished": _left_unfinished,
    "unreadable": _broken_link,
}


@pytest.mark.parametrize("code", FOLDERS)
def test_a_broken_family_is_told_with_its_code(code: str, tmp_path: Path) -> None:
    shutil.copy(SESSION, tmp_path)
    assert code not in _codes(tmp_path)
    FOLDERS[code](tmp_path)
    assert code in _codes(tmp_path)


@pytest.fixture
def open_home() -> Iterator[Path]:
    """A folder that any user may reach, unlike tmp_path, whose parents are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="steno-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_a_family_that_cannot_be_looked_into_is_told_with_its_code(open_home: Path) -> None:
    folder = open_home / "project"
    agents = folder / SESSION.stem / "subagents"
    closed, meta = agents / "workflows", agents / "agent-a1b2c3.meta.json"
    closed.mkdir(parents=True)
    (folder / SESSION.name).write_bytes(SESSION.read_bytes())
    write(agents, [{**line, "isSidechain": True} for line in recorded_lines()], name="agent-a1b2c3.jsonl")
    meta.write_text("{}", encoding="utf-8")
    meta.chmod(0)
    closed.chmod(0)
    done = run_unprivileged("check", folder, "--json")
    closed.chmod(0o755)
    assert {"unreadable-folder", "unreadable-file"} <= {each["code"] for each in json.loads(done.stdout)["damage"]}


def test_every_code_is_triggered_by_some_file_here() -> None:
    assert set(DRIFTING) == set(DRIFT)
    assert {*DAMAGING, *BYTES, *FOLDERS, "unreadable-folder", "unreadable-file", "interrupted-call"} == set(DAMAGE)


def test_a_finding_is_told_once_with_how_often_and_where_first(tmp_path: Path) -> None:
    lines = recorded_lines()
    users = [number for number, line in enumerate(lines, 1) if line["type"] == "user"]
    for number in users:
        lines[number - 1]["brandNew"] = {"inner": True}
    path = write(tmp_path, lines)
    [found] = check([path]).drift
    assert (found.code, found.shape, found.field) == ("NEW_FIELD", "record:user", "brandNew")
    assert (found.count, found.line, found.path, found.known_in) == (len(users), users[0], path, "")
    assert found.releases == ["2.1.325"]
    assert found.sample["brandNew"] == "object"


def test_a_field_of_a_later_release_is_told_with_the_releases_that_know_it(tmp_path: Path) -> None:
    lines = [{**line, "version": "2.0.76"} for line in recorded_lines() if line["type"] in ("user", "assistant")]
    found = {(each.shape, each.field): each.known_in for each in check([write(tmp_path, lines)]).drift}
    assert found[("record:user", "turnOrigin")].endswith("2.1.325")


def test_two_processes_find_what_one_finds(tmp_path: Path) -> None:
    for number, (code, changes) in enumerate(DRIFTING.items()):
        write(tmp_path, changed(changes[0]), name=f"{number}{code}.jsonl")
    one, two = check([tmp_path], jobs=1), check([tmp_path], jobs=2)
    assert one == two
    assert len(one.drift) >= len(DRIFTING)


def _die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_share_of_a_process_that_was_killed_is_checked_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, (code, changes) in enumerate(DRIFTING.items()):
        write(tmp_path, changed(changes[0]), name=f"{number}{code}.jsonl")
    expected = check([tmp_path], jobs=1)
    monkeypatch.setattr(report, "_help", _die)
    assert check([tmp_path], jobs=2) == expected


def test_a_file_whose_age_is_unknown_is_a_failure_and_not_an_old_one(open_home: Path) -> None:
    folder = open_home / "project"
    folder.mkdir()
    shutil.copy(SESSION, folder)
    folder.chmod(0o744)  # nobody may list it, and may not look at what it lists
    done = run_unprivileged("check", folder, "--since", "1d", "--json")
    assert [each["code"] for each in json.loads(done.stdout)["failures"]] == ["unreadable"]


def test_a_last_prompt_that_a_rewind_wrote_is_not_stale(tmp_path: Path) -> None:
    lines = changed(DAMAGING["stale-last-prompt"])
    last(lines, "last-prompt")["explicit"] = True
    assert "stale-last-prompt" not in _codes(write(tmp_path, lines))


def test_null_is_not_enough_for_a_field_that_is_always_there(tmp_path: Path) -> None:
    path = write(tmp_path, changed(lambda lines: first(lines, "user").update(sessionId=None, slug=None)))
    found = [(each.code, each.shape, each.field, each.met) for each in check([path]).drift]
    assert found == [("TYPE_MISMATCH", "record:user", "sessionId", "null")]


@pytest.mark.parametrize(
    ("kind", "level", "shape"),
    [
        ("error", "error", "record:system/error"),  # the example of seed 000
        ("brand_new", "brand_new", "record:system/‹name withheld›"),  # perhaps something that was said
        ("brand_new", "error", "record:system/brand_new"),
        ("hunter2-Zm9vYmFy", "error", "record:system/‹name withheld›"),
    ],
)
def test_an_unknown_kind_is_named_unless_it_may_be_content(kind: str, level: str, shape: str, tmp_path: Path) -> None:
    line = {"type": "system", "subtype": kind, "level": level, "content": "Error message", "retryAttempt": 1, "maxRetries": 3}
    path = write(tmp_path, changed(lambda lines: lines.append(line)))
    assert [each.shape for each in check([path]).drift if each.code == "UNKNOWN_TYPE"] == [shape]


def test_only_files_changed_since_are_looked_at(tmp_path: Path) -> None:
    old, new = (
        write(tmp_path, recorded_lines()),
        write(tmp_path, recorded_lines(), name="22222222-2222-4222-8222-222222222222.jsonl"),
    )
    os.utime(old, (1000, 1000))
    os.utime(new, (2000, 2000))
    assert [check([tmp_path], since=since).files for since in (500.0, 1500.0, 2500.0)] == [2, 1, 0]


def test_a_line_that_names_no_release_is_judged_by_all_of_them(tmp_path: Path) -> None:
    assert check([write(tmp_path, [user("u", "x")])]).drift == []


@pytest.mark.parametrize("behind", [[], ["[Request interrupted by user]"], ["[Request interrupted by user]", "Another prompt"]])
def test_an_interrupted_call_is_reported_but_is_not_damage(tmp_path: Path, behind: list[str]) -> None:
    lines = recorded_lines()
    result = next(place for place, line in enumerate(lines) if "tool_result" in str(line.get("message")))
    asked = lines[result - 1]
    assert asked["type"] == "assistant"
    said = [{**first(lines, "user"), "uuid": f"u{number}", "parentUuid": asked["uuid"]} for number, _ in enumerate(behind)]
    for line, words in zip(said, behind, strict=True):
        line["message"] = {"role": "user", "content": [{"type": "text", "text": words}]}
    report = check([write(tmp_path, [*lines[:result], *said])])
    assert "interrupted-call" in {each.code for each in report.damage}
    assert "orphan-tool-use" not in {each.code for each in report.damage}
    assert report.is_clean or {each.code for each in report.damage if not each.is_ordinary} == {"misleading-timestamps"}
