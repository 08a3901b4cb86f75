"""Secrets planted wherever a session can hold one, sent by worker and backfill, looked for at the receiver and on disk."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab.otlp_sink import OtlpSink
from tests.traces.test_worker import Clock, config_for, report
from tests.traces.tracing import timed, words_of, write, write_agent

from stenograph.config.traces import TraceConfig
from stenograph.testing.lines import assistant, text, tool_result, tool_use, user
from stenograph.traces.history import find_sessions, send_history
from stenograph.traces.state import TraceState
from stenograph.traces.worker import work

#: Known by their format, wherever they are.
FORMATS = ("ghp_" + "Zx81Qm" * 6, "sk-ant-api03-" + "aB3_x-9Q" * 11 + "AA", "AKIA" + "Z7QX4MB2" * 2)
#: Known only by the name beside them.
PASSWORD, API_KEY, TOKEN = "kT9vQ2mLx8WzAA1", "9f3cR7tYp1LmZ0wE", "h7Jq0PzXc2VbNm4T"
BASIC, VARIABLE, HEADER = "dXNlcjprVDl2UTJtTHg4V3o=", "Xw83kPq0ZmR5tLc1", "q8Wn2Rb6Xz0Kd4Lm"
NAMED = (PASSWORD, API_KEY, TOKEN, BASIC, VARIABLE, HEADER)
KEPT = "a-word-that-is-no-secret"


def session(folder: Path) -> Path:
    """One turn with a sub-agent, and secrets in each text and each tool input."""
    words = f"{KEPT} {' '.join(FORMATS)} and on"
    inputs: dict[str, dict[str, Any]] = {
        "t1": {"password": PASSWORD, "api_key": API_KEY, "note": KEPT},
        "t2": {"env": {"DB_PASSWORD": VARIABLE, "HOME": "/home/user"}, "command": "psql"},
        "t3": {"headers": {"Authorization": f"Basic {BASIC}", "X-Api-Key": HEADER}, "url": "https://example.com/"},
        "t4": {"deep": [{"login": {"secret_token": TOKEN}}], "command": words},
    }
    uses = [tool_use(name, "mcp__db__connect", **given) for name, given in inputs.items()]
    path = write(
        folder,
        timed(0, user("u1", words, version="2.1.200")),
        timed(1, assistant("a1", "m1", [{"type": "thinking", "thinking": words}, text(words), *uses], "u1")),
        timed(2, user("r1", [tool_result(name, words) for name in inputs], "a1")),
        timed(3, assistant("a2", "m2", [tool_use("t9", "Agent", prompt=words, description=words)], "r1")),
        timed(6, user("r2", [tool_result("t9", words)], "a2")),
        timed(7, assistant("a3", "m3", [text(words)], "r2")),
    )
    inner = [
        timed(4, user("s1", words)),
        timed(5, assistant("s2", "m4", [text(words), tool_use("t5", "Login", password=PASSWORD)], "s1")),
    ]
    agent = write_agent(path, "aaa", "t9", *inner, agentType="explorer", description=words)
    for file in (path, agent):
        os.utime(file, (time.time() - 86_400,) * 2)
    return path


def by_worker(path: Path, config: TraceConfig, folder: Path) -> None:
    report(folder, path)
    work(folder, config, Clock().timing())


def by_backfill(path: Path, config: TraceConfig, folder: Path) -> None:
    with TraceState(folder) as state:
        done = send_history(find_sessions([path.parents[2]]), config.destinations[0], config, state, folder)
    assert done.error is None


@pytest.mark.parametrize("send", [by_worker, by_backfill])
def test_no_planted_secret_reaches_a_receiver_or_the_disk(
    send: Callable[[Path, TraceConfig, Path], None], tmp_path: Path
) -> None:
    path = session(tmp_path / "home" / "projects" / "-p")
    folder = tmp_path / "traces"
    with OtlpSink() as sink:
        send(path, config_for(sink), folder)
        assert len([span for span in sink.spans if not span.parent_id]) == 1
        arrived = "".join(words_of(span) for span in sink.spans)
    assert arrived.count(KEPT) > 10
    assert all(name in arrived for name in ("mcp__db__connect", "DB_PASSWORD", "Authorization", "https://example.com/"))
    stored = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    for secret in (*FORMATS, *NAMED):
        assert secret not in arrived
        assert secret.encode() not in stored


def test_the_secrets_are_planted_where_a_receiver_would_get_them(tmp_path: Path) -> None:
    """Without masking each of them arrives: the test above looks where they are."""
    path = session(tmp_path / "home" / "projects" / "-p")
    with OtlpSink() as sink:
        config = config_for(sink)
        by_backfill(path, TraceConfig(destinations=config.destinations, redact=False), tmp_path / "traces")
        arrived = "".join(words_of(span) for span in sink.spans)
    assert [secret for secret in (*FORMATS, *NAMED) if secret not in arrived] == []
