"""`steno edit`, as a user runs it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.archive.families import contents
from tests.cli.running import assert_one_clear_line, run, run_in_terminal
from tests.corpora import FIXTURES, RICH
from tests.homes import LONG_AGO, session_id, write_session
from tests.surgery.conversations import called, linked, turn

from stenograph.demo import demo_home, unpack_demo

#: Forty messages, parallel calls and their results, three turns, as 2.0.76 wrote them.


@pytest.fixture
def session(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "projects" / "-home-user-project"
    folder.mkdir(parents=True)
    return Path(shutil.copy(RICH, folder))


def _uses(path: Path) -> int:
    return path.read_text(encoding="utf-8").count('"type":"tool_use"')


def test_without_apply_nothing_is_written(session: Path, tmp_path: Path) -> None:
    done = run("edit", session, "--drop-tool-calls", "--tool", "Bash")
    assert done.returncode == 0
    assert "nothing was written: use --apply" in done.stdout
    assert "messages sent by 2.0.76" in done.stdout
    assert "tokens in context" in done.stdout
    assert session.read_bytes() == RICH.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_an_edit_is_applied_and_undone(session: Path) -> None:
    done = run("edit", session, "--drop-tool-calls", "--tool", "Bash", "--apply", "--json")
    found = json.loads(done.stdout)
    assert found["edits"][0]["counts"] == {"tool calls": 5}
    assert found["entry"] == 1
    assert session.read_bytes() != RICH.read_bytes()
    assert run("undo", "--apply", session).returncode == 0
    assert session.read_bytes() == RICH.read_bytes()


def test_an_edit_leaves_the_time_of_change(session: Path) -> None:
    os.utime(session, (LONG_AGO, LONG_AGO))
    assert run("edit", session, "--drop-tool-calls", "--apply").returncode == 0
    assert session.stat().st_mtime == LONG_AGO


def test_the_same_edit_again_finds_nothing_to_do(session: Path) -> None:
    assert run("edit", session, "--truncate-results", "100", "--apply").returncode == 0
    done = run("edit", session, "--truncate-results", "100", "--apply")
    assert "nothing to do" in done.stdout
    assert "no changes" in done.stdout


def test_pruned_turns_leave_the_file(session: Path) -> None:
    assert run("edit", session, "--drop-turns", "--keep-last", "1", "--prune", "--apply").returncode == 0
    assert _uses(session) == 1


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--drop-turns"],
        ["--drop-images", "--turns", "x"],
        ["--compress"],
        ["--compress", "--turns", "2"],
        ["--drop-images", "--before", "yesterday"],
        ["--drop-images", "--before", "2026-01-01", "--older-than", "7d"],
    ],
)
def test_wrong_use_is_told_in_one_line(options: list[str], session: Path) -> None:
    assert_one_clear_line(run("edit", session, *options))


def test_a_session_that_somebody_writes_is_not_touched(session: Path) -> None:
    with session.open("ab"):
        session.touch()
        done = run("edit", session, "--drop-tool-calls", "--apply")
    assert_one_clear_line(done, 3)
    assert session.read_bytes() == RICH.read_bytes()


def test_a_dry_run_says_that_the_session_is_in_use(session: Path) -> None:
    assert run("edit", session, "--drop-tool-calls").stderr == ""
    assert json.loads(run("edit", session, "--drop-tool-calls", "--json").stdout)["in_use"] is False
    with session.open("ab"):
        done = run("edit", session, "--drop-tool-calls")
        told = json.loads(run("edit", session, "--drop-tool-calls", "--json").stdout)
    assert done.returncode == 0
    assert "nothing was written" in done.stdout
    assert done.stderr.startswith("warning: --apply would be refused now\n")
    assert f"{session} is in use" in done.stderr
    assert told["in_use"] is True


def test_the_hint_how_to_undo_names_the_home_and_can_be_pasted(session: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = run("edit", "44e51aa6", "--home", home, "--drop-turns", "--turns", "1", "--apply")
    hint = next(line for line in done.stdout.splitlines() if line.startswith("Undo: "))
    words = shlex.split(hint)
    words = words[words.index("--home") :]
    assert words == ["--home", str(home), "undo", "--entry", "1"]
    assert session.read_bytes() != RICH.read_bytes()
    assert run(*words, "--apply").returncode == 0
    assert session.read_bytes() == RICH.read_bytes()


def _results(path: Path) -> list[tuple[str, int]]:
    """The tools that were called in a file, each with how long its result is."""
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    contents = [line["message"]["content"] for line in lines if isinstance(line.get("message", {}).get("content"), list)]
    blocks = [block for content in contents for block in content]
    length = {block["tool_use_id"]: len(block["content"]) for block in blocks if block["type"] == "tool_result"}
    return [(block["name"], length[block["id"]]) for block in blocks if block["type"] == "tool_use"]


def test_a_preview_lists_the_calls_that_would_go_with_their_sizes(session: Path) -> None:
    bash = [length for name, length in _results(RICH) if name == "Bash"]
    assert len(bash) == 5
    done = run("edit", session, "--drop-tool-calls", "--tool", "Bash", "--preview", "--json")
    calls = json.loads(done.stdout)["preview"]["calls"]
    assert [(call["before"], call["after"]) for call in calls] == [(length, None) for length in bash]
    # The script that was played has three commands in its first turn and one in each other.
    assert [call["turn"] for call in calls] == [1, 1, 1, 2, 3]
    shown = run("edit", session, "--drop-tool-calls", "--tool", "Bash", "--preview").stdout.splitlines()
    assert shown[0] == "tool calls, by characters of their results"
    assert [line.split() for line in shown[1:6]] == [
        ["turn", str(number), "Bash", f"{length:,}", "characters", "gone"]
        for number, length in zip([1, 1, 1, 2, 3], bash, strict=True)
    ]


def test_a_preview_lists_what_is_cut_and_what_else_goes(session: Path) -> None:
    done = run("edit", session, "--truncate-results", "1000", "--strip-thinking", "all", "--preview", "--json")
    found = json.loads(done.stdout)["preview"]
    longest = max(length for _, length in _results(RICH))
    note = f"\n[… {longest - 1000:,} characters cut …]\n"
    assert found["calls"] == [{"turn": 1, "tool": "Bash", "before": longest, "after": 1000 + len(note)}]
    assert found["blocks"] == [{"turn": 1, "kind": "thinking", "count": 2}]
    assert (found["turns"], found["digest"]) == ([], None)


SECRET = "ghp_" + "S3cretKey" * 4


@pytest.fixture
def secretive(tmp_path: Path) -> Path:
    lines = linked(*turn(f"Use {SECRET} for it"), *turn("And the blue one?"), *turn("Go on"))
    return write_session(tmp_path / "home", session_id(1), lines)


def test_prompts_and_digest_are_shown_only_when_asked_for_and_masked(secretive: Path) -> None:
    compress = ("edit", secretive, "--compress", "--keep-last", "1")
    assert "blue one" not in run(*compress).stdout
    shown = run(*compress, "--preview")
    assert shown.stdout.splitlines()[:3] == [
        "compressed turns",
        *("  1  Use [github-token:1] for it", "  2  And the blue one?"),
    ]
    assert "\n> Use [github-token:1] for it\n" in shown.stdout
    assert "\n> And the blue one?\n" in shown.stdout
    assert SECRET not in shown.stdout + shown.stderr
    assert "1 secret masked" in shown.stderr
    assert f"\n> Use {SECRET} for it\n" in run(*compress, "--preview", "--reveal").stdout
    dropped = run("edit", secretive, "--drop-turns", "--turns", "2", "--preview").stdout
    assert dropped.splitlines()[:2] == ["dropped turns", "  2  And the blue one?"]
    told = json.loads(run(*compress, "--preview", "--json").stdout)["preview"]
    assert [turn["prompt"] for turn in told["turns"]] == ["Use [github-token:1] for it", "And the blue one?"]
    assert SECRET not in told["digest"]


def _copied(name: str, tmp_path: Path) -> Path:
    """A copy of a recorded session with all that stands beside it."""
    found = next(path for path in (FIXTURES / "recorded").rglob("*.jsonl") if path.name.startswith(name))
    folder = tmp_path / "home" / "projects" / "-home-user-project"
    shutil.copytree(found.parent, folder)
    return folder / found.name


def test_portable_shows_what_each_release_loses_before_and_after(tmp_path: Path) -> None:
    path = _copied("78343b70", tmp_path)
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    by_uuid = {line["uuid"]: line for line in lines if "uuid" in line}
    said = [line for line in by_uuid.values() if line["type"] in ("user", "assistant")]
    # Up from the newest line, as clients go that know nothing of parallel calls: they pass by a result, and leave out the call
    # that has none then.
    line: dict[str, Any] | None = max(said, key=lambda each: each["timestamp"])
    way = []
    while line is not None:
        way.append(line["uuid"])
        line = by_uuid.get(line["parentUuid"])
    passed_by = [line for line in said if line["uuid"] not in way]
    assert [line["message"]["content"][0]["type"] for line in passed_by] == ["tool_result"]
    shown = [line.split("  ") for line in run("edit", path, "--portable").stdout.splitlines() if line.startswith("lost by ")]
    assert [[cell.strip() for cell in line if cell.strip()] for line in shown] == [
        ["lost by 2.0.76", "2 lines, 1 tool call", "nothing"],
        ["lost by 2.1.45", "2 lines, 1 tool call", "nothing"],
        ["lost by 2.1.325", "nothing", "nothing"],
    ]
    told = json.loads(run("edit", path, "--portable", "--json").stdout)["losses"][0]
    assert told["before"] == {"messages": 2, "tool_calls": 1, "thinking": 0}
    assert told["after"] == {"messages": 0, "tool_calls": 0, "thinking": 0}
    assert "lost by" not in run("edit", path, "--strip-thinking", "all").stdout


def test_sub_agents_are_chosen_by_id_or_type(tmp_path: Path) -> None:
    path = _copied("28aeaa04", tmp_path)
    agents = sorted(path.with_suffix("").glob("subagents/agent-*.jsonl"))
    one = agents[0].stem.removeprefix("agent-")
    assert len(agents) == 2

    def taken_away(*options: str) -> list[Path]:
        told = json.loads(run("edit", path, "--drop-agents", *options, "--json").stdout)
        return [Path(each["path"]) for each in told["deleted_files"] if each["path"].endswith(".jsonl")]

    assert taken_away() == taken_away("--agent", "general-purpose") == agents
    assert taken_away("--agent", one) == taken_away("--agent", one[:5]) == agents[:1]
    unknown = run("edit", path, "--drop-agents", "--agent", "Explore")
    assert_one_clear_line(unknown)
    assert one in unknown.stderr
    calls = json.loads(run("edit", path, "--drop-tool-calls", "--agent", one, "--json").stdout)
    assert calls["edits"][0]["counts"] == {"tool calls": 1}


def test_warm_ups_that_no_call_started_are_dropped_with_the_other_agents(tmp_path: Path) -> None:
    path = _copied("44e51aa6", tmp_path)
    assert run("edit", path, "--drop-agents", "--apply").returncode == 0
    assert not (path.parent / "agent-a0eab23.jsonl").exists()
    assert path.read_bytes() == RICH.read_bytes()


def test_lines_of_agents_in_the_sessions_own_file_are_dropped_agent_by_agent(tmp_path: Path) -> None:
    path = _copied("7baf5be8", tmp_path)
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    inline = [line for line in lines if line.get("isSidechain")]
    roots = [number for number, line in enumerate(lines, 1) if line.get("isSidechain") and line["parentUuid"] is None]
    assert len(roots) == 2
    removed = [
        json.loads(run("edit", path, "--drop-agents", "--agent", f"line-{number}", "--json").stdout)["deleted"]
        for number in roots
    ]
    assert min(removed) > 0
    assert sum(removed) == len(inline)


def test_turns_behind_a_compaction_are_said_to_be_sent_by_nobody(tmp_path: Path) -> None:
    path = _copied("2d2af36d", tmp_path)  # two prompts, then /compact
    before = path.read_bytes()
    done = run("edit", path, "--drop-turns", "--turns", "1-2", "--apply")
    assert done.stdout.splitlines() == [
        "drop turns  nothing to do; turns 1 to 2 are before a compaction, so no client sends them",
        "no changes",
    ]
    assert path.read_bytes() == before
    assert "turn 2 is before a compaction" in run("edit", path, "--drop-turns", "--turns", "2").stdout
    assert "turns 1 to 2 are before a compaction" in run("edit", path, "--compress", "--turns", "1-2").stdout
    pruned = json.loads(run("edit", path, "--drop-turns", "--turns", "1-2", "--prune", "--json").stdout)
    assert pruned["deleted"] > 0
    assert [each["messages"]["before"] == each["messages"]["after"] for each in pruned["releases"]] == [True] * 3


@pytest.mark.parametrize(
    ("length", "limit", "left"),
    [
        (50, 5, "aaa\n[… 45 characters cut …]\naa"),
        (50, 0, "\n[… 50 characters cut …]\n"),
        (26, 5, None),  # five characters and the note are more than that
        (140, 100, None),
    ],
)
def test_results_are_cut_to_hardly_more_than_the_note_or_it_is_said_why_not(
    length: int, limit: int, left: str | None, tmp_path: Path
) -> None:
    lines = linked(*turn("Look", called("Read", {"file_path": "/p"}, "a" * length)), *turn("Go on"))
    path = write_session(tmp_path / "home", session_id(1), lines)
    done = run("edit", path, "--truncate-results", str(limit), "--apply")
    content = json.loads(path.read_bytes().splitlines()[2])["message"]["content"][0]["content"]
    if left is None:
        assert content == "a" * length
        assert f"nothing to do; 1 result is longer than {limit} characters, but truncating would save less" in done.stdout
    else:
        assert content == left
        assert "no changes" in run("edit", path, "--truncate-results", str(limit), "--apply").stdout
    assert f"no result is longer than {length} characters" in run("edit", path, "--truncate-results", str(length)).stdout


def test_a_choice_among_calls_does_not_say_which_turns(session: Path) -> None:
    done = run("edit", session, "--drop-turns", "--tool", "Bash")
    assert_one_clear_line(done)
    assert "--drop-turns needs a selector" in done.stderr


@pytest.mark.parametrize("command", [("edit", "--truncate-results", "10"), ("rm",), ("clone", "--dry-run")])
def test_the_demo_can_be_looked_at_but_not_changed(command: tuple[str, ...]) -> None:
    name, *options = command
    demo = unpack_demo(demo_home(os.environ))
    before = contents(demo)
    done = run(name, "last", "--demo", *options)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].endswith("the demo is read-only; get a copy: python -m stenograph demo --copy DIR")
    doing = [option for option in options if option != "--dry-run"] + (["--apply"] if name != "clone" else [])
    refused = run(name, "last", "--demo", *doing)
    assert_one_clear_line(refused)
    assert (
        refused.stderr
        == "error: the demo is read-only\ntry: python -m stenograph demo --copy DIR, then this command with --home DIR\n"
    )
    assert contents(demo) == before


def test_files_of_agents_that_go_are_all_counted_with_their_sizes(tmp_path: Path) -> None:
    path = _copied("051aa553", tmp_path)
    files = sorted(path.with_suffix("").glob("subagents/agent-*"))
    sizes = [file.stat().st_size for file in files]
    assert len(files) == 4
    assert [file.suffix for file in files] == [".jsonl", ".json"] * 2
    shown = run("edit", path, "--drop-agents", environment={"HOME": str(tmp_path)}).stdout
    assert "drop subagents  4 files\n" in shown
    assert f"deletes 4 files ({sum(sizes) / 1000:.0f} kB):" in shown
    assert f"  ~/home/projects/-home-user-project/{files[0].relative_to(path.parent)}\n" in shown
    told = json.loads(run("edit", path, "--drop-agents", "--json").stdout)
    assert told["deleted_files"] == [{"path": str(file), "size": size} for file, size in zip(files, sizes, strict=True)]
    assert told["edits"][0]["counts"]["files"] == 4


def test_what_a_check_will_find_without_the_agents_is_said_before(tmp_path: Path) -> None:
    path = _copied("051aa553", tmp_path)
    assert "missing-agent-file" not in run("check", path).stdout
    assert "missing-agent-file" in run("edit", path, "--drop-agents", "--apply").stdout
    assert "missing-agent-file" in run("check", path).stdout
    warm_up = _copied("44e51aa6", tmp_path / "other")
    assert "missing-agent-file" not in run("edit", warm_up, "--drop-agents", "--apply").stdout
    assert "missing-agent-file" not in run("check", warm_up).stdout


def test_a_session_in_use_is_not_said_to_need_only_apply(session: Path) -> None:
    with session.open("ab"):
        dry = run("edit", session, "--drop-tool-calls")
        done = run("edit", session, "--drop-tool-calls", "--apply", "--json")
    assert "use --apply" not in dry.stdout
    assert "nothing was written: the session is in use" in dry.stdout
    told = json.loads(done.stdout)
    assert (done.returncode, told["in_use"], told["entry"]) == (3, True, None)
    assert_one_clear_line(done, 3)
    assert session.read_bytes() == RICH.read_bytes()


def test_portable_says_why_as_many_messages_can_hold_more(tmp_path: Path) -> None:
    path = _copied("13e5ec2e", tmp_path)
    told = json.loads(run("edit", path, "--portable", "--json").stdout)
    assert told["releases"][0]["messages"] == {"before": 32, "after": 32}
    assert [told["losses"][0][side]["tool_calls"] for side in ("before", "after")] == [2, 0]
    shown = run("edit", path, "--portable").stdout
    assert "2.0.76 and 2.1.45 will send more content in the same number of messages" in shown
    # The newest client loses nothing before, so nothing gets cheaper.
    assert "2.1.325 sends the same messages" in shown
    assert "less" not in shown


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--drop-turns", "--turns", "2", "--tool", "Bash"], "--tool selects tool calls"),
        (["--drop-turns", "--turns", "2", "--drop-tool-calls", "--tool", "Bash"], "has no effect on: drop turns"),
        (["--drop-images", "--larger-than", "0"], "--larger-than selects tool calls"),
        (["--drop-bookkeeping", "--keep-last", "0"], "--keep-last selects turns"),
        (["--drop-images", "--keep-tool-calls"], "requires --compress"),
        (["--drop-images", "--reveal"], "requires --preview"),
        (["--drop-images", "--turns", "3-2"], "turns 3-2 are reversed"),
        (["--drop-images", "--turns", "0"], "no turn 0; this session has 3 turns"),
        (["--drop-images", "--turns", "2,9"], "no turn 9; this session has 3 turns"),
        (["--compress"], "--keep-last 1"),
        (["--drop-tool-calls", "--tool", "bash"], 'did you mean "Bash"?'),
    ],
)
def test_what_can_not_be_meant_is_refused_with_the_part_that_is_wrong(options: list[str], said: str, session: Path) -> None:
    done = run("edit", session, *options)
    assert_one_clear_line(done)
    assert said in done.stderr


def test_choices_among_calls_may_stand_beside_edits_of_whole_files(session: Path) -> None:
    done = run("edit", session, "--drop-tool-calls", "--tool", "Bash", "--drop-bookkeeping", "--json")
    assert [edit["edit"] for edit in json.loads(done.stdout)["edits"]] == ["drop-tool-calls", "drop-bookkeeping"]


def test_the_beginning_of_an_agents_id_needs_four_characters(tmp_path: Path) -> None:
    done = run("edit", _copied("051aa553", tmp_path), "--drop-agents", "--agent", "aac")
    assert_one_clear_line(done)
    assert "at least 4 characters" in done.stderr


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--drop-turns", "--keep-last", "10"], "this session has 3 turns, and the last 10 are kept"),
        (["--compress", "--keep-last", "10"], "this session has 3 turns, and the last 10 are kept"),
        (["--drop-turns", "--before", "2020-01-01"], "no turn started before that time"),
        (["--drop-agents", "--turns", "1"], "no selected tool call started a subagent"),
        (["--strip-thinking", "refused"], "all of its thinking is signed"),
        (["--strip-thinking", "all", "--turns", "2"], "no thinking"),
        (["--drop-branches"], "there are no abandoned branches"),
        (["--drop-tool-calls", "--larger-than", "1000000"], "no such call"),
    ],
)
def test_an_edit_that_finds_nothing_to_do_says_why(options: list[str], why: str, tmp_path: Path) -> None:
    path = _copied("44e51aa6", tmp_path)  # with a warm-up agent beside it, which no call started
    done = run("edit", path, *options)
    assert done.returncode == 0
    assert f"  nothing to do; {why}" in done.stdout


def test_a_preview_lists_an_image_that_goes_once(tmp_path: Path) -> None:
    path = _copied("13e5ec2e", tmp_path)
    results = [
        block["content"]
        for line in map(json.loads, path.read_bytes().splitlines())
        if line["type"] == "user" and isinstance(line["message"]["content"], list)
        for block in line["message"]["content"]
        if block["type"] == "tool_result" and isinstance(block["content"], list)
    ]
    assert [[block["type"] for block in content] for content in results].count(["image"]) == 1
    found = json.loads(run("edit", path, "--drop-images", "--preview", "--json").stdout)["preview"]
    assert found["calls"] == []
    assert [(blocks["kind"], blocks["count"]) for blocks in found["blocks"]] == [("images", 1)]


def test_compression_says_what_its_numbers_are_and_why_the_file_grows(tmp_path: Path) -> None:
    path = _copied("13e5ec2e", tmp_path)
    compress = ("edit", path, "--compress", "--keep-last", "1")
    digest = json.loads(run(*compress, "--preview", "--json").stdout)["preview"]["digest"]
    shown = run(*compress).stdout
    assert f"compress turns  2 turns replaced by a digest of {len(digest):,} characters\n" in shown
    assert "the file grows by 5" in shown
    assert "the compressed turns stay in it" in shown
    assert "saves about $0.00" in shown
    assert "less than a cent" not in shown


def test_what_an_edit_says_fits_a_narrow_terminal(session: Path) -> None:
    shown = run_in_terminal("edit", session, "--compress", "--keep-last", "1", "--no-color", "--dry-run", columns=60)
    assert max(map(len, shown.splitlines())) <= 60
    assert "--prune deletes them" in " ".join(shown.split())
