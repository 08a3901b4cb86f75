"""The pages in a real browser: no error, no serious accessibility problem, deep links, keys, live sessions."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from tests.corpora import CORPUS, DEMO, FIXTURES, without_agents
from tests.homes import LONG_AGO, session_id, turns, write_session
from tests.web.browsing import Tab, tab
from tests.web.serving import served

from stenograph.testing.lines import assistant, text, tool_result, tool_use, user

DISCOUNTS = "4583cf3d-7694-5e7d-9832-dde049d0357c"
AUDIT = "1e73045e-2bf3-5816-a2c9-93ed16a8e321"
COMPACTED = "8b13284b-4305-4c9e-b5ce-cadb2a62c174"
PAGES = ("", "/files", "/messages", "/records", "/raw/1")


def recorded() -> list[Path]:
    return without_agents((FIXTURES / "recorded").rglob("*.jsonl"))


def public() -> list[Path]:
    return without_agents((CORPUS / "public").rglob("*.jsonl"))


def make_home(folder: Path, files: list[Path]) -> dict[str, Path]:
    """A home with copies of some sessions and what is beside them; the sessions by their ids."""
    found: dict[str, Path] = {}
    for number, file in enumerate(files):
        place = folder / "projects" / f"-p-{number}"
        place.mkdir(parents=True)
        shutil.copy(file, place / file.name)
        if (beside := file.with_suffix("")).is_dir():
            shutil.copytree(beside, place / beside.name)
        found[file.stem] = place / file.name
    return found


def visit(seen: Tab, sessions: list[str]) -> None:
    for session in sessions:
        for page in PAGES:
            answer = seen.open(f"/s/{session}{page}")
            assert answer.status == 200, (session, page)
            assert seen.page.locator("h1").count() == 1, (session, page)
    assert seen.problems == []


def test_pages_of_one_session_of_every_release_have_no_error(browser: Any, tmp_path: Path) -> None:
    by_release = {file.relative_to(FIXTURES / "recorded").parts[0]: file for file in recorded()}
    sessions = make_home(tmp_path / "claude", list(by_release.values()))
    with served(tmp_path / "claude") as server, tab(browser, server) as seen:
        visit(seen, [name for name, path in list(sessions.items())[::4] if path.stat().st_size])


@pytest.mark.full
def test_pages_of_every_recorded_and_of_public_sessions_have_no_error(browser: Any, tmp_path: Path) -> None:
    files = {file.stem: file for file in (*recorded(), *sorted(public(), key=lambda file: -file.stat().st_size)[:30])}
    sessions = make_home(tmp_path / "claude", list(files.values()))
    with served(tmp_path / "claude") as server, tab(browser, server) as seen:
        visit(seen, [name for name, path in sessions.items() if path.stat().st_size])


def test_the_usage_page_marks_estimates_as_the_terminal_does() -> None:
    """One session of the demo is of a release that did not record all output."""
    with served(DEMO) as server:
        total = server.ask("/api/v1/usage?by=month").json["total"]
        page = server.ask("/usage?since=all").text
    assert total["estimated_micro_usd"] > 0
    assert f"<b>~${total['cost_micro_usd'] / 1_000_000:.2f}</b>" in page


def test_the_usage_page_is_of_the_same_days_by_day_and_by_month() -> None:
    with served(DEMO) as server:
        days = [row["name"] for row in server.ask("/api/v1/usage?by=day").json["rows"]]
        spans = [
            re.search(r"(\d+) \w+ \d+ to (\d+) \w+ \d+, ", server.ask(f"/usage?since=all&by={by}").text)
            for by in ("day", "month")
        ]
    first, last = (str(int(day[-2:])) for day in (days[0], days[-1]))
    assert [span.groups() if span else None for span in spans] == [(first, last), (first, last)]


def test_a_search_without_a_hit_says_how_words_are_matched() -> None:
    """`disc` begins words of the demo, and is none of them."""
    with served(DEMO) as server:
        nothing, hits = (server.ask(f"/search?q={query}").text for query in ("disc", "disc*"))
    assert "Whole words are matched" in nothing
    assert "Nothing was found" not in hits


def test_the_health_page_says_what_looks_at_the_setup() -> None:
    with served(DEMO) as server:
        assert re.search("Setup, config and tracing: <code>[^<]* doctor</code>", server.ask("/health").text)


_CHECKED = (
    "/",
    f"/s/{DISCOUNTS}",
    f"/s/{DISCOUNTS}/files",
    "/search?q=discount",
    "/usage?since=all",
    "/stats?since=all",
    "/health",
)
_ALL_CHECKED = (*_CHECKED, "/s/none", f"/s/{DISCOUNTS}/messages", f"/s/{DISCOUNTS}/records", f"/s/{DISCOUNTS}/raw/3", "/search")


def find_barriers(
    browser: Any, axe: str, paths: tuple[str, ...], home: Path = DEMO, **options: Any
) -> list[tuple[str, str, list[str]]]:
    """What axe-core calls serious or worse: page, rule, elements."""
    barriers = []
    with served(home) as server, tab(browser, server, **options) as seen:
        for path in paths:
            seen.open(path)
            seen.page.evaluate(axe)
            found = seen.page.evaluate("() => axe.run({resultTypes: ['violations']})")
            serious = [each for each in found["violations"] if each["impact"] in ("serious", "critical")]
            barriers += [(path, each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in serious]
    return barriers


@pytest.mark.proof
def test_axe_finds_no_serious_problem(browser: Any, axe: str) -> None:
    assert find_barriers(browser, axe, _CHECKED) == []


@pytest.mark.full
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_problem_in_any_page_theme_and_width(browser: Any, axe: str, theme: str, width: int) -> None:
    assert find_barriers(browser, axe, _ALL_CHECKED, color_scheme=theme, width=width) == []


def test_what_is_empty_has_no_barrier_and_says_so(browser: Any, axe: str, tmp_path: Path) -> None:
    """A file that was created empty, and a cell of a notebook that was removed."""
    home, session = tmp_path / "claude", session_id(7)
    created = {"type": "create", "filePath": "/p/__init__.py", "content": "", "structuredPatch": []}
    records = [
        user(None, "Make a package"),
        assistant(None, "msg_1", [tool_use("toolu_1", "Write", file_path="/p/__init__.py", content="")]),
        user(None, [tool_result("toolu_1")]) | {"toolUseResult": created},
        assistant(None, "msg_2", [tool_use("toolu_2", "NotebookEdit", notebook_path="/p/a.ipynb", new_source="")]),
        user(None, [tool_result("toolu_2")]),
        assistant(None, "msg_3", [text("Done.")]),
    ]
    write_session(home, session, in_a_row(records))
    with served(home) as server:
        timeline, files = (server.ask(f"/s/{session}{page}").text for page in ("", "/files"))
    assert "created · empty" in timeline
    assert "The file is empty." in files
    assert find_barriers(browser, axe, (f"/s/{session}", f"/s/{session}/files"), home) == []


def in_a_row(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each below the one before, a second later."""
    for number, record in enumerate(records):
        record |= {
            "uuid": f"{number:08}-0000-4000-8000-000000000000",
            "parentUuid": f"{number - 1:08}-0000-4000-8000-000000000000" if number else None,
            "timestamp": f"2026-01-31T{12 + number // 3600}:{number // 60 % 60:02}:{number % 60:02}Z",
        }
    return records


