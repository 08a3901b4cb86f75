from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.disk.conftest import Unprivileged

from stenograph.errors import UnreadableError
from stenograph.family import AgentFile, AgentLayout, find_family, is_agent_file, is_session_id, list_project, list_projects

ONE = "11111111-2222-4333-8444-555555555555"
TWO = "66666666-7777-4888-9999-aaaaaaaaaaaa"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "projects" / "-home-user-proj"
    folder.mkdir(parents=True)
    return folder


def put(path: Path, data: bytes = b"{}\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def codes(findings: object) -> list[tuple[str, str]]:
    assert isinstance(findings, list | tuple)
    return sorted((finding.code, finding.path.name) for finding in findings)


def test_a_project_lists_its_sessions_with_size_and_time(project: Path) -> None:
    path = put(project / f"{ONE}.jsonl", b"12345\n")
    os.utime(path, ns=(1, 1_700_000_000_123_456_789))
    listing = list_project(project)
    [session] = listing.sessions
    assert (session.session_id, session.path, session.size, session.mtime_ns, session.named_by_uuid) == (
        ONE,
        path,
        6,
        1_700_000_000_123_456_789,
        True,
    )
    assert listing.folder == project
    assert listing.findings == []


def test_a_session_not_named_by_a_uuid_is_listed_and_marked(project: Path) -> None:
    put(project / "short.jsonl")
    put(project / f"{ONE}x.jsonl")
    put(project / f"{ONE}.jsonl")
    listing = list_project(project)
    assert {session.session_id: session.named_by_uuid for session in listing.sessions} == {
        "short": False,
        f"{ONE}x": False,
        ONE: True,
    }


def test_other_files_and_folders_of_a_project_are_passed_over(project: Path) -> None:
    # sessions-index.json stands in a recording of 2.1.29, `memory` in those of 2.1.83 and later
    put(project / "sessions-index.json")
    put(project / "memory" / "MEMORY.md")
    put(project / f"{ONE}.jsonl.bak")
    listing = list_project(project)
    assert (listing.sessions, listing.loose_agents, listing.session_folders, listing.findings) == ([], [], [], [])


def test_agents_beside_the_sessions_are_loose(project: Path) -> None:
    # the layout of 2.0.36 to 2.0.76
    beside = put(project / "agent-1a2b3c4d.jsonl")
    meta = put(project / "agent-1a2b3c4d.meta.json")
    listing = list_project(project)
    assert listing.loose_agents == [AgentFile(beside, "1a2b3c4d", AgentLayout.BESIDE, meta)]
    assert listing.sessions == []


def test_agents_in_the_subagents_folder_of_a_project_are_loose(project: Path) -> None:
    loose = put(project / "subagents" / "agent-a1.jsonl")
    put(project / "subagents" / "notes.txt")
    assert list_project(project).loose_agents == [AgentFile(loose, "a1", AgentLayout.PROJECT)]


def test_session_folders_are_told_without_looking_into_them(project: Path) -> None:
    put(project / ONE / "subagents" / "agent-a1.jsonl")
    listing = list_project(project)
    assert listing.session_folders == [ONE]
    assert listing.loose_agents == []


def test_a_family_holds_every_layout(project: Path) -> None:
    main = put(project / f"{ONE}.jsonl")
    folder = project / ONE
    nested = put(folder / "subagents" / "agent-a0123456789abcdef.jsonl")
    meta = put(folder / "subagents" / "agent-a0123456789abcdef.meta.json")
    compact = put(folder / "subagents" / "agent-acompact-123abc.jsonl")
    flow = put(folder / "subagents" / "workflows" / "wf_1" / "agent-b1.jsonl")
    flow_meta = put(folder / "subagents" / "workflows" / "wf_1" / "agent-b1.meta.json")
    result = put(folder / "tool-results" / "toolu_1.txt")
    title = put(folder / "custom-title.json")
    orphan = put(folder / "subagents" / "agent-gone.meta.json")
    journal = put(folder / "subagents" / "workflows" / "wf_1" / "journal.jsonl")
    history = project.parent.parent / "file-history" / ONE
    put(history / "0123456789abcdef@v1")
    beside = AgentFile(put(project / "agent-old.jsonl"), "old", AgentLayout.BESIDE)

    family = find_family(project, ONE, loose_agents=[beside])

    assert (family.session_id, family.path, family.folder) == (ONE, main, folder)
    assert family.agents == (
        AgentFile(nested, "a0123456789abcdef", AgentLayout.NESTED, meta),
        AgentFile(compact, "acompact-123abc", AgentLayout.NESTED),
        AgentFile(flow, "b1", AgentLayout.WORKFLOW, flow_meta),
        beside,
    )
    assert family.tool_results == (result,)
    assert family.file_history == history
    assert set(family.others) == {title, orphan, journal}
    assert family.findings == ()


def test_the_same_agent_in_two_workflows_keeps_its_own_meta(project: Path) -> None:
    runs = project / ONE / "subagents" / "workflows"
    first = put(runs / "wf_1" / "agent-a.jsonl")
    second = put(runs / "wf_2" / "agent-a.jsonl")
    meta = put(runs / "wf_2" / "agent-a.meta.json")
    assert find_family(project, ONE).agents == (
        AgentFile(first, "a", AgentLayout.WORKFLOW),
        AgentFile(second, "a", AgentLayout.WORKFLOW, meta),
    )


def test_a_family_may_be_a_file_alone(project: Path) -> None:
    main = put(project / f"{ONE}.jsonl")
    put(project / TWO / "subagents" / "agent-of-another.jsonl")
    family = find_family(project, ONE)
    assert (family.path, family.folder, family.agents, family.file_history) == (main, None, (), None)


def test_a_family_may_be_a_folder_alone(project: Path) -> None:
    put(project / ONE / "tool-results" / "b1.txt")
    family = find_family(project, ONE)
    assert (family.path, family.folder) == (None, project / ONE)


def test_a_session_of_which_nothing_is_left_is_an_empty_family(project: Path) -> None:
    family = find_family(project, ONE)
    assert (family.path, family.folder, family.others, family.findings) == (None, None, (), ())


def test_a_file_called_tool_results_is_no_tool_result(project: Path) -> None:
    odd = put(project / ONE / "tool-results")
    assert find_family(project, ONE).tool_results == ()
    assert find_family(project, ONE).others == (odd,)


def test_a_linked_session_is_listed_with_a_finding(project: Path, tmp_path: Path) -> None:
    target = put(tmp_path / "elsewhere.jsonl", b"1234567\n")
    (project / f"{ONE}.jsonl").symlink_to(target)
    listing = list_project(project)
    assert [(session.session_id, session.size) for session in listing.sessions] == [(ONE, 8)]
    assert codes(listing.findings) == [("linked-file", f"{ONE}.jsonl")]


def test_what_is_no_file_is_a_finding_and_no_session(project: Path) -> None:
    (project / "folder.jsonl").mkdir()
    (project / "broken.jsonl").symlink_to("nowhere")
    (project / "loop.jsonl").symlink_to("loop.jsonl")
    os.mkfifo(project / "pipe.jsonl")
    (project / TWO).symlink_to("nowhere")
    put(project / ".steno-0123456789abcdef.tmp")
    put(project / f"{ONE}.jsonl")
    listing = list_project(project)
    assert [session.session_id for session in listing.sessions] == [ONE]
    assert codes(listing.findings) == [
        ("broken-link", TWO),
        ("broken-link", "broken.jsonl"),
        ("broken-link", "loop.jsonl"),
        ("left-unfinished", ".steno-0123456789abcdef.tmp"),
        ("not-a-file", "folder.jsonl"),
        ("not-a-file", "pipe.jsonl"),
    ]


def test_names_that_are_not_utf8_are_findings(project: Path) -> None:
    try:
        put(project / "\udcff.jsonl")  # the byte FF, in Python's spelling
        (project.parent / "\udcff-folder").mkdir()
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    listing = list_project(project)
    assert [(session.session_id, session.named_by_uuid) for session in listing.sessions] == [("\udcff", False)]
    assert codes(listing.findings) == [("name-not-utf8", "\udcff.jsonl")]
    folders, findings = list_projects(project.parent)
    assert sorted(folder.name for folder in folders) == ["-home-user-proj", "\udcff-folder"]
    assert codes(findings) == [("name-not-utf8", "\udcff-folder")]


def test_links_inside_a_session_folder_never_lead_round_in_circles(project: Path) -> None:
    put(project / ONE / "subagents" / "agent-a.jsonl")
    (project / ONE / "subagents" / "workflows").symlink_to(project / ONE)
    family = find_family(project, ONE)
    assert [agent.agent_id for agent in family.agents] == ["a"]
    assert codes(family.findings) == [("linked-folder", "workflows")]


def test_a_session_folder_that_cannot_be_read_is_a_finding(open_folder: Path, unprivileged: Unprivileged) -> None:
    put(open_folder / f"{ONE}.jsonl")
    put(open_folder / ONE / "subagents" / "agent-a.jsonl")
    (open_folder / ONE / "subagents").chmod(0)
    with unprivileged():
        family = find_family(open_folder, ONE)
    assert family.path == open_folder / f"{ONE}.jsonl"
    assert family.agents == ()
    assert codes(family.findings) == [("unreadable-folder", "subagents")]


def test_a_project_that_cannot_be_read_is_refused_in_one_line(open_folder: Path, unprivileged: Unprivileged) -> None:
    closed = open_folder / "closed"
    closed.mkdir(mode=0)
    with unprivileged(), pytest.raises(UnreadableError, match="Permission denied") as caught:
        list_project(closed)
    assert caught.value.path == closed


def test_a_missing_project_is_refused_and_a_missing_projects_folder_is_empty(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError):
        list_project(tmp_path / "missing")
    assert list_projects(tmp_path / "missing") == ([], [])


def test_projects_are_folders_and_links_to_folders(project: Path) -> None:
    put(project.parent / "a-file")
    (project.parent / "broken").symlink_to("nowhere")
    (project.parent / "linked").symlink_to(project)
    folders, findings = list_projects(project.parent)
    assert sorted(folder.name for folder in folders) == ["-home-user-proj", "linked"]
    assert codes(findings) == [("broken-link", "broken")]


def test_files_and_ids_are_told_by_their_form() -> None:
    assert is_agent_file(Path("x/agent-1.jsonl"))
    assert not is_agent_file(Path("x/agent-1.meta.json"))
    assert not is_agent_file(Path(f"x/{ONE}.jsonl"))
    assert is_session_id(ONE)
    assert is_session_id(TWO.upper())
    assert not is_session_id(ONE + "\n")
    assert not is_session_id("short")


def test_folders_nested_deeper_than_python_recurses_are_walked(tmp_path: Path) -> None:
    deepest = tmp_path / "subagents"
    deepest.mkdir()
    here = os.open(deepest, os.O_RDONLY)
    for _ in range(1500):  # by descriptor: the path grows longer than a path may be
        os.mkdir("a", dir_fd=here)
        below = os.open("a", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    try:
        assert not list_project(tmp_path).sessions
        assert not find_family(tmp_path, "0a5c1e00-0000-4000-8000-000000000001").agents
    finally:  # Python's own removal of folders recurses
        subprocess.run(["rm", "-rf", str(deepest)], check=True)


@pytest.mark.parametrize("name", ["src", "memory", ".", "..", f"{ONE}x"])
def test_only_a_session_named_by_a_uuid_has_folders(project: Path, name: str) -> None:
    put(project / "src" / "main.py")
    put(project / "memory" / "MEMORY.md")
    put(project / f"{ONE}x" / "notes")
    put(project.parent.parent / "file-history" / name / "0@v1")
    session = put(Path(f"{project}/{name}.jsonl"))
    family = find_family(project, name)
    assert (family.path, family.folder, family.file_history, family.others) == (session, None, None, ())


@pytest.mark.parametrize("inside", ["", "subagents", "tool-results", "notes"])
def test_a_link_to_a_folder_is_not_the_familys(project: Path, tmp_path: Path, inside: str) -> None:
    put(project / f"{ONE}.jsonl")
    put(tmp_path / "elsewhere" / "agent-a.jsonl")
    link = project / ONE / inside if inside else project / ONE
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path / "elsewhere")
    family = find_family(project, ONE)
    assert (family.agents, family.tool_results, family.others) == ((), (), ())
    assert codes(family.findings) == [("linked-folder", link.name)]


def test_a_link_to_file_history_is_not_the_familys(project: Path, tmp_path: Path) -> None:
    put(project / f"{ONE}.jsonl")
    put(tmp_path / "elsewhere" / "thesis.tex")
    histories = project.parent.parent / "file-history"
    histories.mkdir()
    (histories / ONE).symlink_to(tmp_path / "elsewhere")
    family = find_family(project, ONE)
    assert family.file_history is None
    assert codes(family.findings) == [("linked-folder", ONE)]


def test_links_named_like_sessions_and_agents_are_told_when_a_project_is_listed(project: Path, tmp_path: Path) -> None:
    put(tmp_path / "elsewhere" / "agent-a.jsonl")
    (project / ONE).symlink_to(tmp_path / "elsewhere")
    (project / "subagents").symlink_to(tmp_path / "elsewhere")
    listing = list_project(project)
    assert (listing.session_folders, listing.loose_agents) == ([], [])
    assert codes(listing.findings) == [("linked-folder", ONE), ("linked-folder", "subagents")]
