"""A sentinel in every string of a session never appears in what `check` and `schema` print."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.check.sessions import recorded_lines, write
from tests.cli.running import run

SENTINELS = ["SENTINEL-7f3a91", "sentinelsecret", "Zq9 secret words", "Zm9v" * 40, "\x1b[2Jsentinel"]


def _strings_replaced(value: Any, sentinel: str, keep: Callable[[str], bool]) -> Any:
    if isinstance(value, str):
        return sentinel
    if isinstance(value, list):
        return [_strings_replaced(each, sentinel, keep) for each in value]
    if isinstance(value, dict):
        return {key: each if keep(key) else _strings_replaced(each, sentinel, keep) for key, each in value.items()}
    return value


@pytest.mark.spread(4)
@pytest.mark.parametrize("sentinel", SENTINELS)
@pytest.mark.parametrize(
    "kept", [(), ("version",), ("type", "subtype", "version"), ("type", "version", "uuid", "parentUuid", "id", "tool_use_id")]
)
def test_what_a_session_says_is_never_printed(sentinel: str, kept: tuple[str, ...], tmp_path: Path) -> None:
    lines = [_strings_replaced(line, sentinel, lambda key: key in kept) for line in recorded_lines()]
    path = write(tmp_path, lines)
    path.write_bytes(path.read_bytes() + json.dumps(sentinel).encode() + f'\n{{"torn {sentinel}'.encode())
    for options in (["--resume"], ["--json", "--resume"], ["--strict", "--json"]):
        done = run("check", path, *options)
        assert done.returncode in (0, 1)
        assert "damaged-line-not-an-object" in done.stdout
        for part in {sentinel, sentinel.strip("\x1b[2J")}:
            assert part not in done.stdout + done.stderr


@pytest.mark.parametrize("sentinel", ["SENTINEL-7f3a91", "a question to the user?", "/home/user/secret.txt", "Zm9v" * 20])
def test_keys_that_are_no_names_are_never_printed(sentinel: str, tmp_path: Path) -> None:
    lines = recorded_lines()
    for line in lines:
        line[sentinel] = {sentinel: [sentinel]}
    done = run("check", write(tmp_path, lines), "--json")
    assert "NEW_FIELD" in done.stdout
    assert sentinel not in done.stdout + done.stderr


def test_a_baseline_holds_nothing_that_was_said(tmp_path: Path) -> None:
    lines = [_strings_replaced(line, "SENTINEL-7f3a91", lambda key: key == "version") for line in recorded_lines()]
    done = run("check", write(tmp_path, lines), "--write-baseline", tmp_path / "known.json")
    assert done.returncode == 0
    assert json.loads((tmp_path / "known.json").read_text(encoding="utf-8"))["accepted"]
    assert "SENTINEL" not in (tmp_path / "known.json").read_text(encoding="utf-8")