def test_a_deep_link_shows_its_turn(browser: Any) -> None:
    with served(DEMO) as server, tab(browser, server) as seen:
        seen.open(f"/s/{DISCOUNTS}?turn=2#turn-2")
        at_top = "document.querySelector('#turn-2').getBoundingClientRect().top < 120"
        seen.page.wait_for_function(f"() => {at_top} || innerHeight + scrollY >= document.body.scrollHeight - 2")
        assert seen.page.locator('.o[data-t="2"]').count() == 1
        assert seen.problems == []


def test_keys_move_between_turns_and_open_what_they_say(browser: Any) -> None:
    with served(DEMO) as server, tab(browser, server, height=500) as seen:
        page = seen.page
        seen.open(f"/s/{DISCOUNTS}")
        page.keyboard.press("j")
        page.wait_for_function("() => location.hash === '#turn-1'")
        page.keyboard.press("j")
        page.wait_for_function("() => location.hash === '#turn-2'")
        page.keyboard.press("k")
        page.wait_for_function("() => location.hash === '#turn-1'")
        before = page.evaluate("() => scrollY")
        page.keyboard.press("]")
        page.wait_for_function(f"() => scrollY > {before}")
        page.keyboard.press("?")
        assert page.locator("#help").is_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("t")
        assert page.evaluate("() => document.documentElement.dataset.theme") == "light"
        page.keyboard.press("d")
        assert page.locator(".diff.split").count() > 0
        page.keyboard.press("r")
        page.wait_for_selector("#record.open pre")
        page.keyboard.press("Escape")
        assert page.locator("#record.open").count() == 0
        page.keyboard.press("/")
        assert page.evaluate("() => document.activeElement.id") == "q"
        page.keyboard.type("j?t")
        assert page.locator("#q").input_value() == "j?t"
        page.keyboard.press("Escape")
        page.reload()
        assert page.evaluate("() => document.documentElement.dataset.theme") == "light"
        assert seen.problems == []


