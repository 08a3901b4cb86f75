"""Add or remove our hooks in the text of `settings.json` and keep every other character.

Spacing, key order, escapes and unknown members stay; additions are formatted like their neighbors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from stenograph.client_settings.places import parse_object
from stenograph.errors import FieldError
from stenograph.records import REMOVE, parse, splice

_HOOKS = "hooks"
_PERMISSIONS = "permissions"
_BYTE_ORDER_MARK = "\ufeff"
_SPACE = re.compile(r"[ \t\r\n]*")
_FIRST_INDENT = re.compile(r"\n([ \t]+)\"")
_INDENT_BEFORE_FIRST = re.compile(r"[ \t\r]*\n([ \t]*)")
# Only to find where a value ends: Python refuses to read a number of thousands of digits.
_DECODER = json.JSONDecoder(parse_int=str)

Hook = Mapping[str, Any]
IsOurs = Callable[[Hook], bool]


def parse_settings(text: str) -> dict[str, Any]:
    """The settings with hooks that can be edited. Raises FieldError."""
    settings = parse_object(text)
    hooks = settings.get(_HOOKS, {})
    if not isinstance(hooks, dict):
        raise FieldError("its `hooks` is not an object", field=_HOOKS)
    for event, groups in hooks.items():
        if not isinstance(groups, list):
            raise FieldError(f"`hooks.{event}` is not a list", field=f"{_HOOKS}.{event}")
    return settings


def hooks_in(settings: Mapping[str, Any]) -> Iterator[tuple[str, Hook]]:
    """Every hook with its event."""
    for event, _, hook in _places(settings):
        yield event, hook


def add_hooks(text: str, hooks: Mapping[str, Hook]) -> str:
    """The text with a group of one hook added for each event. Raises FieldError."""
    settings = parse_settings(text)
    if not text.removeprefix(_BYTE_ORDER_MARK).strip():
        return (
            json.dumps({_HOOKS: {event: [{_HOOKS: [hook]}] for event, hook in hooks.items()}}, indent=2, ensure_ascii=False)
            + "\n"
        )
    new = text
    for event, hook in hooks.items():
        group = {_HOOKS: [hook]}
        there = settings.setdefault(_HOOKS, {})
        if event in there:
            new = _insert(new, (_HOOKS, event), None, group)
        elif there or _find(new, (_HOOKS,)) is not None:
            new = _insert(new, (_HOOKS,), event, [group])
        else:
            new = _insert(new, (), _HOOKS, {event: [group]})
        there.setdefault(event, []).append(group)
    if parse_settings(new) != settings:
        raise FieldError("it cannot be changed without changing other lines")
    return new


def add_rules(text: str, behavior: str, rules: Sequence[str]) -> str:
    """The text with permission rules appended to `permissions.<behavior>`, each once. Raises FieldError."""
    settings = parse_settings(text)
    permissions = settings.get(_PERMISSIONS, {})
    known = permissions.get(behavior, []) if isinstance(permissions, dict) else None
    if not isinstance(known, list):
        raise FieldError("its `permissions` is not an object of lists", field=_PERMISSIONS)
    new = [rule for rule in dict.fromkeys(rules) if rule not in known]
    if not text.removeprefix(_BYTE_ORDER_MARK).strip():
        return json.dumps({_PERMISSIONS: {behavior: new}}, indent=2, ensure_ascii=False) + "\n"
    if not new:
        return text
    if _PERMISSIONS not in settings:
        return _insert(text, (), _PERMISSIONS, {behavior: new})
    if behavior not in permissions:
        return _insert(text, (_PERMISSIONS,), behavior, new)
    for rule in new:
        text = _insert(text, (_PERMISSIONS, behavior), None, rule)
    return text


def remove_hooks(text: str, is_ours: IsOurs) -> str:
    """The text without our hooks and the groups, lists and `hooks` they leave empty. Raises FieldError."""
    data = text.encode()
    # Last to first, so that earlier places stay valid.
    for event, place, _ in reversed([found for found in _places(parse_settings(text)) if is_ours(found[2])]):
        paths = [(_HOOKS, event, place[0], _HOOKS, place[1]), (_HOOKS, event, place[0]), (_HOOKS, event), (_HOOKS,)]
        data = splice(data, paths[0], REMOVE)
        settings = parse(data)
        if not settings[_HOOKS][event][place[0]][_HOOKS]:
            data = splice(data, paths[1], REMOVE)
            settings = parse(data)
        if not settings[_HOOKS][event]:
            data = splice(data, paths[2], REMOVE)
            settings = parse(data)
        if not settings[_HOOKS]:
            data = splice(data, paths[3], REMOVE)
    return data.decode()


def _places(settings: Mapping[str, Any]) -> Iterator[tuple[str, tuple[int, int], Hook]]:
    """Event, group and place in the group of each hook."""
    hooks = settings.get(_HOOKS)
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            inner = group.get(_HOOKS) if isinstance(group, dict) else None
            for place, hook in enumerate(inner if isinstance(inner, list) else ()):
                if isinstance(hook, dict):
                    yield event, (number, place), hook


def _insert(text: str, path: tuple[str, ...], name: str | None, value: Any) -> str:
    """The text with a member, or without a name an item, appended to the value at a path."""
    at = _find(text, path)
    if at is None:
        raise FieldError(f"{'.'.join(path)} is not in it", field=".".join(path))
    end = _end_of(text, at) - 1
    inner = text[at + 1 : end]
    kept = inner.rstrip()
    is_spread = "\n" in text.strip() and (not inner.strip() or "\n" in inner)
    if not is_spread:
        compact = (", ", ": ") if '": ' in text else (",", ":")
        new = _spell(name, value, separators=compact)
        return text[: at + 1] + kept + compact[0] * bool(kept) + new + inner[len(kept) :] + text[end:]
    found = _FIRST_INDENT.search(text)
    unit = found[1] if found else "  "
    newline = "\r\n" if "\r\n" in text else "\n"
    before = text[text.rfind("\n", 0, at) + 1 : at]
    outer = before[: len(before) - len(before.lstrip(" \t"))]
    first = _INDENT_BEFORE_FIRST.match(inner)
    indent = first[1] if first and inner.strip() else outer + unit
    new = _spell(name, value, indent=unit).replace("\n", newline + indent)
    tail = inner[len(kept) :] if kept else newline + outer
    return text[: at + 1] + kept + "," * bool(kept) + newline + indent + new + tail + text[end:]


def _spell(name: str | None, value: Any, *, indent: str | None = None, separators: tuple[str, str] = (",", ": ")) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    return text if name is None else json.dumps(name, ensure_ascii=False) + separators[1] + text


def _find(text: str, path: tuple[str, ...]) -> int | None:
    """Where the value at a path begins; of two members of one name the last counts."""
    at = _skip_space(text, len(_BYTE_ORDER_MARK) if text.startswith(_BYTE_ORDER_MARK) else 0)
    for name in path:
        found = None
        place = _skip_space(text, at + 1)
        while text[place] == '"':
            key, place = _DECODER.raw_decode(text, place)
            value = _skip_space(text, _skip_space(text, place) + 1)
            if key == name:
                found = value
            place = _skip_space(text, _end_of(text, value))
            if text[place] == ",":
                place = _skip_space(text, place + 1)
        if found is None:
            return None
        at = found
    return at


def _end_of(text: str, at: int) -> int:
    return _DECODER.raw_decode(text, at)[1]


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()
