"""The page about traces names every variable that is accepted, and every command of the group."""

from __future__ import annotations

import re

import pytest
from tests.corpora import ROOT

from stenograph.cli.trace import trace
from stenograph.config.traces import load_trace_config
from stenograph.errors import ConfigError

PAGE = (ROOT / "docs" / "tracing.md").read_text("utf-8")


def test_the_page_names_every_variable_and_no_other() -> None:
    """Those that the error about an unknown one lists."""
    with pytest.raises(ConfigError, match="known:") as refused:
        load_trace_config({"HOME": "/none", "STENO_TRACE_UNKNOWN": "1"})
    known = set(re.findall(r"STENO_TRACE_\w+", str(refused.value).partition("known:")[2]))
    assert "STENO_TRACE_TIMEOUT_SECONDS" in known
    assert set(re.findall(r"STENO_TRACE_\w+", PAGE)) == known


def test_the_page_names_every_command() -> None:
    assert set(re.findall(r"`steno trace (\w+)", PAGE)) >= set(trace.commands)
