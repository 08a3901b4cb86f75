from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenograph.agent.faces.console.markdown_stream import MarkdownBlock, MarkdownStream

ONE = "1. one\n   - nested\n\n   more of one"
FENCE = "```python\ndef f():\n\n    return 1\n```"
TEXT = f"# Title\n\nA paragraph\nof two lines.\n\n{ONE}\n2. two\n\n{FENCE}\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end."
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |"
BLOCKS = [
    MarkdownBlock("# Title"),
    MarkdownBlock("A paragraph\nof two lines."),
    MarkdownBlock(ONE),
    MarkdownBlock("2. two", True),
    MarkdownBlock(FENCE),
    MarkdownBlock(TABLE),
]
LAST = MarkdownBlock("The end.")


def test_blocks_end_at_an_empty_line_before_text_at_the_margin_and_between_items() -> None:
    stream = MarkdownStream()
    stream.feed(TEXT + "\n")
    assert stream.take() == BLOCKS
    assert stream.rest.strip() == "The end."
    assert stream.end() == [LAST]


@given(st.lists(st.integers(1, len(TEXT) - 1), max_size=40))
def test_how_the_text_is_cut_into_deltas_does_not_matter(places: list[int]) -> None:
    edges = [0, *sorted(set(places)), len(TEXT)]
    stream = MarkdownStream()
    blocks: list[MarkdownBlock] = []
    for start, end in itertools.pairwise(edges):
        stream.feed(TEXT[start:end])
        blocks += stream.take()
    assert blocks + stream.end() == [*BLOCKS, LAST]


def test_code_between_two_lines_of_text_is_a_block_of_its_own() -> None:
    stream = MarkdownStream()
    stream.feed("Run:\n```sh\nls\n\nmake\n```\nThen:\n- an item\n  ```sh\n  ls\n  ```\n- another\n")
    code, item = "```sh\nls\n\nmake\n```", "Then:\n- an item\n  ```sh\n  ls\n  ```"
    assert stream.end() == [MarkdownBlock("Run:"), MarkdownBlock(code), MarkdownBlock(item), MarkdownBlock("- another", True)]


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("one two three", True),
        ("a **bold word** three", True),
        ("a **bold and more", False),
        ("`f(*args)` and `[0]` four", True),
        ("the `code and more", False),
        ("see [the page](http://x/) now", True),
        ("see [the page and more", False),
        ("snake_case is no _mark yet", False),
        ("a | b c", False),
        ("- an item of words", False),
        ("> quoted words of it", False),
        ("see below\n- an item", False),
        ("```\ncode of words", False),
        # What follows would become a list.
        ("see it - now", False),
    ],
)
def test_the_beginning_of_a_paragraph_is_taken_where_nothing_can_change_it(text: str, begins: bool) -> None:
    stream = MarkdownStream()
    stream.feed(text)
    words = text.split(" ")
    taken = stream.beginning(2 if len(words) <= 4 and "see it" in text else len(words) - 1)
    assert taken == (" ".join(words[:-1]) + " " if begins else "")
    stream.leave_out(taken)
    assert stream.end() == [MarkdownBlock(text[len(taken) :], True)]


def test_a_fence_that_grows_too_large_is_divided_and_stays_a_fence() -> None:
    stream = MarkdownStream()
    lines = [f"line {number:04}" for number in range(2000)]
    stream.feed("```text\n" + "\n".join(lines) + "\n```\n")
    blocks = stream.end()
    assert len(blocks) > 1
    assert all(block.text.startswith("```text\n") and block.text.endswith("```") for block in blocks)
    assert [line for block in blocks for line in block.text.split("\n")[1:-1]] == lines
    assert [block.is_joined for block in blocks] == [False, *[True] * (len(blocks) - 1)]


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
    assert len(stream.end()[0].text.split()) == 20_000
