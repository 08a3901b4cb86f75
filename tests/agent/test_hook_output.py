"""A hook that prints without end, or does not read: bounded in memory, and its answer still counts."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from stenograph.agent.hooks import running
from stenograph.agent.hooks.running import HookRun, run_hook
from stenograph.client_settings import HookCommand, Scope


def _run(command: str, cwd: Path, *, timeout: float = 60, given: bytes = b"{}\n") -> HookRun:
    hook = HookCommand("PreToolUse", "", command, timeout, Scope.USER)
    return asyncio.run(run_hook(hook, given, cwd=cwd, environ={"PATH": os.environ["PATH"]}))


def test_only_the_beginning_of_what_a_hook_prints_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_MOST_OUTPUT", 1_000)
    run = _run("yes x | head -c 3000000; echo no >&2; exit 2", tmp_path)
    assert (run.exit_code, run.stdout, run.stderr) == (2, "x\n" * 500, "no\n")


def test_a_hook_that_prints_without_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_MOST_OUTPUT", 1_000)
    assert _run("yes", tmp_path, timeout=0.5).has_timed_out


def test_a_hook_that_does_not_read_its_input_still_answers(tmp_path: Path) -> None:
    run = _run('echo \'{"decision": "block"}\'', tmp_path, given=b"x" * 3_000_000)
    assert (run.exit_code, run.answer) == (0, {"decision": "block"})
