"""Charts and the tape as SVG: widths and heights are attributes, because the pages allow no inline style."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

from markupsafe import Markup, escape

from stenograph.views.pages.timeline import CallFigures, TurnOutline
from stenograph.views.text import money, thousands

# By the letters of a tape: class, and how high its tick is of 16.
_TICKS = {
    "p": ("p", 16), "r": ("r", 5), "b": ("b", 8), "e": ("e", 11), "g": ("g", 14), "w": ("w", 10), "o": ("r", 7), "x": ("x", 13),
    "c": ("c", 16), "i": ("c", 12),
}  # fmt: skip
# More steps of a turn or session than ticks fit are binned.
_ORDER = "xpcgiewbor"


def tape(letters: str, width: int = 188, *, tick: float = 3, gap: float = 1) -> Markup:
    """A session or a turn as ticks. Steps that do not fit are binned: of each bin the most telling is drawn."""
    shown = [letter for letter in letters if letter in _TICKS]
    if not shown:
        return Markup("")
    room = int((width + gap) // (tick + gap))
    if len(shown) > room:
        size = len(shown) / room
        bins = (shown[int(place * size) : max(int(place * size) + 1, int((place + 1) * size))] for place in range(room))
        shown = [min(each, key=_ORDER.index) for each in bins if each]
    paths: dict[str, list[str]] = {}
    for place, letter in enumerate(shown):
        name, height = _TICKS[letter]
        x = place * (tick + gap)
        paths.setdefault(name, []).append(f"M{x:g} {16 - height}h{tick:g}v{height}h-{tick:g}z")
    drawn = "".join(f'<path class="{name}" d="{"".join(found)}"/>' for name, found in paths.items())
    total = len(shown) * (tick + gap) - gap
    return Markup(f'<svg class="tape" width="{total:g}" height="16" viewBox="0 0 {total:g} 16" aria-hidden="true">{drawn}</svg>')


def spark(counts: Sequence[float], width: int = 60, height: int = 14) -> Markup:
    top = max(counts, default=0)
    if not top:
        return Markup("")
    step = width / len(counts)
    bars = "".join(
        f"M{place * step:.1f} {height - size}h{step - 1:.1f}v{size}h-{step - 1:.1f}z"
        for place, count in enumerate(counts)
        if (size := max(1, round(height * count / top)) if count else 0)
    )
    return Markup(f'<svg width="{width}" height="{height}" aria-hidden="true"><path class="spark" d="{bars}"/></svg>')


def bar(share: float, width: int = 130, name: str = "q3") -> Markup:
    """One bar of a table."""
    size = max(0.5, min(1.0, share) * width) if share > 0 else 0
    return Markup(
        f'<svg class="meter" width="{width}" height="10" aria-hidden="true"><rect class="{name}" width="{size:.1f}" height="8" y="1" rx="1"/></svg>'
    )


def stack(parts: Sequence[tuple[str, float, str]], total: float) -> Markup:
    """Parts of a whole side by side: class, amount, name."""
    x = 0.0
    drawn = []
    for name, amount, label in parts:
        width = 100 * amount / total if total else 0
        if width > 0:
            drawn.append(
                f'<rect class="{name}" x="{x:.2f}" width="{max(0.2, width - 0.3):.2f}" height="8"><title>{escape(label)}</title></rect>'
            )
        x += width
    return Markup(
        f'<svg class="stack" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="Context">{"".join(drawn)}</svg>'
    )


_WIDTH, _LEFT = 288, 30
_TOP, _BASE = 8, 112
_COST_TOP, _COST_BASE = 128, 160
#: The classes of what fills a context, in the order of `analysis.PARTS`, and their names.
PART_CLASSES = ("q1", "q2", "q3", "q4", "q5", "q6", "q7")
PART_NAMES = ("System, tools", "Memory files", "Files read", "Tool output", "Conversation", "Thinking", "Unknown")
#: Links of a chart; more turns share one.
_MOST_LINKS = 60
#: More calls are binned.
_MOST = 262
#: How wide a digit of a label is.
_DIGIT = 6.2


def context_chart(calls: Sequence[CallFigures], outline: Sequence[TurnOutline], window: int | None) -> Markup:
    """The context of every call above, up to the model's window if it is known; the cost of every turn below; a link for each."""
    if not calls:
        return Markup("")
    largest = max(call.context for call in calls)
    scale = window if window and 0.35 * window < largest <= window else _round_up(largest)
    drawn = [_grid(scale, window)]
    bins = _binned(calls)
    step = min(18.0, (_WIDTH - _LEFT) / len(bins))
    width = max(0.6, step - (0.8 if step > 2 else 0.2))
    bars: dict[str, list[str]] = {}
    for place, call in enumerate(bins):
        y = float(_BASE)
        parts = zip(PART_CLASSES, call.parts, strict=True) if call.parts else [("q3", call.context)]
        for name, tokens in parts:
            height = (_BASE - _TOP) * tokens / scale
            if height > 0.05:
                y -= height
                bars.setdefault(name, []).append(f"M{_LEFT + place * step:.1f} {y:.1f}h{width:.1f}v{height:.1f}h-{width:.1f}z")
    drawn += [f'<path class="{name}" d="{"".join(found)}"/>' for name, found in bars.items()]
    drawn.append(_costs(bins, step, outline))
    return Markup(
        f'<svg class="chart" viewBox="0 0 {_WIDTH} 178" role="group" aria-label="Context by call and cost by turn">{"".join(drawn)}</svg>'
    )


