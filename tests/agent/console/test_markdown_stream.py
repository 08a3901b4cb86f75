from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from stenograph.agent.faces.console.markdown_stream import MarkdownStream

LIST = "1. one\n   - nested\n\n   more of one\n2. two"
FENCE = "```python\ndef f():\n\n    return 1\n```"
TEXT = f"# Title\n\nA paragraph\nof two lines.\n\n{LIST}\n\n{FENCE}\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end."
BLOCKS = ["# Title", "A paragraph\nof two lines.", LIST, FENCE, "| a | b |\n|---|---|\n| 1 | 2 |", "The end."]


def test_blocks_end_at_an_empty_line_before_text_at_the_margin() -> None:
    stream = MarkdownStream()
    stream.feed(TEXT + "\n")
    assert stream.take() == BLOCKS[:-1]
    assert stream.rest.strip() == "The end."
    assert stream.end() == ["The end."]


@given(st.lists(st.integers(1, len(TEXT) - 1), max_size=40))
def test_how_the_text_is_cut_into_deltas_does_not_matter(places: list[int]) -> None:
    edges = [0, *sorted(set(places)), len(TEXT)]
    stream = MarkdownStream()
    blocks: list[str] = []
    for start, end in itertools.pairwise(edges):
        stream.feed(TEXT[start:end])
        blocks += stream.take()
    assert blocks + stream.end() == BLOCKS


def test_a_fence_that_grows_too_large_is_divided_and_stays_a_fence() -> None:
    stream = MarkdownStream()
    lines = [f"line {number:04}" for number in range(2000)]
    stream.feed("```text\n" + "\n".join(lines) + "\n```\n")
    blocks = stream.end()
    assert len(blocks) > 1
    assert all(block.startswith("```text\n") and block.endswith("```") for block in blocks)
    assert [line for block in blocks for line in block.split("\n")[1:-1]] == lines


def test_what_still_grows_stays_small() -> None:
    stream = MarkdownStream()
    for number in range(5000):
        stream.feed(f"- item {number}\n")
    assert len(stream.rest) < 10_000


def test_only_the_end_of_a_long_paragraph_is_drawn_while_it_grows() -> None:
    stream = MarkdownStream()
    for number in range(20_000):
        stream.feed(f"word{number} ")
    shown = stream.end_of_rest(2_000)
    assert len(shown) <= 2_000
    assert shown.startswith("word")
    assert shown.endswith("word19999 ")
    assert len(stream.end()[0].split()) == 20_000
