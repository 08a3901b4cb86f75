"""JSON of any making: a value, or a ValueError; nothing else comes out."""

from __future__ import annotations

from typing import Any

import pytest

from stenograph.model.json_text import read_json


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('{"a": [1, 2.5, null, true]}', {"a": [1, 2.5, None, True]}),
        (b'"\\ud83d\\ude00"', "😀"),
        (bytearray(b'"\\ud83d"'), "\ufffd"),
        (b'{"a": "x\\ude00y", "b": "\\ud83d\\ude00"}', {"a": "x\ufffdy", "b": "😀"}),
        ('"\\u2028"', "\u2028"),
    ],
)
def test_json_is_read(written: Any, value: Any) -> None:
    assert read_json(written) == value


@pytest.mark.parametrize(
    "written",
    ["", "{", "{'a': 1}", b"\xff", b'"\xff"', b'"\xff \\ud83d"', "[" * 100_000, "[" * 100_000 + '"\\ud83d',
     '"\\ud83d', '"\\u12"', "\udcff",
     "\\u"],
)  # fmt: skip
def test_what_is_no_json_is_a_value_error(written: Any) -> None:
    with pytest.raises(ValueError, match="no JSON"):
        read_json(written)


@pytest.mark.parametrize(("opens", "closes"), [("[", "]"), ('{"a":', "}"), ('[{"a\\ud83d":', "}]")])
def test_what_is_nested_too_deep_is_no_json(opens: str, closes: str) -> None:
    levels = opens.count("[") + opens.count("{")
    deep = [opens * (count // levels) + "1" + closes * (count // levels) for count in (500, 502)]
    assert read_json(deep[0])
    for written in (deep[1], f'{{"a": [{deep[0]}]}}', " " * 2_000 + deep[1]):
        with pytest.raises(ValueError, match="nested"):
            read_json(written)
    assert len(read_json(f"[{','.join(['[[1]]'] * 2_000)}]")) == 2_000