def test_a_short_turn_at_the_end_is_the_current_one(browser: Any, tmp_path: Path) -> None:
    """Neither of the last two can reach the top of the window."""
    home, session = tmp_path / "claude", session_id(6)
    lengths = (900, 900, 5, 5)
    records = [
        record
        for number, words in enumerate(lengths, 1)
        for record in (user(None, f"Prompt {number}"), assistant(None, f"msg_{number}", [text("word " * words)]))
    ]
    write_session(home, session, in_a_row(records))
    with served(home) as server, tab(browser, server, height=700) as seen:
        page = seen.page

        def press(key: str, turn: int) -> None:
            page.keyboard.press(key)
            page.wait_for_function(f"() => document.querySelector('.o[aria-current]')?.dataset.t === '{turn}'")

        seen.open(f"/s/{session}")
        for key, turn in (("j", 1), ("j", 2), ("j", 3), ("j", 4), ("j", 4), ("k", 3), ("k", 2), ("k", 1), ("G", 4), ("k", 3)):
            press(key, turn)
            page.wait_for_timeout(300)  # the page follows the turn until it stays where it is
        page.mouse.wheel(0, -10_000)
        page.wait_for_function("() => document.querySelector('.o[aria-current]').dataset.t === '1'")
        page.evaluate("() => scrollTo(0, document.documentElement.scrollHeight)")
        page.wait_for_function("() => document.querySelector('.o[aria-current]').dataset.t === '4'")
        assert seen.problems == []


def test_the_outline_leads_to_a_compaction(browser: Any, tmp_path: Path) -> None:
    """The numbers are those of the record: 996,791 tokens before, 2,874 after."""
    (source,) = (FIXTURES / "recorded").rglob(f"{COMPACTED}.jsonl")
    make_home(tmp_path / "claude", [source])
    with served(tmp_path / "claude") as server, tab(browser, server, height=500) as seen:
        seen.open(f"/s/{COMPACTED}")
        seen.page.locator(".outline a", has_text="Compacted, 997k to 2.9k").click()
        seen.page.locator(".compact.found").wait_for()
        seen.open(f"/s/{COMPACTED}")
        seen.page.goto(seen.base + str(seen.page.locator(".outline a.o-m").get_attribute("href")))
        seen.page.locator(".compact.found").wait_for()
        assert seen.problems == []


def test_links_to_lines_do_not_cover_how_long_a_step_took(browser: Any) -> None:
    with served(DEMO) as server, tab(browser, server) as seen:
        page = seen.page
        seen.open(f"/s/{AUDIT}")
        step = page.locator(".w:has(> .agent > summary > .tm)").first
        step.locator("> .agent > summary").hover()
        page.wait_for_function("(it) => getComputedStyle(it).opacity === '1'", arg=step.locator("> .raws").element_handle())
        links = step.locator("> .raws").bounding_box()
        for taken in step.locator("> .agent > summary > .tm").all():
            box = taken.bounding_box()
            assert box["x"] + box["width"] <= links["x"]


def test_filters_are_there_on_a_phone(browser: Any) -> None:
    with served(DEMO) as server, tab(browser, server, width=390, height=844, is_mobile=True, has_touch=True) as seen:
        page = seen.page
        for path, last in ((f"/s/{DISCOUNTS}", "Problems"), ("/usage?since=all", "Month")):
            seen.open(path)
            page.locator(".tabs .seg > *", has_text=last).tap()
            page.locator(":is([aria-pressed=true], [aria-current])", has_text=last).wait_for()
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert seen.problems == []