def _round_up(number: int) -> int:
    power = 10 ** (len(str(max(1, number))) - 1)
    return int(next(unit * power for unit in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10) if unit * power >= number))


def _grid(scale: int, window: int | None) -> str:
    lines = []
    for part in (0, 0.25, 0.5, 0.75, 1):
        y = _BASE - (_BASE - _TOP) * part
        if part == 1 and scale == window:
            lines.append(
                f'<path class="lim" d="M{_LEFT} {y}H{_WIDTH}"/><text x="{_WIDTH}" y="{y - 3}" text-anchor="end">limit {thousands(scale).replace(".0", "")}</text>'
            )
        else:
            label = thousands(round(scale * part)).replace(".0", "")
            lines.append(
                f'<path class="grid" d="M{_LEFT} {y}H{_WIDTH}"/><text x="{_LEFT - 5}" y="{y + 3.5}" text-anchor="end">{label}</text>'
            )
    return "".join(lines)


def _binned(calls: Sequence[CallFigures]) -> list[CallFigures]:
    if len(calls) <= _MOST:
        return list(calls)
    size = len(calls) / _MOST
    return [
        max(calls[int(place * size) : max(int(place * size) + 1, int((place + 1) * size))], key=lambda call: call.context)
        for place in range(_MOST)
    ]


