"""How the index grows with its sources, as a picture: seconds of the first index and milliseconds of a warm search by size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_WIDE, _HIGH = 640, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 44, 40, 40


def draw_growth(path: Path, first: Mapping[int, float], warm: Mapping[int, float]) -> Path:
    """Write an SVG with both curves, one above the other. Sizes are in MB, times in seconds."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {2 * _HIGH}" width="{_WIDE}" role="img"'
        ' font-family="sans-serif" font-size="12">',
        "<title>The first index and a warm search by the size of the sessions</title>",
        f'<rect width="{_WIDE}" height="{2 * _HIGH}" fill="white"/>',
        *_chart("First index, in seconds", list(first), list(first.values()), 0),
        *_chart("Warm search, whole process, in milliseconds", list(warm), [each * 1000 for each in warm.values()], _HIGH),
        "</svg>",
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")
    return path


def _chart(title: str, sizes: Sequence[int], values: Sequence[float], top: int) -> Iterator[str]:
    most, largest = max(values) or 1.0, max(sizes)
    ground = top + _HIGH - _BOTTOM

    def place(size: float, value: float) -> tuple[float, float]:
        across = _LEFT + (_WIDE - _LEFT - _RIGHT) * size / largest
        return across, ground - (_HIGH - _TOP - _BOTTOM) * value / most

    points = [place(size, value) for size, value in zip(sizes, values, strict=True)]
    yield f'<text x="{_LEFT}" y="{top + 22}" font-weight="bold">{title}</text>'
    yield f'<path d="M{_LEFT} {top + _TOP}V{ground}H{_WIDE - _RIGHT}" fill="none" stroke="#888"/>'
    yield f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" fill="none" stroke="#06c" stroke-width="2"/>'
    for (x, y), size, value in zip(points, sizes, values, strict=True):
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#06c"/>'
        yield f'<text x="{x:.1f}" y="{y - 8:.1f}" text-anchor="middle">{value:,.{0 if value >= 10 else 1}f}</text>'
        yield f'<text x="{x:.1f}" y="{ground + 18}" text-anchor="middle">{size:,} MB</text>'
