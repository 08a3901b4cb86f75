"""The fixtures keep their own rules: neutral content, full coverage, and the bytes their scripts make."""

import base64
import json
import lzma
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import DEMO

from stenograph.demo import unpack_demo
from stenograph.records import TYPES, Attachment, Progress, Shape
from stenograph.records.system import SUBTYPES

REPOSITORY = Path(__file__).parent.parent
FIXTURES = REPOSITORY / "tests" / "fixtures"
ARCHIVE = REPOSITORY / "src" / "stenograph" / "demo" / "demo.tar.xz"
INVENTED = FIXTURES / "invented"

MACHINE_PATH = re.compile(rb"/(work|root|tmp|var|private|Users|mnt|opt)/[A-Za-z0-9]")
ADDRESS = re.compile(rb"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}")
KEY = re.compile(rb"sk-[A-Za-z]{2,}-|gh[pousr]_[A-Za-z0-9]{20}|AKIA[0-9A-Z]{16}|-----BEGIN [A-Z ]*PRIVATE KEY")
SCRIPT = re.compile(r"SCRIPT:([A-Za-z0-9+/]+=*):END")

RELEASES = {"1.0.128", "2.0.36", "2.0.42", "2.0.50", "2.0.76", "2.1.29", "2.1.45", "2.1.112", "2.1.200", "2.1.325"}
SCENARIOS = {
    "basic", "bangrename", "interrupt", "toolint", "queue", "rewind", "clear", "compact",
    "autocompact", "plan", "perm", "ask", "bg", "hooks", "stophook", "image",
}  # fmt: skip

# Described from what the clients' own code reads; no session that was recorded or published holds one. Their lines are in
# invented/unseen-kinds.jsonl.
UNSEEN_KINDS = {"tag"}
UNSEEN_ATTACHMENTS = {
    "auto_mode_exit", "date_change", "goal_status", "hook_cancelled", "opened_file_in_ide", "plan_mode_reentry",
    "selected_lines_in_ide",
}  # fmt: skip
BLOCKS = {
    *(("assistant", block) for block in ("redacted_thinking", "text", "thinking", "tool_use")),
    *(("user", block) for block in ("document", "image", "text", "tool_result")),
    *(("inside a tool_result", block) for block in ("document", "image", "text", "tool_reference")),
}
OBJECT_RESULTS = {
    "Agent", "AskUserQuestion", "Bash", "BashOutput", "CronCreate", "CronDelete", "CronList", "Edit", "EnterPlanMode",
    "EnterWorktree", "ExitPlanMode", "ExitWorktree", "Glob", "Grep", "KillBash", "KillShell", "LSP", "Monitor",
    "MultiEdit", "NotebookEdit", "Read", "ReadMcpResourceTool", "ReportFindings", "ScheduleWakeup", "SendMessage",
    "Skill", "SlashCommand", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate",
    "TeamCreate", "TodoWrite", "ToolSearch", "WebFetch", "WebSearch", "Workflow", "Write",
}  # fmt: skip
STRING_RESULTS = {
    "Agent", "AskUserQuestion", "Bash", "BashOutput", "CronCreate", "CronDelete", "Edit", "ExitPlanMode", "Glob",
    "Grep", "KillShell", "LS", "MultiEdit", "NoSuchTool", "NotebookEdit", "Read", "ScheduleWakeup", "Skill",
    "SlashCommand", "StructuredOutput", "Task", "TaskOutput", "TaskStop", "TodoWrite", "WebFetch", "WebSearch",
    "Write", "mcp__notes__save",
}  # fmt: skip
LIST_RESULTS = {"ListMcpResourcesTool", "mcp__notes__save"}


def files(*folders: Path) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*") if path.is_file())


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def blocks(record: dict[str, Any]) -> list[dict[str, Any]]:
    content = record.get("message", {}).get("content")
    return content if isinstance(content, list) else []


def run_script(name: str, *arguments: Path) -> None:
    subprocess.run([sys.executable, REPOSITORY / "scripts" / name, *arguments], check=True)


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files(folder)}


def test_every_fixture_outside_invented_is_valid_utf_8() -> None:
    found = [path for path in files(FIXTURES, DEMO) if INVENTED not in path.parents]
    assert len(found) > 200
    for path in found:
        path.read_bytes().decode("utf-8", "strict")


