"""Make the demo home: eight small sessions in three projects, shown where a user has no sessions yet.

In: DEST, the directory to hold `demo.tar.xz`. Out: the same archive on every run. People, projects and code are made up;
the shapes are those of releases 2.0.76, 2.1.45, 2.1.112 and 2.1.325 (demo_builder.py). One turn is left open. To read the files:

    tar -xJf src/stenograph/demo/demo.tar.xz -C /tmp

    python scripts/make_demo.py src/stenograph/demo
"""

from __future__ import annotations

import io
import lzma
import sys
import tarfile
from pathlib import Path

from demo_builder import Session

# A web shop in TypeScript

CHECKOUT = """\
import { Cart, lineTotal } from "./cart";

export interface Receipt {
  subtotal: number;
  shipping: number;
  total: number;
}

const FREE_SHIPPING_FROM = 5000;
const SHIPPING = 490;

/** All amounts are in cents. */
export function checkout(cart: Cart): Receipt {
  const subtotal = cart.lines.reduce((sum, line) => sum + lineTotal(line), 0);
  const shipping = subtotal >= FREE_SHIPPING_FROM ? 0 : SHIPPING;
  return { subtotal, shipping, total: subtotal + shipping };
}
"""

CART = """\
export interface Line {
  sku: string;
  price: number;
  quantity: number;
}

export interface Cart {
  lines: Line[];
}

export function lineTotal(line: Line): number {
  return line.price * line.quantity;
}
"""

DISCOUNT = """\
export type Discount =
  | { kind: "percent"; off: number }
  | { kind: "amount"; off: number };

const CODES: Record<string, Discount> = {
  WINTER10: { kind: "percent", off: 10 },
  WELCOME5: { kind: "amount", off: 500 },
};

export function findDiscount(code: string | undefined): Discount | undefined {
  return code === undefined ? undefined : CODES[code.trim().toUpperCase()];
}

/** How much to take off, in cents; never more than the subtotal. */
export function discountOn(subtotal: number, discount: Discount | undefined): number {
  if (discount === undefined) return 0;
  const off = discount.kind === "percent" ? (subtotal * discount.off) / 100 : discount.off;
  return Math.min(off, subtotal);
}
"""

DISCOUNT_TEST = """\
import { expect, test } from "vitest";
import { checkout } from "../src/checkout";

const lamp = { sku: "lamp-oak", price: 3995, quantity: 1 };

test("ten percent off is a whole number of cents", () => {
  const receipt = checkout({ lines: [lamp] }, "WINTER10");
  expect(receipt.discount).toBe(400);
  expect(receipt.total).toBe(3995 - 400 + 490);
});

test("an unknown code takes nothing off", () => {
  expect(checkout({ lines: [lamp] }, "SUMMER99").discount).toBe(0);
});

test("free shipping counts what is paid, not the list price", () => {
  const receipt = checkout({ lines: [{ ...lamp, price: 5200 }] }, "WELCOME5");
  expect(receipt.shipping).toBe(490);
});
"""


