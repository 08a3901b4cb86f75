"""Screenshots of the viewer's named states: `python scripts/viewer_screens.py [--only desktop|phone|light|dark]… [STATE…]`.

Without `--only` at both widths and in both themes. Writes build/viewer/STATE-WIDTH-THEME.png and sheets of many, to be looked at
together. Needs Chromium and Playwright.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import struct
import sys
import tempfile
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.web.browsing import chromium, tab
from tests.web.serving import Served, served

from stenograph.demo import unpack_demo

OUT = Path("build/viewer")
SHOW = "5a11ab1e-0000-4000-8000-000000000000"
LIVE = "11fe0000-0000-4000-8000-000000000000"
DISCOUNTS = "4583cf3d-7694-5e7d-9832-dde049d0357c"
AUDIT = "1e73045e-2bf3-5816-a2c9-93ed16a8e321"
_CWD = "/home/user/lantern-shop"


_BEFORE = """import { useEffect, useState } from "react";

export function CartTotal({ cart }: { cart: Cart }) {
  const [total, setTotal] = useState(0);
  useEffect(() => setTotal(checkout(cart).total), [cart]);
  return <b>{format(total)}</b>;
}"""
_TEST = """import { expect, test } from "vitest";
import { render } from "./render";

test("the first paint has the total", () => {
  expect(render(cart)).toBe("40.85 €");
});
"""


def _png(width: int = 196, height: int = 110) -> str:
    """A small picture of a page: a bar, a box, some lines."""

    def pixel(x: int, y: int) -> bytes:
        if y < 18:
            return bytes((44, 51, 66))
        if 12 < x < 56 and 30 < y < 84:
            return bytes((224, 212, 190))
        return bytes((185, 185, 181)) if 68 < x < 150 and (32 < y < 37 or 44 < y < 48) else bytes((246, 244, 239))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"".join(pixel(x, y) for x in range(width)) for y in range(height))
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    data = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return base64.b64encode(data).decode()


class Script:
    """Lines of a session, each below the one before."""

    def __init__(self, session: str, start: datetime) -> None:
        self.session = session
        self.at = start
        self.lines: list[dict[str, Any]] = []
        self.parent: str | None = None
        self.number = 0
        self.sent = 14_000

    def add(self, kind: str, seconds: float = 2, **members: Any) -> str:
        self.number += 1
        self.at += timedelta(seconds=seconds)
        uuid = f"{self.number:08x}-0000-4000-8000-{self.session[-12:]}"
        line = {
            "parentUuid": self.parent, "isSidechain": False, "userType": "external", "cwd": _CWD, "sessionId": self.session,
            "version": "2.1.325", "gitBranch": "discount-codes", "type": kind, "uuid": uuid,
            "timestamp": self.at.isoformat(timespec="milliseconds").replace("+00:00", "Z"), **members,
        }  # fmt: skip
        self.lines.append(line)
        self.parent = uuid
        return uuid

    def prompt(self, content: Any, **members: Any) -> str:
        return self.add("user", 30, message={"role": "user", "content": content}, **members)

    def say(self, *blocks: dict[str, Any], model: str = "claude-opus-5-5") -> str:
        self.sent += 900
        usage = {
            "input_tokens": 4,
            "output_tokens": 120,
            "cache_read_input_tokens": self.sent,
            "cache_creation_input_tokens": 900,
        }
        message = {
            "id": f"msg_{self.session[:4]}{self.number}", "role": "assistant", "model": model, "content": list(blocks),
            "stop_reason": "end_turn", "usage": usage, "type": "message",
        }  # fmt: skip
        return self.add("assistant", 3, message=message)

    def text(self, words: str) -> str:
        return self.say({"type": "text", "text": words})

    def use(
        self, name: str, given: dict[str, Any], result: Any, kept: Any = None, *, failed: bool = False, seconds: float = 2
    ) -> None:
        identity = f"toolu_{self.session[:4]}{self.number}"
        self.say({"type": "tool_use", "id": identity, "name": name, "input": given})
        if result is None:
            return
        block = {"type": "tool_result", "tool_use_id": identity, "content": result, **({"is_error": True} if failed else {})}
        beside = {} if kept is None else {"toolUseResult": kept}
        self.add("user", seconds, message={"role": "user", "content": [block]}, **beside)


def showcase() -> list[dict[str, Any]]:
    """One of everything that a session can hold."""
    made = Script(SHOW, datetime(2026, 11, 10, 9, 12, tzinfo=UTC))
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _png()}}
    made.prompt(
        [
            {
                "type": "text",
                "text": "The cart total shows `0.00 €` for a moment when the page opens, see the screenshot. Find out why.",
            },
            image,
        ]
    )
    made.say(
        {
            "type": "thinking",
            "thinking": "The first paint shows the initial state. An effect fills it in afterwards.",
            "signature": "x",
        }
    )
    made.text("I'll look at the component and run the tests.")
    made.use(
        "Bash",
        {"command": "npx vitest run", "description": "Run tests"},
        "ok",
        {
            "stdout": "\x1b[32m ✓\x1b[0m test/cart.test.ts \x1b[2m(4 tests) 6ms\x1b[0m\n\x1b[31mFAIL\x1b[0m  test/total.test.ts\n\x1b[31mAssertionError: expected 0 to be 4085\x1b[0m\n\n\x1b[2m Test Files\x1b[0m  \x1b[31m1 failed\x1b[0m | \x1b[32m1 passed\x1b[0m (2)",
            "stderr": "",
            "interrupted": False,
        },
        seconds=4,
    )
    made.use(
        "Read",
        {"file_path": f"{_CWD}/src/views/CartTotal.tsx"},
        "…",
        {
            "type": "text",
            "file": {
                "filePath": f"{_CWD}/src/views/CartTotal.tsx",
                "content": _BEFORE,
                "numLines": 7,
                "startLine": 1,
                "totalLines": 7,
            },
        },
    )
    made.use(
        "Grep",
        {"pattern": "CartTotal", "path": "src", "output_mode": "content"},
        "…",
        {
            "mode": "content",
            "numFiles": 2,
            "filenames": [],
            "numLines": 3,
            "content": 'src/views/CartTotal.tsx:3:export function CartTotal({ cart }: { cart: Cart }) {\nsrc/pages/Checkout.tsx:4:import { CartTotal } from "../views/CartTotal";\nsrc/pages/Checkout.tsx:19:      <CartTotal cart={cart} />',
        },
    )
    made.use(
        "TodoWrite",
        {
            "todos": [
                {"content": "Find out why the total is 0", "status": "completed"},
                {"content": "Compute it while rendering", "status": "in_progress"},
                {"content": "Test it", "status": "pending"},
            ]
        },
        "ok",
    )
    made.use(
        "WebSearch",
        {"query": "react derived state while rendering"},
        "…",
        {
            "query": "react derived state",
            "results": [
                {
                    "content": [
                        {"title": "You Might Not Need an Effect", "url": "https://react.example/learn/effects"},
                        {"title": "Choosing the state structure", "url": "https://react.example/learn/state"},
                    ]
                }
            ],
            "durationSeconds": 1,
        },
    )
    made.use(
        "AskUserQuestion",
        {
            "questions": [
                {
                    "question": "Should the total be memoized?",
                    "options": [{"label": "No, it is cheap"}, {"label": "Yes"}, {"label": "Only for large carts"}],
                }
            ]
        },
        "…",
        {"questions": [], "answers": {"Should the total be memoized?": "No, it is cheap"}},
    )
    made.use(
        "ExitPlanMode",
        {
            "plan": "# Compute the total while rendering\n\n1. Remove the effect and the state.\n2. Call `checkout` in the component.\n3. Add a test for the first paint."
        },
        "approved",
    )
    patch = [
        {
            "oldStart": 1,
            "oldLines": 7,
            "newStart": 1,
            "newLines": 5,
            "lines": [
                '-import { useEffect, useState } from "react";',
                "-",
                " export function CartTotal({ cart }: { cart: Cart }) {",
                "-  const [total, setTotal] = useState(0);",
                "-  useEffect(() => setTotal(checkout(cart).total), [cart]);",
                "-  return <b>{format(total)}</b>;",
                "+  return <b>{format(checkout(cart).total)}</b>;",
                " }",
            ],
        }
    ]
    made.use(
        "Edit",
        {"file_path": f"{_CWD}/src/views/CartTotal.tsx", "old_string": "a", "new_string": "b"},
        "ok",
        {"filePath": "x", "oldString": "a", "newString": "b", "originalFile": _BEFORE, "structuredPatch": patch},
    )
    made.use(
        "Write",
        {"file_path": f"{_CWD}/test/total.test.ts", "content": _TEST},
        "ok",
        {"type": "create", "filePath": f"{_CWD}/test/total.test.ts", "content": _TEST, "structuredPatch": []},
    )
    made.add(
        "attachment",
        1,
        attachment={"type": "queued_command", "prompt": "Please also check the mobile page.", "commandMode": "prompt"},
    )
    made.use(
        "mcp__shopdb__query",
        {"table": "orders", "where": {"id": 10482, "paid": True}, "limit": 1},
        json.dumps({"rows": 1, "total": 4085, "code": "WINTER10", "items": ["lamp-oak", "bulb-e27"]}),
    )
    made.use(
        "Bash",
        {"command": "cat .env.local && npm ls --all"},
        "…",
        {
            "stdout": f"PAYMENT_URL=https://pay.example/v2\nGITHUB_TOKEN=ghp_{'A1b2' * 9}\n\n"
            + "\n".join(f"├─┬ package-{n}@1.{n}.0" for n in range(160)),
            "stderr": "",
            "interrupted": False,
        },
    )
    made.use(
        "Bash",
        {"command": "npm run e2e"},
        "Error: Exit code 1\n✗ checkout.spec.ts: expected 4085, got 0\n  at checkout.spec.ts:14",
        "Error",
        failed=True,
    )
    made.text(
        "The total was state that an effect filled in **after** the first paint. It is now computed while rendering:\n\n| page | before | after |\n|---|---|---|\n| desktop | `0.00 €` for 40 ms | never |\n| mobile | `0.00 €` for 90 ms | never |\n\n```ts\nreturn <b>{format(checkout(cart).total)}</b>;\n```"
    )
    fork = made.parent
    made.prompt("Show expired codes in red.")
    made.text("Expired codes are red now.")
    made.parent = fork
    made.prompt("افحص صفحة المنتج لسهولة الوصول، من فضلك.")
    made.use(
        "Glob",
        {"pattern": "**/*.tsx"},
        "…",
        {"filenames": ["src/views/CartTotal.tsx", "src/pages/Checkout.tsx"], "numFiles": 2, "truncated": False, "durationMs": 3},
    )
    made.add("system", 1, subtype="api_error", level="error", error={}, retryAttempt=1, maxRetries=10, retryInMs=500)
    made.add("system", 1, subtype="api_error", level="error", error={}, retryAttempt=2, maxRetries=10, retryInMs=900)
    made.text("الصفحة سليمة: كل الصور لها نص بديل.")
    before = made.parent
    made.parent = None
    made.add(
        "system",
        20,
        subtype="compact_boundary",
        logicalParentUuid=before,
        content="Conversation compacted",
        compactMetadata={"trigger": "auto", "preTokens": 167_000, "postTokens": 31_000},
    )
    made.prompt(
        "This session is being continued.\n\n**Summary.** The cart total no longer flickers. `CartTotal` computes while rendering.",
        isCompactSummary=True,
        isVisibleInTranscriptOnly=True,
    )
    made.prompt("Start the dev server and watch the page for a while.")
    changed = {
        "oldStart": 4, "oldLines": 3, "newStart": 4, "newLines": 3,
        "lines": [
            ' test("the first paint has the total", () => {',
            '-  expect(render(cart)).toBe("40.85 €");',
            '+  expect(render(cart)).toBe("40,85 €");',
            " });",
        ],
    }  # fmt: skip
    made.use(
        "Edit",
        {"file_path": f"{_CWD}/test/total.test.ts", "old_string": "40.85 €", "new_string": "40,85 €"},
        "ok",
        {"filePath": "x", "oldString": "a", "newString": "b", "originalFile": _TEST, "structuredPatch": [changed]},
    )
    made.use(
        "Bash",
        {"command": "npm run dev"},
        "…",
        {
            "stdout": "\x1b[32mVITE v7.3.1\x1b[0m  ready in 412 ms\n\n  \x1b[32m➜\x1b[0m  \x1b[1mLocal\x1b[0m:   http://localhost:5173/",
            "stderr": "",
            "interrupted": True,
        },
        seconds=38,
    )
    made.add(
        "user", 1, message={"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user for tool use]"}]}
    )
    return made.lines


def running() -> list[dict[str, Any]]:
    made = Script(LIVE, datetime.now(UTC) - timedelta(seconds=50))
    made.prompt("Publish the preview so that Maren can try the codes.")
    made.text("Building the preview, then I publish it under its own address.")
    made.use("Bash", {"command": "make preview"}, None)
    return made.lines


def make_home(folder: Path) -> Path:
    home = folder / "home"
    unpack_demo(home)
    place = home / "projects" / "-home-user-lantern-shop"
    for session, lines in ((SHOW, showcase()), (LIVE, running())):
        titled = (
            [{"type": "custom-title", "customTitle": "The cart total flickers", "sessionId": session}] if session == SHOW else []
        )
        (place / f"{session}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in (*lines, *titled)))
    os.utime(place / f"{SHOW}.jsonl", (0, datetime(2026, 11, 10, 9, 40, tzinfo=UTC).timestamp()))
    return home


Act = Callable[[Any], object]


def _press(*keys: str) -> Act:
    return lambda page: [page.keyboard.press(key) for key in keys]


def _to(selector: str) -> Act:
    return lambda page: page.evaluate(
        "(it) => { const found = document.querySelector(it); found?.scrollIntoView(); scrollBy(0, -90); }", selector
    )


def _fork(page: Any) -> None:
    _to(".fork")(page)


def _reveal(page: Any) -> None:
    page.evaluate("() => [...document.querySelectorAll('.tool')].find((each) => each.textContent.includes('.env')).open = true")
    page.wait_for_selector(".secret")
    page.click(".secret")
    page.wait_for_selector(".secret[data-shown]")
    _to(".secret")(page)


def _other_branch(page: Any) -> None:
    """Through the switch at the fork, as a reader gets there."""
    page.locator(".fork a:not([aria-current])").first.click()
    page.wait_for_url("**branch=*")
    _to(".fork")(page)


def _trim(page: Any) -> None:
    page.evaluate("() => document.querySelector('[data-trim-on]').click()")
    page.locator(".w[data-tool] > .pick").first.check(force=True)
    page.click("[data-trim=plan]")
    page.wait_for_selector("#plan[open] table")


def _filter(words: str) -> Act:
    return lambda page: page.fill("#filter", words)


STATES: dict[str, tuple[str, Act | None]] = {
    "home": ("/", None),
    "home-selected": ("/", _press("j", "j")),
    "home-no-match": ("/", _filter("no such session")),
    "home-project": ("/?project=/home/user/lantern-shop&sort=size", None),
    "session": (f"/s/{SHOW}", None),
    "session-tools": (f"/s/{SHOW}", _to(".todo")),
    "session-edit-mcp": (f"/s/{SHOW}", _to(".diff")),
    "session-split": (f"/s/{SHOW}", lambda page: (page.keyboard.press("d"), _to(".diff")(page))),
    "session-secret": (f"/s/{SHOW}", _reveal),
    "session-answer-fork": (f"/s/{SHOW}", _fork),
    "session-branch": (f"/s/{SHOW}", _other_branch),
    "session-compaction": (f"/s/{SHOW}", _to(".compact")),
    "session-agents": (f"/s/{AUDIT}", None),
    "session-running": (f"/s/{LIVE}", None),
    "session-conversation": (
        f"/s/{SHOW}",
        lambda page: page.evaluate("() => document.querySelector('[data-show=talk]').click()"),
    ),
    "session-record": (f"/s/{SHOW}", lambda page: (page.keyboard.press("r"), page.wait_for_selector("#record.open"))),
    "session-outline": (f"/s/{SHOW}", lambda page: page.evaluate("() => document.querySelector('[data-sheet=outline]').click()")),
    "session-context": (
        f"/s/{SHOW}",
        lambda page: page.evaluate("() => document.querySelector('.pbar [data-sheet=inspector]').click()"),
    ),
    "session-trim": (f"/s/{DISCOUNTS}", _trim),
    "help": (f"/s/{SHOW}", _press("?")),
    "files": (f"/s/{DISCOUNTS}/files", None),
    "files-blame": (f"/s/{SHOW}/files", None),
    "files-split": (f"/s/{SHOW}/files", _press("d")),
    "messages": (f"/s/{SHOW}/messages", None),
    "records": (f"/s/{SHOW}/records", None),
    "raw": (f"/s/{SHOW}/raw/5", None),
    "search": ("/search?q=cart+total", _press("j")),
    "search-narrowed": ("/search?q=total&kinds=outputs&newest=1", None),
    "search-empty": ("/search", None),
    "search-nothing": ("/search?q=zzzyzx", None),
    "usage": ("/usage?since=all&by=week", None),
    "usage-empty": ("/usage?since=2030-01-01&by=block", None),
    "stats": ("/stats?since=all", None),
    "health": ("/health", None),
    "missing": ("/s/00000000-0000-4000-8000-000000000000", None),
}


WIDTHS = {"desktop": (1440, 900), "phone": (390, 844)}
THEMES = ("light", "dark")
#: States that one tab shows: a browser's memory grows with every page.
_PER_TAB = 6


def shoot(server: Served, browser: Any, names: list[str], running_file: Path, only: list[str]) -> list[str]:
    problems: list[str] = []
    for kind, theme in chosen(only):
        width, height = WIDTHS[kind]
        phone = {"device_scale_factor": 2, "is_mobile": True, "has_touch": True} if kind == "phone" else {}
        for start in range(0, len(names), _PER_TAB):
            with tab(browser, server, width=width, height=height, color_scheme=theme, **phone) as seen:
                for name in names[start : start + _PER_TAB]:
                    path, act = STATES[name]
                    seen.problems.clear()
                    running_file.write_text("".join(json.dumps(line) + "\n" for line in running()))
                    seen.page.set_default_timeout(60_000)
                    seen.page.goto("about:blank")
                    seen.open(path)
                    seen.page.wait_for_timeout(150)
                    if act is not None:
                        act(seen.page)
                        seen.page.wait_for_timeout(250)
                    seen.page.screenshot(path=OUT / f"{name}-{width}-{theme}.png")
                    problems += [f"{name} {width} {theme}: {each}" for each in seen.problems if name != "missing"]
    return problems


def chosen(only: list[str]) -> list[tuple[str, str]]:
    kinds = [kind for kind in WIDTHS if kind in only] or list(WIDTHS)
    themes = [theme for theme in THEMES if theme in only] or list(THEMES)
    return [(kind, theme) for kind in kinds for theme in themes]


def sheets(browser: Any, names: list[str], only: list[str]) -> None:
    """All pictures of a width and theme on a few pages."""
    for kind, theme in chosen(only):
        width, columns, many = (1440, 2, 6) if kind == "desktop" else (390, 6, 12)
        for start in range(0, len(names), many):
            some = names[start : start + many]
            cells = "".join(f'<figure><figcaption>{n}</figcaption><img src="{n}-{width}-{theme}.png"></figure>' for n in some)
            style = f"body{{margin:8px;display:grid;grid-template-columns:repeat({columns},1fr);gap:8px;font:13px sans-serif}}figure{{margin:0}}img{{width:100%;border:1px solid #888}}"
            sheet = OUT / "sheet.html"
            sheet.write_text(f"<style>{style}</style>{cells}")
            page = browser.new_page(viewport={"width": 1500, "height": 800})
            page.goto(sheet.resolve().as_uri())
            page.screenshot(path=OUT / f"sheet-{width}-{theme}-{start // many + 1}.png", full_page=True)
            page.close()
            sheet.unlink()


def main() -> int:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description="Screenshots of the viewer's named states.")
    parser.add_argument("states", nargs="*", choices=[[], *STATES], metavar="STATE")
    parser.add_argument("--only", action="append", default=[], choices=[*WIDTHS, *THEMES])
    asked = parser.parse_args()
    names = asked.states or list(STATES)
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        home = make_home(Path(folder))
        with served(home, allow_edits=True) as server:
            server.ask("/search?q=warm")
            problems = shoot(server, browser, names, next(home.rglob(f"{LIVE}.jsonl")), asked.only)
        sheets(browser, names, asked.only)
        browser.close()
    for problem in problems:
        sys.stderr.write(problem + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
