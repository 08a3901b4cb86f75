"""The page about redaction lists every rule as it is."""

from __future__ import annotations

from tests.corpora import ROOT

from stenograph.redact import RULES
from stenograph.redact.assignments import LEAST, LEAST_ENTROPY


def test_the_page_lists_every_rule_with_its_literals_and_source() -> None:
    page = (ROOT / "docs" / "redaction.md").read_text()
    table = page.split("| --- | --- | --- |\n")[1].splitlines()
    assert table == [
        f"| `{rule.name}` | {' '.join(f'`{literal}`' for literal in rule.literals)} | {rule.source} |" for rule in RULES
    ]


def test_the_page_says_the_bounds() -> None:
    page = (ROOT / "docs" / "redaction.md").read_text()
    assert f"at least {LEAST_ENTROPY} bits" in page
    assert LEAST == 8
    assert "at least eight of its characters" in page