def shop_discounts() -> Session:
    s = Session("shop-discounts", "lantern-shop", "2.1.325", "2026-11-10T09:12:04", "claude-opus-5-5", "discount-codes")
    s.tree |= {"src/checkout.ts": CHECKOUT, "src/cart.ts": CART}
    s.open_modern()
    s.prompt(
        "We want discount codes at the checkout: WINTER10 takes 10 % off, WELCOME5 takes 5 euros off. Free shipping should "
        "count what the customer pays after the discount. Please add tests."
    )
    s.attach({"type": "date", "date": "2026-11-10"})
    s.answer(
        "I'll look at how the totals are computed today.",
        s.read("src/checkout.ts"),
        s.read("src/cart.ts"),
        think="The amounts are probably in cents. Rounding will matter for percentages.",
    )
    s.answer(
        "Amounts are whole cents, so a percentage needs rounding. I'll put the codes into a module of their own.",
        s.create("src/discount.ts", DISCOUNT),
    )
    s.answer(
        "",
        s.edit(
            "src/checkout.ts",
            'import { Cart, lineTotal } from "./cart";\n',
            'import { Cart, lineTotal } from "./cart";\nimport { discountOn, findDiscount } from "./discount";\n',
        ),
        s.edit("src/checkout.ts", "  subtotal: number;\n", "  subtotal: number;\n  discount: number;\n"),
        s.edit(
            "src/checkout.ts",
            "export function checkout(cart: Cart): Receipt {\n",
            "export function checkout(cart: Cart, code?: string): Receipt {\n",
        ),
        s.edit(
            "src/checkout.ts",
            "  const shipping = subtotal >= FREE_SHIPPING_FROM ? 0 : SHIPPING;\n"
            "  return { subtotal, shipping, total: subtotal + shipping };\n",
            "  const discount = discountOn(subtotal, findDiscount(code));\n"
            "  const paid = subtotal - discount;\n"
            "  const shipping = paid >= FREE_SHIPPING_FROM ? 0 : SHIPPING;\n"
            "  return { subtotal, discount, shipping, total: paid + shipping };\n",
        ),
        s.create("test/discount.test.ts", DISCOUNT_TEST),
    )
    take_up = s.queue("Please also trim blanks around a code, people paste them from mails.")
    s.answer(
        "",
        s.bash(
            "npx vitest run test/discount.test.ts",
            "Run the new tests",
            " FAIL  test/discount.test.ts > ten percent off is a whole number of cents\n"
            "AssertionError: expected 399.5 to be 400\n\n"
            " Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)",
            code=1,
        ),
    )
    take_up()
    s.answer(
        "The rounding case fails as expected: 10 % of 39.95 is half a cent. I'll round in favour of the customer. Blanks are "
        "already trimmed in `findDiscount`.",
        s.edit(
            "src/discount.ts",
            "(subtotal * discount.off) / 100 : discount.off",
            "Math.ceil((subtotal * discount.off) / 100) : discount.off",
        ),
        think="ceil of 399.5 is 400. The queued wish about blanks is covered by trim(), I should say so.",
    )
    s.answer(
        "",
        s.bash(
            "npx vitest run && npx tsc --noEmit",
            "Run all tests and check the types",
            " ✓ test/cart.test.ts (4 tests) 6ms\n ✓ test/checkout.test.ts (5 tests) 9ms\n"
            " ✓ test/discount.test.ts (3 tests) 7ms\n\n Test Files  3 passed (3)\n      Tests  12 passed (12)",
        ),
    )
    s.answer(
        "Discount codes work at the checkout:\n\n- `src/discount.ts` holds the two codes; case and blanks around a code don't "
        "matter.\n- Percentages are rounded up to whole cents, in the customer's favour.\n- Free shipping counts what is paid."
        "\n\nAll 12 tests pass and the types check."
    )
    s.turn_duration()
    s.ai_title("Add discount codes to the checkout")
    s.prompt("Commit it, please.")
    s.answer(
        "",
        s.bash(
            'git add -A && git commit -qm "Add discount codes to the checkout" && git log --oneline -1',
            "Commit the change",
            "8c41d0e Add discount codes to the checkout",
        ),
    )
    s.answer("Committed as `8c41d0e` on `discount-codes`.")
    s.turn_duration()
    s.ai_title("Add discount codes to the checkout")
    s.close()
    return s


CART_VIEW = """\
import { useEffect, useState } from "react";
import { checkout } from "../checkout";
import type { Cart } from "../cart";

export function CartTotal({ cart }: { cart: Cart }) {
  const [total, setTotal] = useState(0);

  useEffect(() => {
    setTotal(checkout(cart).total);
  }, [cart]);

  return <output className="cart-total">{(total / 100).toFixed(2)} €</output>;
}
"""


