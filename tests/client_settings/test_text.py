"""Hooks in and out of the text of a settings file: nothing else changes, whatever the file looks like."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenograph.client_settings import Hook, add_hooks, hooks_in, parse_settings, remove_hooks
from stenograph.errors import FieldError

HOOKS: dict[str, Hook] = {
    "Stop": {"type": "command", "command": "ours", "timeout": 10},
    "SessionEnd": {"type": "command", "command": "ours", "timeout": 2},
}


def is_ours(hook: Hook) -> bool:
    return hook.get("command") == "ours"


def with_hooks(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with both hooks, by hand."""
    hooks = {**settings.get("hooks", {})}
    for event, hook in HOOKS.items():
        hooks[event] = [*hooks.get(event, []), {"hooks": [hook]}]
    return {**settings, "hooks": hooks}


def test_a_new_file_is_written_as_clients_write_it() -> None:
    text = """{
  "hooks": {
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "ours",
            "timeout": 10
          }
        ]
      }
    ]
  }
}
"""
    assert add_hooks("", {"Stop": HOOKS["Stop"]}) == text
    assert add_hooks(" \n", {"Stop": HOOKS["Stop"]}) == text


def test_what_is_added_is_spelled_as_its_neighbours_are() -> None:
    before = '{\n\t"a": 1.50,\n\t"b": "\\u00e9",\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t{"hooks": []}\n\t\t]\n\t}\n}'
    assert add_hooks(before, {"Stop": {"command": "ours"}}) == (
        '{\n\t"a": 1.50,\n\t"b": "\\u00e9",\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t{"hooks": []},\n\t\t\t{\n\t\t\t\t"hooks": [\n'
        '\t\t\t\t\t{\n\t\t\t\t\t\t"command": "ours"\n\t\t\t\t\t}\n\t\t\t\t]\n\t\t\t}\n\t\t]\n\t}\n}'
    )
    assert add_hooks('{"a":1}', {"Stop": {"command": "ours"}}) == '{"a":1,"hooks":{"Stop":[{"hooks":[{"command":"ours"}]}]}}'
    assert add_hooks('{"a": 1}\n', {"Stop": {"command": "ours"}}) == (
        '{"a": 1, "hooks": {"Stop": [{"hooks": [{"command": "ours"}]}]}}\n'
    )
    assert add_hooks('{\r\n    "a": 1\r\n}\r\n', {"Stop": {"command": "ours"}}).count("\r\n") == 14
    assert "\n" not in add_hooks('{\r\n    "a": 1\r\n}\r\n', {"Stop": {"command": "ours"}}).replace("\r\n", "")


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{\n}\n",
        '{"hooks": {}}',
        '{\n  "hooks": {}\n}\n',
        '{\n  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "theirs"}]}]}\n}\n',
        '{\n  "hooks": {\n    "Stop": [ {"hooks": [ {"command": "theirs"} ]} ],\n    "PreToolUse": [1, {"hooks": 3}]\n  }\n}',
        '\ufeff{\n    "a": "{\\"hooks\\": [",\n    "z": [1, 2,   3], "y": null\n}\n\n',
        '{ "hooks" : { "Stop" : [ ] , "x" : [ ] } , "after" : "ü😀" }',
        '{\r\n\t"hooks": {\r\n\t\t"SessionEnd": [\r\n\t\t\t{"hooks": []}\r\n\t\t]\r\n\t}\r\n}\r\n',
        '{"hooks": {"PreToolUse": []}, "hooks": {"Stop": [{"matcher": ""}]}}',
        '{\n\n  "a": 1e400\n\n}',
    ],
)
def test_hooks_go_in_and_out_and_the_rest_stays(text: str) -> None:
    added = add_hooks(text, HOOKS)
    assert parse_settings(added) == with_hooks(parse_settings(text))
    removed = remove_hooks(added, is_ours)
    assert [hook for _, hook in hooks_in(parse_settings(removed)) if is_ours(hook)] == []
    kept, left = parse_settings(text), parse_settings(removed)
    # Lists and `hooks` that held nothing before go too.
    hooks = {event: groups for event, groups in kept.pop("hooks", {}).items() if groups or event not in HOOKS}
    assert (left.pop("hooks", {}), left) == (hooks, kept)
    # What was there is there, in its order: nothing but ours was put between.
    assert _is_within("".join(text.split()), "".join(added.split()))


def _is_within(part: str, whole: str) -> bool:
    letters = iter(whole)
    return all(letter in letters for letter in part)


def test_only_our_hook_leaves_a_group_that_somebody_added_to() -> None:
    text = '{"hooks": {"Stop": [{"hooks": [{"command": "theirs"}, {"command": "ours"}, {"command": "more"}]}, {"hooks": []}]}}'
    assert remove_hooks(text, is_ours) == (
        '{"hooks": {"Stop": [{"hooks": [{"command": "theirs"}, {"command": "more"}]}, {"hooks": []}]}}'
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "it is not valid JSON"),
        ('{"a": 1,}', "it is not valid JSON"),
        ('{"a": 1} // comment', "it is not valid JSON"),
        ('{"a": NaN}', "it is not valid JSON"),
        ("[" * 100_000, "it is not valid JSON"),
        ("[]", "it is not a JSON object"),
        ('{"hooks": []}', "its `hooks` is not an object"),
        ('{"hooks": {"Stop": {}}}', "`hooks.Stop` is not a list"),
    ],
)
def test_what_can_not_be_understood_is_refused(text: str, told: str) -> None:
    with pytest.raises(FieldError) as raised:
        add_hooks(text, HOOKS)
    assert str(raised.value) == told
    with pytest.raises(FieldError) as raised:
        remove_hooks(text, is_ours)
    assert str(raised.value) == told


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
_GROUPS = st.lists(
    st.fixed_dictionaries({"hooks": st.lists(st.fixed_dictionaries({"command": st.text(max_size=4)}), max_size=2)})
)
_SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "a": _VALUES,
        "hooks": st.dictionaries(st.sampled_from(["Stop", "SessionEnd", "PreToolUse"]), _GROUPS),
        "z": _VALUES,
    },
)


@given(_SETTINGS, st.sampled_from([None, 0, 2, 4, "\t"]), st.booleans(), st.sampled_from(["", "\n", "\r\n"]))
def test_any_settings_keep_what_they_hold(settings: dict[str, Any], indent: int | str | None, ascii_: bool, end: str) -> None:
    text = json.dumps(settings, indent=indent, ensure_ascii=ascii_) + end
    added = add_hooks(text, HOOKS)
    assert json.loads(added) == with_hooks(settings)
    assert added.endswith(end)
    removed = json.loads(remove_hooks(added, is_ours))
    hooks = {event: groups for event, groups in settings.get("hooks", {}).items() if groups or event not in HOOKS}
    assert removed == {
        **{name: value for name, value in settings.items() if name != "hooks"},
        **({"hooks": hooks} if hooks else {}),
    }


def test_a_number_of_thousands_of_digits_is_left_alone() -> None:
    text = '{"n": ' + "9" * 5000 + "}"
    added = add_hooks(text, {"Stop": {"type": "command", "command": "true"}})
    assert added.startswith(text[:-1])
    assert remove_hooks(added, lambda hook: hook.get("command") == "true") == text