def test_no_fixture_names_a_path_of_a_real_machine() -> None:
    # folder-names.json lists odd paths on purpose, to learn how clients encode them.
    for path in files(FIXTURES, DEMO):
        if path.name != "folder-names.json":
            found = MACHINE_PATH.search(path.read_bytes())
            assert found is None, (path, found)


def test_no_script_inside_a_prompt_names_a_path_of_a_real_machine() -> None:
    def decoded(text: str) -> list[str]:
        plain = [base64.b64decode(coded).decode("utf-8") for coded in SCRIPT.findall(text)]
        return plain + [inner for outer in plain for inner in decoded(outer)]

    scripts = [script for path in files(FIXTURES / "recorded") for script in decoded(path.read_text("utf-8"))]
    assert len(scripts) > 300
    for script in scripts:
        assert MACHINE_PATH.search(script.encode()) is None, script


def test_no_fixture_holds_an_address_other_than_example_com() -> None:
    for path in files(FIXTURES, DEMO):
        for found in ADDRESS.finditer(path.read_bytes()):
            assert found.group().endswith(b"@example.com"), (path, found)


def test_no_fixture_holds_anything_that_looks_like_a_key() -> None:
    for path in files(FIXTURES, DEMO):
        found = KEY.search(path.read_bytes())
        assert found is None, (path, found)


def test_the_recordings_hold_every_release_and_every_interactive_scenario() -> None:
    recorded = FIXTURES / "recorded"
    assert {path.name for path in recorded.iterdir() if path.is_dir()} == RELEASES
    for release in ("2.0.76", "2.1.45", "2.1.325"):
        folder = recorded / release / "interactive"
        scenarios = json.loads((folder / "scenarios.json").read_text("utf-8"))
        assert set(scenarios) == SCENARIOS
        for name in (name for named in scenarios.values() for name in named):
            assert (folder / name.removeprefix(".claude/projects/")).is_file(), name


def test_the_recordings_hold_no_system_prompt_or_tool_description() -> None:
    prose: list[str] = []
    for path in files(FIXTURES / "recorded"):
        if path.suffix != ".jsonl":
            continue
        for record in records(path):
            if record["type"] == "api-request-shape":
                prose += [block["text"] for block in record["shape"]["system"]]
                prose += [tool["description"] for tool in record["shape"]["tools"]]
            elif record["type"] == "attachment" and record["attachment"]["type"] == "prompt_snapshot":
                prose += record["attachment"]["systemPrompt"]
    assert len(prose) > 300
    assert [text for text in prose if not re.fullmatch(r"<trimmed \d+>", text)] == []


def zoo() -> list[dict[str, Any]]:
    return records(FIXTURES / "zoo.jsonl")


def unseen() -> list[dict[str, Any]]:
    return records(INVENTED / "unseen-kinds.jsonl")


def described(base: type[Shape]) -> set[str]:
    """The tags of the shapes below one."""
    below = {*base.__subclasses__(), *(each for shape in base.__subclasses__() for each in shape.__subclasses__())}
    return {tag for shape in below if isinstance(tag := shape.__struct_config__.tag, str)}


def attachment_types(lines: list[dict[str, Any]]) -> set[str]:
    return {record["attachment"]["type"] for record in lines if record["type"] == "attachment"}


def test_the_zoo_holds_every_kind_of_record() -> None:
    assert {record["type"] for record in zoo()} == set(TYPES) - UNSEEN_KINDS
    assert {record["type"] for record in unseen()} >= UNSEEN_KINDS


def test_the_zoo_holds_every_system_subtype() -> None:
    assert {record.get("subtype") for record in zoo() if record["type"] == "system"} == {None, *SUBTYPES}


def test_the_zoo_holds_every_attachment_and_progress_type() -> None:
    assert attachment_types(zoo()) == described(Attachment) - UNSEEN_ATTACHMENTS
    assert attachment_types(unseen()) >= UNSEEN_ATTACHMENTS
    assert {record["data"]["type"] for record in zoo() if record["type"] == "progress"} == described(Progress)


def test_the_zoo_holds_every_content_block() -> None:
    found = {(record["type"], block["type"]) for record in zoo() for block in blocks(record)}
    inner = [block["content"] for record in zoo() for block in blocks(record) if isinstance(block.get("content"), list)]
    found |= {("inside a tool_result", block["type"]) for content in inner for block in content}
    assert {pair for pair in found if pair[0] != "api-request-blob"} == BLOCKS