def shop_flicker() -> Session:
    s = Session("shop-flicker", "lantern-shop", "2.1.325", "2026-11-12T16:40:31", "claude-opus-5-5")
    s.tree |= {"src/views/CartTotal.tsx": CART_VIEW}
    s.open_modern()
    s.prompt("The cart total shows 0.00 € for a moment when the page opens. Can you find out why?")
    s.answer("", s.bash("grep -rn 'cart-total' src", "Find the total", "src/views/CartTotal.tsx:12:  return <output …"))
    for attempt in (1, 2, 3):
        s.api_error(attempt, 529, "overloaded_error")
    s.give_up(529, "overloaded_error")
    s.prompt("Try again.")
    s.answer("", s.read("src/views/CartTotal.tsx"))
    s.answer(
        "The total is state that an effect fills in after the first paint, so the first paint shows its initial 0. The total "
        "follows from the cart, so it needs no state at all.",
        s.edit(
            "src/views/CartTotal.tsx",
            "  const [total, setTotal] = useState(0);\n\n"
            "  useEffect(() => {\n    setTotal(checkout(cart).total);\n  }, [cart]);\n",
            "  const { total } = checkout(cart);\n",
        ),
        s.edit("src/views/CartTotal.tsx", 'import { useEffect, useState } from "react";\n', ""),
        think="Derived state in an effect. Compute during render instead.",
    )
    s.answer(
        "",
        s.bash("npx vitest run && npx tsc --noEmit", "Run the tests", " Test Files  3 passed (3)\n      Tests  12 passed (12)"),
    )
    s.answer("Fixed: `CartTotal` now computes the total while rendering, so there is no first frame with 0.00 €.")
    s.turn_duration()
    s.ai_title("Cart total flickers on load")
    s.custom_title("cart-total-flicker")
    s.close()
    return s


PRODUCT_PAGE = """\
<main>
  <img src="/img/lamp-oak.jpg">
  <h3>Oak lamp</h3>
  <div class="price">39.95 €</div>
  <div class="button" onclick="addToCart('lamp-oak')">Add to cart</div>
</main>
"""


def dependency_tree() -> str:
    """A long, dull listing, as `npm ls --all` gives one."""
    names: tuple[str, ...] = (
        "ansi-styles",
        "chokidar",
        "debug",
        "esbuild",
        "fdir",
        "glob-parent",
        "json5",
        "lru-cache",
        "ms",
        "nanoid",
    )
    names += ("picomatch", "postcss", "react-dom", "rollup", "scheduler", "semver", "source-map-js", "tinypool", "vite", "ws")
    lines = ["lantern-shop@1.4.0 /home/user/lantern-shop"]
    for number in range(1, 1601):
        name = names[number * 7 % len(names)]
        depth = number * 5 % 4
        lines.append("| " * depth + f"+-- {name}@{number % 9 + 1}.{number % 23}.{number % 5}")
    return "\n".join(lines)


def shop_audit() -> Session:
    s = Session("shop-audit", "lantern-shop", "2.1.112", "2026-04-21T13:05:47", "claude-opus-4-7", slug="bright-oak-lantern")
    s.tree |= {"pages/product.html": PRODUCT_PAGE}
    s.prompt("Have someone audit the product page for accessibility, then fix what is serious.")

    def audit(a: Session) -> str:
        a.answer("I'll read the page first.", a.read("pages/product.html"))
        a.answer(
            "",
            a.bash("npx axe pages/product.html", "Run axe", "3 violations: image-alt, heading-order, nested-interactive", code=1),
            think="axe agrees with what I saw; the clickable div is the worst of them.",
        )
        return (
            "Three findings, worst first:\n\n1. The add-to-cart control is a `div`: no keyboard can reach it.\n"
            "2. The image has no text alternative.\n3. The first heading is an `h3`."
        )

    s.answer(
        "I'll let a helper do the audit.",
        s.delegate(
            "Audit the product page",
            "Audit pages/product.html for accessibility. Report findings, worst first. Do not change files.",
            audit,
        ),
    )
    s.answer(
        "All three are quick to fix.",
        s.edit(
            "pages/product.html",
            '<div class="button" onclick="addToCart(\'lamp-oak\')">Add to cart</div>',
            '<button type="button" onclick="addToCart(\'lamp-oak\')">Add to cart</button>',
        ),
        s.edit("pages/product.html", '<img src="/img/lamp-oak.jpg">', '<img src="/img/lamp-oak.jpg" alt="Oak table lamp">'),
        s.edit("pages/product.html", "<h3>Oak lamp</h3>", "<h1>Oak lamp</h1>"),
    )
    s.answer("", s.bash("npx axe pages/product.html", "Run axe again", "0 violations"))
    s.answer("The page is clean now: a real button, a text for the image, and an `h1`.")
    s.prompt("Which packages do we pull in, all told?")
    s.answer("", s.bash("npm ls --all", "List every package", dependency_tree()))
    s.answer("About 1,600 entries, most of them below `vite` and `vitest`. Only `react` and `react-dom` reach the customer.")
    s.close()
    return s