def test_every_tab_says_how_many_files_were_changed() -> None:
    with served(DEMO) as server:
        heads = [
            re.search(r"Files <small>\d+", server.ask(f"/s/{DISCOUNTS}{tab}").text)
            for tab in ("", "/files", "/messages", "/records")
        ]
    assert len({head and head[0] for head in heads}) == 1
    assert heads[0]


def test_every_link_of_the_health_page_leads_to_a_page_and_titles_end_in_an_ellipsis(tmp_path: Path) -> None:
    home, session, agent = tmp_path / "claude", session_id(5), "agent-668b5ac2"
    lost = {"parentUuid": "ffffffff-0000-4000-8000-000000000000"}
    write_session(home, session, [user(None, "long words " * 20) | lost, assistant(None, "msg_1", [text("Yes.")])])
    members = {"isSidechain": True, "agentId": agent.removeprefix("agent-"), "sessionId": session_id(4)}
    write_session(home, agent, [user(None, "Help") | members, assistant(None, "msg_2", [text("Yes.")]) | members])
    with served(home) as server:
        html = server.ask("/health").text
        links = re.findall(r'href="(/s/[^"]+)"', html)
        assert links
        assert [server.ask(link).status for link in links] == [200] * len(links)
    assert f"<bdi>{agent}</bdi>" in html
    assert re.search(r"long words long[^<]*…</bdi>", html)


def test_the_list_is_filtered_while_one_types(browser: Any) -> None:
    with served(DEMO) as server, tab(browser, server) as seen:
        page = seen.page
        seen.open("/")
        assert page.locator(".row:visible").count() == 8
        page.keyboard.press("/")
        page.keyboard.type("lantern")
        assert page.locator(".row:visible").count() == 3
        assert page.locator("#count").inner_text() == "3"
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("o")
        page.wait_for_url("**/s/*")
        assert seen.problems == []


def test_typing_finds_sessions_that_are_not_on_the_first_page(browser: Any, tmp_path: Path) -> None:
    home = tmp_path / "claude"
    for number in range(70):
        prompt = "Find the needle" if number == 3 else f"Pile hay {number}"
        write_session(home, session_id(number), turns(3, prompt), modified=LONG_AGO + number)
    with served(home) as server, tab(browser, server) as seen:
        page = seen.page
        seen.open("/")
        older, rows = page.get_by_text("10 more. Older"), page.locator(".row:visible")
        older.wait_for()
        page.keyboard.press("/")
        page.keyboard.type("needle")
        page.wait_for_function("() => document.querySelectorAll('.row').length === 1")
        assert "Find the needle" in rows.inner_text()
        assert (page.locator("#count").inner_text(), page.locator("#noun").inner_text()) == ("1", "session")
        assert not older.is_visible()
        page.fill("#filter", "nothing has this")
        page.get_by_text("No session matches.").wait_for()
        page.fill("#filter", "")
        older.wait_for()
        assert rows.count() == 60
        assert seen.problems == []


def test_the_list_follows_the_sessions(browser: Any, tmp_path: Path) -> None:
    """A session that begins appears, the selected row stays selected, and who filters is left alone."""
    home = tmp_path / "claude"
    make_home(home, [next(DEMO.rglob(f"{DISCOUNTS}.jsonl"))])
    with served(home) as server, tab(browser, server) as seen:
        page = seen.page
        page.clock.install()
        seen.open("/")
        page.keyboard.press("j")
        chosen = page.locator(".row.sel h3").inner_text()
        shutil.copy(next(DEMO.rglob(f"{AUDIT}.jsonl")), home / "projects" / "-p-0")
        # The server's answer is good for a moment, which the page's clock passes over.
        until = time.monotonic() + 10
        while not page.locator(".row", has_text="audit the product page").count() and time.monotonic() < until:
            page.clock.run_for(21_000)
        assert page.locator(".row.sel h3").inner_text() == chosen
        assert page.locator("#count").inner_text() == "2"
        page.fill("#filter", "nothing has this")
        page.clock.run_for(21_000)
        assert page.locator(".row:visible").count() == 0
        assert seen.problems == []


