"""`steno check` and `steno schema`, as a user runs them."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from pathlib import Path

import jsonschema
import pytest
from tests.check.sessions import SESSION, changed, first, recorded_lines, write
from tests.cli.running import assert_one_clear_line, run, run_in_terminal, run_unprivileged
from tests.corpora import FIXTURES

from stenograph.drift import load_registry
from stenograph.testing.lines import tool_use

#: Forty messages, parallel calls and their results, as 2.0.76 wrote them.
WHOLE = next((FIXTURES / "recorded" / "2.0.76" / "print").glob("*/44e51aa6-*.jsonl"))


def test_a_clean_session_is_called_clean_and_told_whole_for_every_client() -> None:
    done = run("check", WHOLE, "--strict")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Nothing found.\n")
    assert done.stdout.count(" whole ") == 3


def test_findings_are_told_with_place_and_meaning_and_strict_ends_with_one(tmp_path: Path) -> None:
    path = write(tmp_path, changed(lambda lines: first(lines, "user").update(brandNew=1)))
    path.write_bytes(path.read_bytes()[:-1])
    done = run("check", path, "--strict")
    assert done.returncode == 1
    assert "NEW_FIELD  record:user brandNew" in done.stdout
    assert "1 time, in 2.1.325; never recorded" in done.stdout
    assert "missing-final-newline  1 time in 1 file" in done.stdout
    assert run("check", path).returncode == 0


def test_the_json_has_all_of_it(tmp_path: Path) -> None:
    path = write(tmp_path, changed(lambda lines: first(lines, "user").update(timestamp=1)))
    found = json.loads(run("check", path, "--json", "--resume").stdout)
    assert (found["files"], found["recorded"]) == (1, load_registry().recorded)
    [drift] = [each for each in found["drift"] if each["code"] == "TYPE_MISMATCH"]
    assert (drift["shape"], drift["field"], drift["met"], drift["known_types"]) == (
        "record:user",
        "timestamp",
        "number",
        ["string"],
    )
    assert {each["release"] for each in found["resume"]} == {"2.0.76", "2.1.45", "2.1.325"}


def test_a_session_that_old_clients_lose_is_told_in_numbers(tmp_path: Path) -> None:
    """All times equal: 2.0.76 and 2.1.45 resume the first message alone (rule 19), the newest all of them."""
    recorded = [json.loads(line) for line in WHOLE.read_text(encoding="utf-8").splitlines()]
    lines = [{**line, "timestamp": "2026-01-01T00:00:00.000Z"} if "timestamp" in line else line for line in recorded]
    found = json.loads(run("check", write(tmp_path, lines), "--json").stdout)
    whole = {each["release"]: each["whole"] for each in found["resume"]}
    assert whole == {"2.0.76": False, "2.1.45": False, "2.1.325": True}
    lost = {each["release"]: each["lost"]["messages"] for each in found["resume"]}
    said = {each["said"]["messages"] for each in found["resume"]}
    assert lost["2.0.76"] == said.pop() - 1


def test_the_hint_why_something_is_lost_can_be_pasted(tmp_path: Path) -> None:
    recorded = [json.loads(line) for line in WHOLE.read_text(encoding="utf-8").splitlines()]
    lines = [{**line, "timestamp": "2026-01-01T00:00:00.000Z"} if "timestamp" in line else line for line in recorded]
    home = tmp_path / "an empty home"
    home.mkdir()
    shown = run("check", write(tmp_path, lines), "--home", home).stdout
    [hint] = [line for line in shown.splitlines() if line.startswith("Why: ")]
    words = shlex.split(hint)
    words = words[words.index("--home") :]
    assert words[:2] == ["--home", str(home)]
    told = run(*words).stdout
    assert "\nrule 19: " in told


def test_a_home_begins_with_counts_and_shows_damage_before_drift_with_every_file(tmp_path: Path) -> None:
    """By hand: seven sessions without a result, twice in the first; twelve new fields in the last."""
    folder = tmp_path / "home" / "projects" / "-home-user-project"
    folder.mkdir(parents=True)
    uses = [tool_use(f"toolu_orphan{number}", "Bash", command="ls") for number in range(2)]
    for number in range(7):
        lines = recorded_lines()
        first(lines, "assistant")["message"]["content"] += uses if number == 0 else uses[:1]
        write(folder, lines, name=f"0000000{number}-0000-4000-8000-000000000000.jsonl")
    drifting = changed(lambda lines: first(lines, "user").update({f"brandNew{chr(97 + n)}": 1 for n in range(12)}))
    write(folder, drifting, name="00000007-0000-4000-8000-000000000000.jsonl")
    shown = run("check", "--home", tmp_path / "home").stdout.splitlines()
    assert shown[0] == "Damage in 7 files (8 findings); drift in 2.1.325 (12 findings)."
    assert shown[1].startswith("8 files, ")
    assert shown.index("Damage") < shown.index("Drift")
    listed = shown[shown.index("orphan-tool-use  8 times in 7 files") + 2 : shown.index("Drift") - 1]
    assert [line.split("/")[-1].split("-")[0] for line in listed[:-1]] == [f"0000000{number}" for number in range(5)]
    assert listed[0].endswith("  2 times")
    assert listed[-1].strip() == "and 2 more files: --explain lists them"
    [drift] = [line for line in shown if line.startswith("NEW_FIELD")]
    assert drift == "NEW_FIELD  record:user brandNewa, brandNewb, brandNewc, brandNewd and 8 more"
    page = json.loads(run("check", "--home", tmp_path / "home", "--json").stdout)
    [orphans] = page["damage"]
    assert [(place["path"][-42:-34], place["count"]) for place in orphans["places"]] == [
        (f"0000000{number}", 2 if number == 0 else 1) for number in range(7)
    ]
    assert page["summary"] == {
        "damaged_files": 7,
        "damage": 8,
        "drift": 12,
        "drifting_releases": ["2.1.325"],
        "unreadable": 0,
    }


def test_without_a_path_the_homes_are_checked(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "projects" / "-home-user-project"
    folder.mkdir(parents=True)
    write(folder, recorded_lines())
    done = run("check", "--home", tmp_path / "home", "--json")
    assert json.loads(done.stdout)["files"] == 1


@pytest.mark.parametrize("when", ["yesterday", "2026-13-01", "7", "7x", ""])
def test_a_time_that_is_none_is_refused_in_one_line(when: str) -> None:
    done = run("check", SESSION, f"--since={when}")
    if when:
        assert_one_clear_line(done)
    else:
        assert done.returncode == 0


@pytest.mark.parametrize("when", ["2026-01-31", "2026-01-31T10:00:00+00:00", "36h", "7d", "2w"])
def test_dates_and_ages_are_taken(when: str) -> None:
    assert run("check", SESSION, "--since", when).returncode == 0


def test_a_path_that_is_not_there_is_refused_in_one_line(tmp_path: Path) -> None:
    assert_one_clear_line(run("check", tmp_path / "none.jsonl"))
    (tmp_path / "empty").mkdir()
    assert_one_clear_line(run("check", tmp_path / "empty"))


def test_the_schema_of_a_release_is_shown_with_what_is_not_always_there() -> None:
    done = run("schema", "show", "2.1.325", "--kind", "record:user")
    rows = dict(line.split() for line in done.stdout.splitlines() if line.startswith("  "))
    assert rows["uuid"] == "string"
    assert "object" in rows["toolUseResult*"]
    assert run("schema", "show", "2.1.325", "--kind", "no such kind").returncode == 1


def test_a_release_that_was_not_recorded_is_told_by_the_nearest_older_one() -> None:
    done = run("schema", "show", "2.0.77", "--kind", "record:summary")
    assert done.stderr == "note: 2.0.77 was not recorded; showing 2.0.76\n"
    assert_one_clear_line(run("schema", "show", "newest"))


def test_what_changed_between_releases_is_told_by_sign() -> None:
    """By hand, from the recordings: 2.1.45 writes progress lines and permissionMode, 2.0.76 neither."""
    done = run("schema", "diff", "2.0.76", "2.1.45")
    assert "record:progress" in next(line for line in done.stdout.splitlines() if line.startswith("+ "))
    assert "+permissionMode" in next(line for line in done.stdout.splitlines() if line.startswith("record:user "))
    assert run("schema", "diff", "2.1.45", "2.1.45").stdout.endswith("no difference was recorded\n")
    found = json.loads(run("schema", "diff", "2.0.76", "2.1.45", "--json").stdout)
    assert "record:progress" in found["added"]


@pytest.mark.parametrize("release", ["2.0.76", "2.1.325"])
def test_recorded_lines_are_valid_by_the_exported_json_schema(release: str) -> None:
    schema = json.loads(run("schema", "export", release).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    lines = [
        json.loads(line)
        for path in sorted((FIXTURES / "recorded" / release / "print").rglob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert len(lines) > 50
    for line in lines:
        validator.validate(line)
    assert not validator.is_valid({"type": "user", "uuid": 5})
    assert not validator.is_valid({"type": "no-such-kind"})


def test_the_schema_as_a_page_names_every_kind() -> None:
    page = run("schema", "export", "--format", "markdown").stdout
    for name in load_registry().shapes:
        assert f"### {name}\n" in page


def test_a_terminal_gets_lines_that_fit(tmp_path: Path) -> None:
    path = write(tmp_path, changed(lambda lines: first(lines, "user").update({f"brandNew{chr(97 + n)}": 1 for n in range(20)})))
    shown = run_in_terminal("check", path, columns=60, environment={"NO_COLOR": "1"})
    samples = [line for line in shown.splitlines() if line.startswith("      {")]
    assert samples
    assert all(len(line) <= 60 for line in samples)


def test_only_a_terminal_gets_titles(tmp_path: Path) -> None:
    title = {"type": "custom-title", "customTitle": "Parser rewrite", "sessionId": WHOLE.stem}
    path = tmp_path / WHOLE.name
    path.write_bytes(WHOLE.read_bytes() + json.dumps(title).encode())
    shown = run_in_terminal("check", path, columns=80, environment={"NO_COLOR": "1"})
    assert f"✗ {WHOLE.stem[:8]}  Parser rewrite" in shown
    for done in (run("check", path), run("check", path, "--json")):
        assert "missing-final-newline" in done.stdout
        assert "Parser" not in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs the permissions of POSIX systems")
def test_a_named_file_that_cannot_be_read_is_a_failure_beside_others() -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        closed, open_ = Path(name) / "closed.jsonl", Path(name) / "open.jsonl"
        for path in (closed, open_):
            path.write_bytes(SESSION.read_bytes())
        closed.chmod(0o000)
        done = run_unprivileged("check", Path(name), "--no-resume")
        assert done.returncode == 0
        assert "closed.jsonl" in done.stderr
        assert run_unprivileged("check", closed, open_, "--no-resume").returncode == 2
        folder = Path(name) / "folder"
        folder.mkdir(mode=0o000)
        done = run_unprivileged("check", folder, open_, "--no-resume")
        assert done.returncode == 2
        assert str(folder) in done.stderr