# A data tool in Python

READER = '''\
"""Reads the hourly levels of a tide gauge."""

import csv
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass
class Level:
    at: datetime
    metres: float


def read_levels(path: Path) -> list[Level]:
    with path.open(newline="") as file:
        return [Level(datetime.fromisoformat(row["time"]), float(row["level"])) for row in csv.DictReader(file)]
'''

GAPS = '''\
"""Finds the hours a gauge did not report."""

from datetime import datetime, timedelta

from tidemark.reader import Level

HOUR = timedelta(hours=1)


def missing_hours(levels: list[Level]) -> list[datetime]:
    found = []
    for before, after in zip(levels, levels[1:]):
        at = before.at + HOUR
        while at < after.at:
            found.append(at)
            at += HOUR
    return found
'''

GAPS_TEST = """\
from datetime import datetime

from tidemark.gaps import missing_hours
from tidemark.reader import Level


def at(hour: int) -> datetime:
    return datetime(2026, 2, 1, hour)


def test_a_full_day_misses_nothing() -> None:
    assert missing_hours([Level(at(hour), 1.0) for hour in range(24)]) == []


def test_each_hour_of_a_gap_is_named() -> None:
    assert missing_hours([Level(at(3), 1.0), Level(at(6), 1.2)]) == [at(4), at(5)]
"""


def tide_gaps() -> Session:
    s = Session("tide-gaps", "tidemark", "2.1.45", "2026-02-17T08:31:15", "claude-opus-4-6", slug="gentle-rising-tide")
    s.tree |= {"tidemark/reader.py": READER, "data/harbour.csv": "time,level\n2026-02-01T00:00,1.92\n2026-02-01T01:00,\n"}
    s.prompt("The import crashes on the harbour gauge's February file. Find out why and make it robust.")
    s.answer(
        "Let me reproduce it and read the code side by side.",
        s.bash(
            "python -m tidemark import data/harbour.csv",
            "Reproduce the crash",
            "Traceback (most recent call last):\n  …\nValueError: could not convert string to float: ''",
            code=1,
        ),
        s.read("tidemark/reader.py"),
        s.grep("read_levels", "tidemark/cli.py:14:    levels = read_levels(path)", "tidemark/reader.py:15:def read_levels("),
        think="An empty level: the gauge was down for an hour. Skipping silently would hide gaps, so report them.",
    )
    s.answer(
        "",
        s.todo(Skip_empty_levels="in_progress", Report_missing_hours="pending", Write_tests="pending"),
    )
    s.answer(
        "The gauge writes an empty level when it is down. I'll skip such rows, and report the missing hours so that a gap is "
        "never silent.",
        s.edit(
            "tidemark/reader.py",
            '        return [Level(datetime.fromisoformat(row["time"]), float(row["level"])) for row in csv.DictReader(file)]\n',
            '        rows = [row for row in csv.DictReader(file) if row["level"]]\n'
            '    return [Level(datetime.fromisoformat(row["time"]), float(row["level"])) for row in rows]\n',
        ),
    )
    s.answer("", s.create("tidemark/gaps.py", GAPS), s.create("tests/test_gaps.py", GAPS_TEST))
    s.answer(
        "",
        s.bash("python -m pytest -q", "Run the tests", ".......                                      [100%]\n7 passed in 0.21s"),
        s.todo(Skip_empty_levels="completed", Report_missing_hours="completed", Write_tests="completed"),
    )
    s.answer("The import no longer crashes, and `missing_hours` names every hour the gauge did not report. 7 tests pass.")
    s.prompt("Good. Now draw the gaps into the monthly chart, as grey bands.")
    s.answer("", s.grep("def draw", "tidemark/chart.py:22:def draw_month(levels, path):"))
    s.compact(
        "Summary:\n1. Primary request: make the import of data/harbour.csv robust, then draw gaps as grey bands.\n"
        "2. Done: empty levels are skipped in tidemark/reader.py; tidemark/gaps.py finds missing hours; tests pass.\n"
        "3. Open: tidemark/chart.py, draw_month at line 22, does not know about gaps yet.",
        167_402,
    )
    s.tree["tidemark/chart.py"] = (
        "def draw_month(levels, path):\n    figure, axes = plt.subplots()\n    axes.plot(*series(levels))\n"
    )
    s.answer("I'll go on with the chart.", s.read("tidemark/chart.py"))
    s.answer(
        "",
        s.edit(
            "tidemark/chart.py",
            "    axes.plot(*series(levels))\n",
            "    axes.plot(*series(levels))\n    for hour in missing_hours(levels):\n"
            '        axes.axvspan(hour, hour + HOUR, color="0.9", linewidth=0)\n',
        ),
    )
    s.answer("", s.bash("python -m tidemark chart data/harbour.csv", "Draw the chart", "wrote charts/harbour-2026-02.png"))
    s.answer("The February chart shows the gap on the 1st as a grey band.")
    return s