def test_an_answer_that_was_on_its_way_does_not_undo_a_filter(browser: Any, tmp_path: Path) -> None:
    home = tmp_path / "claude"
    make_home(home, [next(DEMO.rglob(f"{DISCOUNTS}.jsonl"))])
    with served(home) as server, tab(browser, server) as seen:
        page = seen.page
        page.clock.install()
        seen.open("/")
        held: list[Any] = []
        page.route("**/", lambda route: held.append(route))  # a function of Python, which can be marked
        page.clock.run_for(21_000)
        while not held:
            page.wait_for_timeout(10)
        page.fill("#filter", "nothing has this")
        with page.expect_response("**/"):
            held[0].continue_()
        page.wait_for_timeout(200)
        assert page.locator(".row:visible").count() == 0


def test_a_page_says_that_the_viewer_has_stopped(browser: Any) -> None:
    with served(DEMO) as server, tab(browser, server) as seen:
        page = seen.page
        page.clock.install()
        seen.open("/")
        page.route("**/*", lambda route: route.abort())
        # Several looks fail before it is said, each in its own time.
        until = time.monotonic() + 20
        while not page.locator("#lost").is_visible() and time.monotonic() < until:
            page.clock.run_for(21_000)
        page.locator("#lost").wait_for()


def test_parts_of_a_long_turn_say_which_it_is(browser: Any, tmp_path: Path) -> None:
    """One prompt, four hundred answers: however far down, the heading names the turn and what was asked."""
    home, session = tmp_path / "claude", session_id(8)
    answers = [assistant(None, f"msg_{number}", [text(f"Word {number}. " * 90)]) for number in range(400)]
    records = [user(None, "Say many words"), *answers]
    write_session(home, session, in_a_row(records))
    with served(home) as server, tab(browser, server) as seen:
        seen.open(f"/s/{session}")
        assert seen.page.locator(".chunk").count() > 1
        seen.page.keyboard.press("G")
        at_top = "document.elementFromPoint(innerWidth / 2, 60)?.closest('.cont > .th')"
        seen.page.wait_for_function(f"() => scrollY > 1000 && {at_top}")
        assert "Say many words" in seen.page.evaluate(f"() => {at_top}.innerText")
        seen.open('/search?q="word+333"')
        seen.page.locator("a.hit").click()
        found = seen.page.locator(".found")
        found.wait_for()
        assert "Word 333." in found.inner_text()
        top = "document.querySelector('.found').getBoundingClientRect().top"
        seen.page.wait_for_function(f"() => {top} > 40 && {top} < innerHeight - 40")
        assert seen.problems == []


def test_what_a_running_session_adds_appears_and_the_reader_stays(browser: Any, tmp_path: Path) -> None:
    source = next(DEMO.rglob(f"{DISCOUNTS}.jsonl"))
    file = make_home(tmp_path / "claude", [source])[DISCOUNTS]
    last = [json.loads(line) for line in file.read_text().splitlines() if '"uuid"' in line][-1]
    os.utime(file)
    with served(tmp_path / "claude") as server, tab(browser, server, height=500) as seen:
        page = seen.page
        with page.expect_response(lambda answer: answer.url.endswith("/events")):
            seen.open(f"/s/{DISCOUNTS}")
        time.sleep(1)
        page.evaluate("() => scrollTo(0, 700)")
        seen_there = "document.elementFromPoint(innerWidth / 2, 250)"
        place = f"() => [{seen_there}.textContent.slice(0, 60), {seen_there}.getBoundingClientRect().top]"
        before = page.evaluate(place)
        members = {name: last[name] for name in ("sessionId", "cwd", "version") if name in last}
        members |= {"isSidechain": False, "timestamp": "2026-11-10T09:20:00.000Z"}
        asked, answered = (f"00000000-0000-4000-8000-00000000000{end}" for end in "ab")
        prompt = user(asked, "Now add a banner, please.", last["uuid"]) | members
        with file.open("a") as out:
            out.write(json.dumps(prompt) + "\n")
        page.wait_for_selector("#turn-3")
        assert page.locator("#turn-3 .prompt").inner_text() == "Now add a banner, please."
        assert page.evaluate(place) == before
        assert page.locator("#pill").is_visible()
        answer = assistant(answered, "msg_live", [text("Done.")], asked) | members
        with file.open("a") as out:
            out.write(json.dumps(answer) + "\n")
        page.wait_for_selector("#turn-3 .md.final")
        page.click("#pill")
        page.wait_for_function("() => innerHeight + scrollY > document.body.scrollHeight - 120")
        assert seen.problems == []
