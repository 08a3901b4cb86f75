"""Pages of recorded and public sessions, as HTML."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert
from tests.corpora import CORPUS, DEMO, FIXTURES, without_agents
from tests.homes import assistant, session_id, user, write_session

from stenograph.redact import as_is
from stenograph.sessions import load_file, session_at
from stenograph.testing.lines import text
from stenograph.views import export_text
from stenograph.views.html import PageContext, render_usage
from stenograph.views.html.charts import context_chart
from stenograph.views.html.markup import markdown_html
from stenograph.views.html.rendering import StepPlace
from stenograph.views.html.snippets import snippet_html
from stenograph.views.html.turn_cache import turn_html
from stenograph.views.pages.page import TokensPage
from stenograph.views.pages.search import HitLinePage
from stenograph.views.pages.stats import WastePage
from stenograph.views.pages.timeline import CallFigures, PromptStep, TextStep, ThoughtStep, TimelineTurn, TurnOutline
from stenograph.views.pages.timeline_turns import Timeline
from stenograph.views.pages.usage import UsagePage

SESSION = session_id(1)
RECORDED = without_agents((FIXTURES / "recorded").rglob("*.jsonl"))
PUBLIC = without_agents((CORPUS / "public").rglob("*.jsonl"))


def exported(path: Path) -> str:
    return b"".join(export_text(load_file(path), session_at(path), "html", as_is)).decode()


def test_every_recorded_and_public_session_is_one_document_with_each_turn_once() -> None:
    long = 0
    for path in (*RECORDED, *without_agents(DEMO.rglob("*.jsonl")), *PUBLIC):
        session = load_file(path)
        timeline = Timeline(session, session.branches[0]) if session.branches else None
        turns = [str(turn.number) for turn in timeline.outline] if timeline else []
        html = exported(path)
        assert re.findall(r'<article class="turn" id="turn-(\d+)"', html) == turns, path.name
        assert html.rstrip().endswith("</html>"), path.name
        assert 'class="turn cont"' not in html, path.name
        long += timeline is not None and any(chunk.step for chunk in timeline.chunks)
    if PUBLIC:
        assert long > 20  # sessions with a turn that the viewer shows in parts


TOKENS = dict.fromkeys(("input", "output", "cache_read", "cache_write_5m", "cache_write_1h"), 10)


def spent(micro: int, **members: Any) -> dict[str, Any]:
    """A row of usage that cost so much."""
    figures = {"calls": 1, "thinking": 0, "web_searches": 0, "estimated_output": 0, "unpriced_calls": 0, "unpriced_tokens": 0}
    money = {"cost_micro_usd": micro, "measured_micro_usd": micro, "estimated_micro_usd": 0}
    return {"tokens": TOKENS, "models": [], **figures, **money, **members}


def row(name: str, micro: int = 1_000_000, days: int = 1) -> dict[str, Any]:
    """A period that begins on a day, or a project."""
    start = datetime.fromisoformat(f"{name}T12:00:00+00:00") if name[:1].isdigit() else None
    model = spent(micro, model="claude-opus-4-6")
    del model["models"]
    period = {"start": start, "end": start + timedelta(days=days) if start else None}
    return spent(micro, name=name, sessions=1, title=None, path=None, project=None, **period) | {"models": [model]}


def usage(by: str, *rows: dict[str, Any], since: datetime | None = None, until: datetime | None = None) -> UsagePage:
    kinds = dict.fromkeys(("input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "web_searches"), 1)
    nothing = {"interrupted_calls": 0, "interrupted_tokens": 0, "copied_calls": 0, "unpriced_models": [], "findings": []}
    period = {"first": None, "last": None, "includes_hidden": True, "includes_gone": True}
    unknown = {"client_sessions": None, "client_equal": None, "stale": False, "prices": "measured", "timezone": "UTC"}
    total = row("total", sum(each["cost_micro_usd"] for each in rows))
    return convert(
        {"schema": "usage/1", "by": by, "since": since, "until": until, "rows": rows, "total": total, "kinds": kinds}
        | nothing
        | period
        | unknown,
        UsagePage,
    )


def labels(html: str) -> list[str]:
    return re.findall(r'y="\d+" text-anchor="middle">([^<]*)<', html)


DAYS = usage("day", row("2025-06-08"), row("2025-11-18"), row("2026-11-15"))


def test_days_without_usage_take_their_place_and_a_new_year_is_named() -> None:
    html = render_usage(DAYS, usage("project"), usage("session"), PageContext(), since="all")
    xs = [float(x) for x in re.findall(r'<rect class="s1" x="([\d.]+)"', html)]
    first, second, third = xs
    days = [(date(2025, 11, 18) - date(2025, 6, 8)).days, (date(2026, 11, 15) - date(2025, 11, 18)).days]
    assert (second - first) / (third - second) == pytest.approx(days[0] / days[1], rel=0.01)
    assert [label for label in labels(html) if label.isdigit()] == ["2025", "2026"]


def test_thirty_days_are_thirty_days_wide() -> None:
    since, now = datetime(2026, 10, 19, 12, tzinfo=UTC), datetime(2026, 11, 18, 12, tzinfo=UTC)
    page = usage("day", row("2026-11-15"), since=since)
    html = render_usage(page, usage("project"), usage("session"), PageContext(now=now))
    shown = [label for label in labels(html) if not label.startswith("$")]
    assert (shown[0], shown[-1]) == ("19 Oct", "18 Nov")


def test_months_say_which_days_they_are_of() -> None:
    months = usage("month", row("2025-06-01"), row("2026-11-01"))
    html = render_usage(months, usage("project"), usage("session"), PageContext(), since="all", days=DAYS)
    assert "8 Jun 2025 to 15 Nov 2026, UTC" in html


def test_projects_that_are_not_listed_are_counted_and_what_is_gone_is_said() -> None:
    projects = usage("project", *(row(f"/p/{number}", 1_000_000 * (20 - number)) for number in range(14)))
    html = render_usage(DAYS, projects, usage("session"), PageContext())
    assert "2 more projects, $15.00" in html
    assert "whose file is gone" in html


def test_findings_link_their_turns_and_are_marked_as_estimates() -> None:
    link = {"session": SESSION, "turn": 3, "branch": None, "what": None, "ms": None, "tokens": None, "cost_micro_usd": None}
    link |= {"estimated_micro_usd": 0, "unpriced_calls": 0}
    other = link | {"turn": 4, "branch": 2}
    figures = {"times": 1, "what": "Read: a.py", "tokens": 1000, "calls": 77, "seconds": 0, "sent": True}
    kinds = {"result-stayed-in-the-context": [link], "cache-rebuilt-after-a-break": [link, other]}
    findings = [{"kind": kind, "cost_micro_usd": 450_000, "turns": turns, **figures} for kind, turns in kinds.items()]
    amounts = {"cost_micro_usd": 9_000_000, "estimated_micro_usd": 0, "unpriced_calls": 0, "avoidable_micro_usd": 900_000}
    waste = convert({"schema": "waste/1", "sessions": 26, **amounts, "findings": findings}, WastePage)
    html = render_usage(DAYS, usage("project"), usage("session"), PageContext(), waste=waste)
    assert html.count("<b>~$0.45</b>") == 2
    assert "~$0.90 of $9.00 in 26 sessions whose files are there" in html
    address = f"/s/{SESSION}?turn=3#turn-3"
    assert f'in <a href="{address}">turn 3 of {SESSION[:8]}</a>' in html
    assert html.count(f'href="{address}"') == 2
    assert f'href="/s/{SESSION}?branch=2&amp;turn=4#turn-4"' in html


def test_numbers_of_turns_do_not_overlap_and_what_cost_nothing_has_no_bar() -> None:
    """A digit is about six units wide, as Chromium draws it."""
    calls = [CallFigures(turn, turn, "m", 1000, 1, 0.1, False) for turn in range(1, 23) for _ in range(9 if turn < 3 else 1)]
    outline = [TurnOutline(turn, "prompt", "done", None, "", "p", 0.1 if turn > 1 else None, False, 1) for turn in range(1, 23)]
    svg = context_chart(calls, outline, 200_000)
    places = [(float(x), len(number)) for x, number in re.findall(r'<text x="([\d.]+)" y="172"[^>]*>(\d+)<', svg)]
    assert len(places) > 8
    for (left, digits), (right, more) in pairwise(places):
        assert right - left >= (digits + more) * 3
    assert svg.count('<rect class="q2"') == 21


def test_a_prompt_without_words_and_thinking_that_was_not_recorded_draw_nothing() -> None:
    at = datetime(2026, 1, 31, tzinfo=UTC)
    turn = TimelineTurn(
        number=1, kind="prompt", status="done", line=1, started=at, duration_ms=20, models=(), tokens=convert(TOKENS, TokensPage),
        usd=None, usd_estimated=False, of=4,
        steps=(PromptStep(1, at, " "), ThoughtStep(2, at, ""), ThoughtStep(3, at, "Two words"), TextStep(4, at, "Done.")),
    )  # fmt: skip
    html = turn_html(turn, StepPlace("", SESSION), {}, PageContext())
    assert 'class="prompt"' not in html
    assert html.count("Thinking") == 1
    assert "Thinking · 2 words" in html
    assert "0.0 s" not in html


@pytest.mark.parametrize(
    ("snippet", "shown"),
    [
        ("Fixed: `CartTotal` computes **the total** at *once*.", "Fixed: CartTotal computes the <mark>total</mark> at once."),
        ("…first** total, then **the next and `more…", "…first <mark>total</mark>, then the next and more…"),
        (
            "## The total Two: - one - `a - b`; - [a page](https://a.example/b)",
            "The <mark>total</mark> Two: one - a - b; · a page",
        ),
        ("a | b total", "a | b <mark>total</mark>"),
        ("| total | when | |---|:--| | 4 | `now` |", "<mark>total</mark> · when · 4 · now"),
        ("See ```ts total = 2 ** 3``` in **/*.ts, 2 * 3, a_b_c", "See <mark>total</mark> = 2 ** 3 in **/*.ts, 2 * 3, a_b_c"),
        ("[the sum](https://a.example/total) <b>", "[the sum](https://a.example/<mark>total</mark>) &lt;b&gt;"),
        ("total &#x202e;&#xe000; &lt;b&gt;", "<mark>total</mark> &amp;#x202e;&amp;#xe000; &amp;lt;b&amp;gt;"),
        ("total &#x202e; &lt;b&gt;", "<mark>total</mark> \\u202e &lt;b&gt;"),
        ("total ghp_**" + "A1b2" * 9 + "**", "<mark>total</mark> ghp_**" + "A1b2" * 9 + "**"),
    ],
)
def test_a_snippet_of_markdown_is_its_words(snippet: str, shown: str) -> None:
    assert snippet_html(found("answer", snippet)) == shown


def test_links_of_a_text_lead_to_whole_addresses_only() -> None:
    """What is relative to the files of a project is no page of the viewer, and none of an export."""
    html = markdown_html("[a](src/a.py) [b](/b) [c](//c.example/) [d](#d) [e](https://e.example/ 'E') <m@f.example> ![g](g.png)")
    assert re.findall(r'href="([^"]*)"', html) == ["https://e.example/", "mailto:m@f.example"]
    assert re.sub(r"<[^>]*>", "", html).split() == ["a", "b", "c", "d", "e", "m@f.example", "image:", "g"]


_TOKEN = "A1b2" * 9


@pytest.mark.parametrize(
    "hidden",
    [
        f"ghp_**{_TOKEN}**",
        f"ghp&#95;{_TOKEN}",
        f"ghp_`{_TOKEN}`",
        f"ghp_{_TOKEN[:8]}*{_TOKEN[8:]}*",
        f"ghp_~~{_TOKEN}~~",
        f"[ghp_](https://a.example){_TOKEN}",
        f'[x](https://a.example "ghp&#95;{_TOKEN}")',
    ],
)
def test_a_secret_that_markdown_hides_does_not_show_when_it_is_rendered(hidden: str) -> None:
    html = markdown_html(f"The **word** is {hidden}, and")
    assert f"ghp_{_TOKEN}" not in unescape(re.sub("<[^>]*>", "", html))
    assert f"ghp_{_TOKEN}" not in unescape(html)
    assert "The word is" in html
    assert "<strong>word</strong>" in markdown_html(f"The **word** is {_TOKEN}, and")
    # Who asked for an export with secrets gets what was written.
    assert "<strong>word</strong>" in markdown_html(f"The **word** is {hidden}, and ghp_{_TOKEN}")


def test_a_snippet_of_output_is_as_it_was_written() -> None:
    assert snippet_html(found("output", "`a` **total**")) == "`a` **<mark>total</mark>**"


def found(kind: str, snippet: str) -> HitLinePage:
    at = snippet.index("total")
    members = {"file": "", "line": 1, "turn": 1, "agent": None, "tool": None, "time": None, "before": (), "after": ()}
    return convert({"kind": kind, "snippet": snippet, "matches": [(at, at + 5)], **members}, HitLinePage)


def test_an_export_keeps_text_that_looks_like_a_link_of_the_viewer(tmp_path: Path) -> None:
    said = 'The page has href="steno-viewer:x <b>" and data-raw="steno-viewer:" in it'
    path = write_session(tmp_path, session_id(1), [user(said), assistant(text(f"`{said}`\n\n{said}"))])
    page = exported(path)
    assert page.count('href="steno-viewer:x &lt;b&gt;" and data-raw="steno-viewer:" in it') == 3
    assert not re.search(r'<[^<>]*="steno-viewer:', page)