def tide_import() -> Session:
    s = Session("tide-import", "tidemark", "2.1.45", "2026-02-19T10:02:50", "claude-sonnet-4-6")
    s.prompt("Importing ten years of data takes four minutes. Measure where the time goes.")
    s.interrupt(
        "I'll profile a full import.",
        s.bash("python -X importtime -m cProfile -s tottime -m tidemark import data/all", "Profile the import"),
        "imported 2016 …",
    )
    s.prompt("That takes too long, use one year only.", pause=(4, 12))
    s.answer(
        "",
        s.bash(
            "python -m cProfile -s tottime -m tidemark import data/2025.csv | head -8",
            "Profile one year",
            "   ncalls  tottime  cumtime filename:lineno(function)\n"
            "     8760   17.204   19.118 store.py:31(commit)\n"
            "     8760    0.402    0.871 {method 'fromisoformat'}\n"
            "        1    0.031   21.006 cli.py:9(import_file)",
        ),
    )
    s.answer(
        "Four fifths of the time is `commit`: the store commits after each of the 8,760 rows. One transaction for the whole file "
        "should bring a year from 21 seconds to under 4.",
        think="17.2 of 21.0 seconds. Batch the commits.",
    )
    s.custom_title("slow import")
    return s


def tide_report() -> Session:
    s = Session("tide-report", "tidemark", "2.1.325", "2026-11-13T07:55:09", "claude-opus-5-5", "monthly-report")
    s.tree |= {"reports/template.md": "# Tides at {gauge}, {month}\n\nHighest: {highest} m\nLowest: {lowest} m\n"}
    s.open_modern()
    s.prompt("Build the October report for the harbour gauge from the template and publish it.")
    s.answer("", s.read("reports/template.md"))
    s.answer(
        "",
        s.bash(
            "python -m tidemark report harbour --month 2026-10",
            "Build the report",
            "wrote reports/harbour-2026-10.md\nhighest 3.41 m on 2026-10-28, lowest 0.22 m on 2026-10-29",
        ),
    )
    s.ai_title("Publish the October tide report")
    s.answer(
        "The report is built: highest water 3.41 m on the 28th. Publishing it now.",
        s.bash("make publish REPORT=reports/harbour-2026-10.md", "Publish the report"),
        open_end=True,
    )
    return s


# A blog

FEED = """\
<rss version="2.0"><channel>
{{ range .Posts }}<item>
  <title>{{ .Title }}</title>
  <pubDate>{{ .Date.Format "2006-01-02" }}</pubDate>
</item>{{ end }}
</channel></rss>
"""