def test_the_zoo_holds_the_structured_result_of_every_tool() -> None:
    names = {block["id"]: block["name"] for record in zoo() for block in blocks(record) if block["type"] == "tool_use"}
    found: dict[type, set[str]] = {dict: set(), str: set(), list: set()}
    for record in zoo():
        for block in blocks(record):
            if block["type"] == "tool_result" and "toolUseResult" in record and block["tool_use_id"] in names:
                found[type(record["toolUseResult"])].add(names[block["tool_use_id"]])
    assert found == {dict: OBJECT_RESULTS, str: STRING_RESULTS, list: LIST_RESULTS}


def test_the_invented_lines_are_what_their_script_makes(tmp_path: Path) -> None:
    run_script("make_invented.py", tmp_path)
    assert tree(tmp_path) == tree(INVENTED)


@pytest.mark.parametrize("name", ["make_demo.py", "make_invented.py", "make_registry.py", "make_zoo.py"])
def test_a_script_that_writes_takes_no_option_for_a_folder(name: str, tmp_path: Path) -> None:
    given = ["--dry-run", "--check"] if name == "make_zoo.py" else ["--dry-run"]
    done = subprocess.run(
        [sys.executable, REPOSITORY / "scripts" / name, *given], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ")
    assert list(tmp_path.iterdir()) == []


def test_the_odd_lines_start_with_a_byte_order_mark_and_end_torn() -> None:
    odd = (INVENTED / "odd-lines.jsonl").read_bytes()
    assert odd.startswith(b"\xef\xbb\xbf{")
    assert not odd.endswith((b"}", b"\n"))
    with pytest.raises(UnicodeDecodeError):
        odd.decode("utf-8")


def test_the_demo_is_what_its_script_makes(tmp_path: Path) -> None:
    """Unpacked: another release of the compressor may pack them otherwise."""
    run_script("make_demo.py", tmp_path)
    assert lzma.decompress((tmp_path / "demo.tar.xz").read_bytes()) == lzma.decompress(ARCHIVE.read_bytes())


def test_the_unpacked_demo_is_what_tar_makes_of_the_archive(tmp_path: Path) -> None:
    subprocess.run(["tar", "-xJf", ARCHIVE, "-C", tmp_path], check=True)
    assert len(tree(tmp_path)) == 12
    assert tree(DEMO) == tree(tmp_path) | {"complete": b""}
    for path in files(tmp_path):
        assert (DEMO / path.relative_to(tmp_path)).stat().st_mtime == path.stat().st_mtime


def test_a_demo_that_was_unpacked_in_part_is_completed(tmp_path: Path) -> None:
    unpack_demo(tmp_path)
    (tmp_path / "complete").unlink()
    next(tmp_path.rglob("*.jsonl")).write_bytes(b"")
    assert tree(unpack_demo(tmp_path)) == tree(DEMO)


def test_the_demo_is_small_and_has_eight_sessions_in_three_projects() -> None:
    projects = DEMO / "projects"
    assert sum(path.stat().st_size for path in files(DEMO)) < 300_000
    assert len(list(projects.iterdir())) == 3
    assert len([path for path in projects.glob("*/*.jsonl") if not path.name.startswith("agent-")]) == 8


@pytest.mark.parametrize("path", [path for path in files(DEMO) if path.suffix == ".jsonl"], ids=lambda path: path.stem)
def test_a_demo_session_is_one_chain_with_increasing_timestamps(path: Path) -> None:
    leaf, before = None, ""
    for record in records(path):
        if "timestamp" in record:
            assert record["timestamp"] > before
            before = record["timestamp"]
        if "uuid" in record:
            parent = record.get("logicalParentUuid", record["parentUuid"])
            assert parent == leaf
            leaf = record["uuid"]
            assert path.name.startswith("agent-") or record["sessionId"] == path.stem


def test_one_tool_call_of_the_demo_is_left_open() -> None:
    every = [block for path in files(DEMO) if path.suffix == ".jsonl" for record in records(path) for block in blocks(record)]
    used = {block["id"] for block in every if block["type"] == "tool_use"}
    answered = {block["tool_use_id"] for block in every if block["type"] == "tool_result"}
    assert answered < used
    assert len(used - answered) == 1
