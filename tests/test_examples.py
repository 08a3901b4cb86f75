"""Every command line that the README, the pages of docs/ and the help show is run, in a home that has what they name.

Those that need a model, a browser or a client are only parsed: an option that does not exist fails.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from tests.corpora import DEMO, ROOT
from tests.homes import assistant, user, write_session

from stenograph.cli import _run
from stenograph.testing.lines import text, tool_result, tool_use

#: As the examples call it; the newest session of the home.
NAMED = "3f2a0000-0000-4000-8000-000000000000"
#: What ends with 1 because there is nothing to find, or because something was found.
MAY_END_WITH_ONE = ("--strict", "undo", "--list failed", "trace sweep", "archive keep 3f2a")
#: What waits for somebody, or speaks to a server.
ONLY_PARSED = (
    "archive install --timer",
    "export .*--follow",
    "clone .*--resume",
    "agent",
    "web",
    "resume",
    "tail",
    "trace test",
    "trace backfill",
    "trace sweep",
    "trace hook",
    "trace status",
    "waste 2",
)
_BLOCK = re.compile(r"^```(?:sh|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def _examples() -> list[str]:
    found: dict[str, None] = {}
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        shown = page.read_text(encoding="utf-8")
        lines = [line for block in _BLOCK.findall(shown) for line in block.splitlines()]
        if page.name == "commands.md":
            lines += re.findall(r"^ {2,6}((?:[\w ]+\| )?steno(?: .*)?)$", shown, re.MULTILINE)
        for line in lines:
            command = re.sub(r"\s+#.*", "", line.strip().removeprefix("$ "))
            if re.match(r"(?:[\w ]+\| )?steno(?: |$)", command):
                found[command] = None
    return list(found)


EXAMPLES = _examples()


def _home(folder: Path) -> Path:
    """The demo, and a session with six turns, two branches, failed calls and the words that examples look for."""
    home = folder / ".claude"
    shutil.copytree(DEMO, home)
    records, parent = [], None
    stamp = "2026-11-15T10:{:02}:{:02}.000Z"
    for number in range(6):
        prompt, call, result, answer = (f"{number}{part}000000-0000-4000-8000-000000000000" for part in ("a", "b", "c", "d"))
        answer = "9b1c0000-0000-4000-8000-000000000000" if number == 3 else answer
        use = f"toolu_{number}"
        call_made = tool_use(use, "Bash", command="make")
        if number == 5:
            call_made = tool_use(use, "Read", file_path=str(folder / "notes.md"))
        shared = {"sessionId": NAMED, "version": "2.1.325", "gitBranch": "main", "cwd": str(folder)}
        records += [
            user(f"{number}: why not drop redis at the checkout?", uuid=prompt, parentUuid=parent, **shared),
            assistant(call_made, uuid=call, parentUuid=prompt, **shared),
            user(
                [tool_result(use, "connection refused TODO(me)" * 200, is_error=number != 5)],
                uuid=result,
                parentUuid=call,
                **shared,
            ),
            assistant(text("Done."), uuid=answer, parentUuid=result, **shared),
        ]
        for offset, record in enumerate(records[-4:]):
            record["timestamp"] = stamp.format(number, offset)
            if record["type"] == "assistant":
                usage = {"input_tokens": 10, "output_tokens": 20}
                record["message"] |= {"id": f"msg_{number}_{offset}", "model": "claude-opus-5-5", "usage": usage}
        parent = answer
    branch = "ee000000-0000-4000-8000-000000000000"
    fork = records[3]["uuid"]
    records.insert(4, user("Another way", uuid=branch, parentUuid=fork, timestamp=stamp.format(0, 30), **shared))
    project = re.sub(r"[^0-9a-zA-Z]", "-", str(folder))
    write_session(home, NAMED, records, project=project, modified=1_900_000_000.0)
    return home


def _main(words: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "argv", ["steno", *words])
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with redirect_stdout(out), redirect_stderr(err):
        code = _run()
    return code, err.getvalue()


def test_there_are_examples_of_every_kind() -> None:
    assert len(EXAMPLES) > 90
    assert {"steno edit last --compress --keep-last 5 --apply", "steno check", "steno search drop redis"} <= set(EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = _home(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("config", "data", "state", "cache"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    _, _, example = example.rpartition("| ")
    example = example.replace("/tmp/", f"{tmp_path}/").replace("<id>", NAMED)
    if any(mark in example for mark in ("<", ">")):
        _run_in_a_shell(example, tmp_path)
        return
    words = [os.path.expanduser(word) for word in shlex.split(example)[1:]]  # noqa: PTH111 - as a shell does
    named = " ".join(words)
    if any(re.search(rf"(?:^|\s){each}(?:\s|$)", named) for each in ONLY_PARSED):
        assert _main([*(words if "--" not in words else words[: words.index("--")]), "--help"], monkeypatch)[0] == 0
        return
    if "--home" in named:
        shutil.copytree(home, tmp_path / "demo")
    for before in _before(named):
        assert _main(before, monkeypatch)[0] == 0
    if "restore 3f2a" in named:
        next(home.glob(f"projects/*/{NAMED}.jsonl")).unlink()
    if "--baseline" in named:
        assert _main(["check", str(home), "--write-baseline", "known.json"], monkeypatch)[0] == 0
    code, said = _main(words, monkeypatch)
    assert code in ((0, 1) if any(each in named for each in MAY_END_WITH_ONE) else (0,)), (named, said)


def _before(named: str) -> list[list[str]]:
    """What has to be there for an example to make sense."""
    if "restore" in named:
        return [["archive", "keep"]]
    if "--entry 7" in named:
        return [*([["clone", "3f2a"]] * 6), ["edit", "3f2a", "--drop-turns", "--turns", "1", "--apply"]]
    if "uninstall" in named:
        return [[*named.split()[:1], "install", "--apply"]]
    if named.startswith("--home") and "undo" in named:
        return [[*named.split()[:2], "edit", "4583", "--compress", "--keep-last", "1", "--apply"]]
    if named.startswith("undo"):
        return [["edit", "3f2a", "--drop-turns", "--turns", "1", "--apply"]]
    return []


def _run_in_a_shell(example: str, folder: Path) -> None:
    (folder / ".config" / "fish" / "completions").mkdir(parents=True)
    (folder / "event.json").write_text("{}")
    world = {**os.environ, "HOME": str(folder), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    example = re.sub(r"^steno", f"{shlex.quote(sys.executable)} -m stenograph", example)
    done = subprocess.run(["/bin/sh", "-c", example], env=world, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, (example, done.stderr)
