"""The tally of forms: which shapes a line has, told from lines written by hand."""

from __future__ import annotations

from typing import Any

from stenograph.drift import Form, ShapeTally
from stenograph.drift.shapes import FORMS_KEPT
from stenograph.testing.lines import assistant, tool_result, tool_use, user


def _tally(*records: dict[str, Any]) -> ShapeTally:
    tally = ShapeTally()
    tally.begin(0)
    for number, record in enumerate(records, 1):
        tally.add(record, number)
    tally.end()
    return tally


def _forms(release: str, *records: dict[str, Any]) -> dict[tuple[str, str], list[Form]]:
    found: dict[tuple[str, str], list[Form]] = {}
    for form in _tally(*records).forms(release):
        found.setdefault((form.shape, form.path), []).append(form)
    return found


def test_a_line_gives_a_form_for_every_object_in_it() -> None:
    record = {"type": "mode", "version": "2.1.0", "inner": {"count": 1, "list": ["a", 2, None]}, "flag": True}
    forms = _forms("2.1.0", record)
    assert forms[("record:mode", "")][0].fields == {
        "type": ("string",),
        "version": ("string",),
        "inner": ("object",),
        "flag": ("boolean",),
    }
    assert forms[("record:mode", "inner")][0].fields == {"count": ("number",), "list": ("array",)}
    assert forms[("record:mode", "inner.list")][0].fields == {"[]": ("null", "number", "string")}
    assert len(forms) == 3


def test_equal_forms_are_counted_and_the_first_line_is_kept() -> None:
    record = {"type": "mode", "version": "2.1.0", "mode": "x"}
    other = {"type": "mode", "version": "2.1.0", "mode": None}
    forms = _forms("2.1.0", record, other, record, record)[("record:mode", "")]
    assert sorted((form.count, form.line) for form in forms) == [(1, 2), (3, 1)]


def test_a_line_without_a_release_belongs_to_the_one_before_it_and_the_first_ones_to_the_next() -> None:
    tally = _tally(
        {"type": "early"}, {"type": "user", "version": "2.1.0"}, {"type": "late"}, {"type": "user", "version": "2.1.1"}
    )
    assert {form.shape for form in tally.forms("2.1.0")} == {"record:early", "record:user", "record:late"}
    assert {form.shape for form in tally.forms("2.1.1")} == {"record:user"}
    assert {form.shape for form in _tally({"type": "lonely"}).forms("")} == {"record:lonely"}


def test_the_keys_of_maps_are_not_fields() -> None:
    record = {"type": "file-history-snapshot", "version": "2.1.0", "snapshot": {"trackedFileBackups": {"/a/b": {"version": 1}}}}
    forms = _forms("2.1.0", record)
    assert forms[("record:file-history-snapshot", "snapshot.trackedFileBackups")][0].fields == {"{}": ("object",)}
    assert forms[("record:file-history-snapshot", "snapshot.trackedFileBackups{}")][0].fields == {"version": ("number",)}


def _call(name: str, given: dict[str, Any], *, result: Any, is_error: bool = False) -> list[dict[str, Any]]:
    return [
        assistant(None, None, [tool_use("t1", name, **given)]) | {"version": "2.1.0"},
        user(None, [tool_result("t1", is_error=is_error)], version="2.1.0", toolUseResult=result),
    ]


def test_inputs_and_results_of_tools_are_shapes_of_their_own() -> None:
    forms = _forms("2.1.0", *_call("Bash", {"command": "ls"}, result={"stdout": "", "interrupted": False}))
    assert forms[("tool:Bash", "")][0].fields == {"command": ("string",)}
    assert forms[("result:Bash", "")][0].fields == {"stdout": ("string",), "interrupted": ("boolean",)}
    assert ("record:user", "toolUseResult") not in forms
    assert ("block:tool_use", "input") not in forms


def test_what_a_model_made_up_is_no_shape() -> None:
    forms = _forms("2.1.0", *_call("NoSuchTool", {"made": "up"}, result="Error: no such tool", is_error=True))
    assert not [shape for shape, _ in forms if shape.startswith(("tool:", "result:"))]


def test_what_servers_of_users_take_and_give_is_no_shape() -> None:
    forms = _forms("2.1.0", *_call("mcp__mine__search", {"query": "x"}, result={"found": 1}))
    assert not [shape for shape, _ in forms if shape.startswith(("tool:", "result:"))]


def test_a_kind_whose_name_stands_elsewhere_in_the_object_is_told_apart() -> None:
    said = _forms("2.1.0", {"type": "secret", "version": "2.1.0", "text": "secret"})
    named = _forms("2.1.0", {"type": "secret", "version": "2.1.0", "text": "words"})
    assert said[("record:secret", "")][0].is_echo
    assert not named[("record:secret", "")][0].is_echo


def test_odd_values_in_the_place_of_a_kind_are_counted_too() -> None:
    forms = _forms("2.1.0", {"type": 3, "version": "2.1.0"}, {"version": "2.1.0"}, {"type": "system", "subtype": None})
    assert {shape for shape, _ in forms} == {"record:(number)", "record:(null)", "record:system/(null)"}


def test_a_file_that_makes_up_keys_and_kinds_on_every_line_does_not_fill_the_memory() -> None:
    kinds = _tally(*({"type": f"kind-{number}", "version": "2.1.0"} for number in range(FORMS_KEPT + 50)))
    keys = _tally(*({"type": "mode", "version": "2.1.0", f"key{number}": {"a": 1}} for number in range(FORMS_KEPT + 50)))
    assert len(list(kinds.forms("2.1.0"))) == FORMS_KEPT
    assert len(list(keys.forms("2.1.0"))) == 2 * FORMS_KEPT