def blog_post() -> Session:
    s = Session(
        "blog-post", "field-notes-blog", "2.0.76", "2026-01-08T19:20:11", "claude-sonnet-4-5-20250929", slug="mossy-stone-path"
    )
    s.tree |= {"posts/2025-11-herons.md": "# Herons at the weir\n\nShort sentences. One walk, one thing seen.\n"}
    s.prompt("Draft a post about the frost walk on Sunday from notes/frost.md. Same tone as the older posts.")

    def tone(a: Session) -> str:
        a.answer("", a.grep("^# ", "posts/2025-11-herons.md:1:# Herons at the weir", "posts/2025-12-fog.md:1:# Fog"))
        a.answer("", a.read("posts/2025-11-herons.md"))
        return "The posts are short: 150 to 250 words, present tense, one walk and one thing seen, no exclamation marks."

    s.tree["notes/frost.md"] = (
        "Sun, -6. Ice on the weir sings when the sun reaches it. A wren in the reeds. Turned back at the mill.\n"
    )
    s.answer(
        "I'll read your notes while a helper looks at the tone of the older posts.",
        s.read("notes/frost.md"),
        s.delegate("Describe the tone", "Read the posts in posts/ and describe their tone in two sentences.", tone),
    )
    s.answer(
        "",
        s.create(
            "posts/2026-01-frost.md",
            "# The weir sings\n\nMinus six, and no wind. The weir is a shelf of ice.\n\nWhen the sun reaches it the ice "
            "begins to sing, one long note, then a lower one. A wren goes on working in the reeds as if it "
            "had heard it before.\n\nI turn back at the mill.\n",
        ),
        think="Keep it short and in the present tense, end where the notes end.",
    )
    s.answer(
        "The draft is in `posts/2026-01-frost.md`: 60 words so far, present tense, ending at the mill. Shall I make it longer?"
    )
    s.prompt("No, it is right like this. Thank you.")
    s.answer("Good. It is ready to publish.")
    return s


def blog_feed(post: Session) -> Session:
    s = Session("blog-feed", "field-notes-blog", "2.0.76", "2026-01-09T07:48:36", "claude-sonnet-4-5-20250929")
    s.tree |= {"layouts/feed.xml": FEED}
    # 2.0.76 writes titles of other sessions into the file it has just opened (contract A16).
    s.summary("Drafting the frost walk post", post.leaf)
    s.prompt("Feed readers show my posts without dates. What is wrong with the feed?")
    s.answer("", s.read("layouts/feed.xml"))
    s.answer(
        "`pubDate` has to be an RFC 822 date; the template writes `2026-01-08`. I'll change the format.",
        s.edit(
            "layouts/feed.xml",
            '{{ .Date.Format "2006-01-02" }}',
            '{{ .Date.Format "Mon, 02 Jan 2006 15:04:05 -0700" }}',
        ),
    )
    s.answer("", s.bash("hugo --quiet && xmllint --noout public/feed.xml && grep -m1 pubDate public/feed.xml", "Build and check",
                        "  <pubDate>Thu, 08 Jan 2026 20:00:00 +0100</pubDate>"))  # fmt: skip
    s.answer("The feed is valid again, and dates read like `Thu, 08 Jan 2026 20:00:00 +0100`.")
    s.summary("RSS feed dates fixed")
    return s


def build() -> dict[str, tuple[str, int]]:
    """Every file of the demo with the time of its session's last line, by its path under `projects/`."""
    post = blog_post()
    sessions = [
        shop_discounts(),
        shop_flicker(),
        shop_audit(),
        tide_gaps(),
        tide_import(),
        tide_report(),
        post,
        blog_feed(post),
    ]
    return {path: (text, int(session.now.timestamp())) for session in sessions for path, text in session.files().items()}


def archive_of(files: dict[str, tuple[str, int]]) -> bytes:
    """One solid archive: the sessions have most of their keys in common."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, (text, modified) in sorted(files.items()):
            member = tarfile.TarInfo(f"projects/{name}")
            member.size, member.mtime = len(content := text.encode()), modified
            archive.addfile(member, io.BytesIO(content))
    return lzma.compress(packed.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.stderr.write("usage: make_demo.py DEST\n")
        return 2
    (Path(arguments[0]) / "demo.tar.xz").write_bytes(archive_of(build()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