def _costs(bins: Sequence[CallFigures], step: float, outline: Sequence[TurnOutline]) -> str:
    usd = {turn.number: turn.usd or 0 for turn in outline}
    top = max(usd.values(), default=0)
    drawn = [f'<path class="grid" d="M{_LEFT} {_COST_BASE}H{_WIDTH}"/>']
    if top:
        drawn.append(f'<text x="{_LEFT - 5}" y="{_COST_TOP + 4}" text-anchor="end">{money(top)}</text>')
    place = 0
    runs = [(number, len(list(group))) for number, group in groupby(bins, key=lambda call: call.turn)]
    is_crowded = len(runs) > 24
    if is_crowded:
        drawn.append(_cost_bars(runs, step, usd, top))
        runs = _merged(runs, -(-len(runs) // _MOST_LINKS))
    labeled_to = 0.0
    for number, count in runs:
        x, width = _LEFT + place * step, count * step
        place += count
        height = (_COST_BASE - _COST_TOP) * usd.get(number, 0) / top if top else 0
        label = ""
        middle, half = x + width / 2, len(str(number)) * _DIGIT / 2
        if middle - half >= labeled_to:
            label = f'<text x="{middle:.1f}" y="172" text-anchor="middle">{number}</text>'
            labeled_to = middle + half + _DIGIT
        bar = (
            ""
            if is_crowded or height <= 0
            else (
                f'<rect class="q2" x="{x:.1f}" y="{_COST_BASE - height:.1f}" width="{max(0.6, width - 1):.1f}" height="{height:.1f}"/>'
            )
        )
        drawn.append(
            f'<a href="#turn-{number}" data-t="{number}" aria-label="Turn {number}, {money(usd.get(number, 0))}">'
            f'<rect class="band" x="{x:.1f}" y="{_TOP - 4}" width="{max(1, width):.1f}" height="170"/>{bar}{label}</a>'
        )
    return "".join(drawn)


def _cost_bars(runs: Sequence[tuple[int, int]], step: float, usd: Mapping[int, float], top: float) -> str:
    """The bars of many turns as one shape."""
    bars = []
    x = float(_LEFT)
    for number, count in runs:
        height = (_COST_BASE - _COST_TOP) * usd.get(number, 0) / top if top else 0
        width = max(0.6, count * step - 0.4)
        bars.append(f"M{x:.1f} {_COST_BASE - height:.1f}h{width:.1f}v{height:.1f}h-{width:.1f}z")
        x += count * step
    return f'<path class="q2" d="{"".join(bars)}"/>'


def _merged(runs: Sequence[tuple[int, int]], many: int) -> list[tuple[int, int]]:
    """So many neighbors as one, named by the first."""
    groups = [runs[start : start + many] for start in range(0, len(runs), many)]
    return [(group[0][0], sum(count for _, count in group)) for group in groups]


#: So many columns fit a phone.
_FEW_COLUMNS = 8
_THINNEST = 1.5


class Column:
    """One column of a chart: its label and its parts; `year` where the label does not say it."""

    def __init__(self, label: str, parts: Iterable[float], title: str = "", year: int | None = None) -> None:
        self.label = label
        self.parts = tuple(parts)
        self.title = title
        self.year = year


def columns(
    data: Sequence[Column],
    *,
    height: int = 200,
    axis: Callable[[float], str] | None = None,
    text: Callable[[float], str] | None = None,
) -> Markup:
    """Stacked columns; parts in the legend's order from below. `axis` and `text` say amounts, which are money unless given."""
    axis, text = axis or money_axis, text or money
    top = max((sum(column.parts) for column in data), default=0)
    if not data or top <= 0:
        return Markup("")
    is_short = len(data) <= _FEW_COLUMNS
    width = 560 if is_short else 1090
    has_years = len({column.year for column in data}) > 1
    left, base = 46 if is_short else 36, height - (36 if has_years else 24)
    scale = _nice(top)
    drawn = []
    for part in range(4):
        y = base - (base - 14) * part / 3
        drawn.append(
            f'<path class="grid" d="M{left} {y:.1f}H{width}"/><text x="{left - 6}" y="{y + 3.5:.1f}" text-anchor="end">{axis(scale * part / 3)}</text>'
        )
    step = (width - left) / len(data)
    bar_width = min(60.0, max(_THINNEST, step * 0.82))
    every = max(1, -(-len(data) // 24))
    best = max(range(len(data)), key=lambda place: sum(data[place].parts))
    year: int | None = None
    for place, column in enumerate(data):
        x = left + place * step + (step - bar_width) / 2
        y = float(base)
        rects = []
        for number, amount in enumerate(column.parts, 1):
            size = (base - 14) * amount / scale
            if size > 0:
                y -= size
                rects.append(f'<rect class="s{number}" x="{x:.1f}" y="{y:.2f}" width="{bar_width:.1f}" height="{size:.2f}"/>')
        if rects:
            drawn.append(f"<g><title>{escape(column.title)}</title>{''.join(rects)}</g>")
        if place == best:
            drawn.append(
                f'<text x="{x + bar_width / 2:.1f}" y="{y - 4:.1f}" text-anchor="middle">{text(sum(column.parts))}</text>'
            )
        if place % every == 0:
            # A phone has room for every other one.
            name = ' class="opt"' if len(data) > every * 12 and place // every % 2 else ""
            label = escape(column.label)
            drawn.append(f'<text{name} x="{x + bar_width / 2:.1f}" y="{base + 15}" text-anchor="middle">{label}</text>')
            if has_years and column.year != year:
                year = column.year
                drawn.append(f'<text x="{x + bar_width / 2:.1f}" y="{base + 28}" text-anchor="middle">{year}</text>')
    return Markup(
        f'<svg class="chart cols{" few" if is_short else ""}" viewBox="0 0 {width} {height}" role="img" aria-label="By time">{"".join(drawn)}</svg>'
    )


def _nice(top: float) -> float:
    power = 10.0
    while power > top:
        power /= 10
    while power * 10 <= top:
        power *= 10
    return next(unit * power for unit in (1.2, 1.5, 3, 4.5, 6, 9, 12) if unit * power >= top)


def money_axis(usd: float) -> str:
    return "$0" if not usd else f"${usd:g}" if usd >= 1 else f"${usd:.2f}" if usd >= 0.01 else f"${usd:.1g}"


def hours_chart(counts: Sequence[int], width: int = 480, height: int = 84) -> Markup:
    """Twenty-four bars, one for each hour of the day."""
    top = max(counts, default=0) or 1
    step, base = width / 24, height - 18
    bars = "".join(
        f'<rect class="q3" x="{hour * step + 1:.1f}" y="{base - size:.1f}" width="{step - 3:.1f}" height="{size:.1f}">'
        f"<title>{hour}:00 to {hour + 1}:00: {count}</title></rect>"
        for hour, count in enumerate(counts)
        if (size := base * count / top)
    )
    labels = "".join(
        f'<text x="{hour * step + (step - 1) / 2:.1f}" y="{height - 4}" text-anchor="middle">{hour}</text>'
        for hour in range(0, 24, 3)
    )
    return Markup(
        f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" aria-label="Turns by hour of the day">'
        f'<path class="grid" d="M0 {base}H{width}"/>{bars}{labels}</svg>'
    )


def _telling(letters: Sequence[str]) -> str:
    """What stands for many steps: a prompt, a compaction, errors where they are many, else what there is most of."""
    for letter in "pc":
        if letter in letters:
            return letter
    counts = Counter(letters)
    return "x" if counts["x"] * 3 >= len(letters) else max(counts, key=lambda letter: (letter != "x", counts[letter]))


#: How wide the map of a session is, and one tick of it at least.
_MAP, _MAP_TICK = 232, 2.0


def minimap(outline: Sequence[TurnOutline], link: Callable[[int], str]) -> Markup:
    """The whole session as ticks, with a link for each turn; of what does not fit the most telling is drawn."""
    ticks = [(letter, turn.number) for turn in outline for letter in (turn.tape or "p") if letter in _TICKS]
    if len(outline) < 2 or not ticks:
        return Markup("")
    room = int(_MAP / _MAP_TICK)
    if len(ticks) > room:
        size = len(ticks) / room
        bins = [ticks[int(place * size) : max(int(place * size) + 1, int((place + 1) * size))] for place in range(room)]
        ticks = [(_telling([letter for letter, _ in each]), each[0][1]) for each in bins]
    step = min(4.0, _MAP / len(ticks))
    paths: dict[str, list[str]] = {}
    for place, (letter, _) in enumerate(ticks):
        name, height = _TICKS[letter]
        tall, wide = height * 1.4, max(1.2, step - 1)
        paths.setdefault(name, []).append(f"M{place * step:.1f} {23 - tall:.1f}h{wide:.1f}v{tall:.1f}h-{wide:.1f}z")
    drawn = "".join(f'<path class="{name}" d="{"".join(found)}"/>' for name, found in paths.items())
    at = 0
    for number, group in groupby(ticks, key=lambda tick: tick[1]):
        count = len(list(group))
        drawn += (
            f'<a href="{escape(link(number))}" data-t="{number}" aria-label="Turn {number}" tabindex="-1">'
            f'<rect class="band" x="{at * step:.1f}" width="{count * step:.1f}" height="26"/></a>'
        )
        at += count
    return Markup(
        f'<svg class="tape map" width="{_MAP}" height="26" viewBox="0 0 {_MAP} 26" preserveAspectRatio="xMinYMid" role="group" aria-label="Map">{drawn}</svg>'
    )
