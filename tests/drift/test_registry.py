"""The registry: made from the committed recordings, and what it answers."""

from __future__ import annotations

import make_registry as maker
import pytest
from make_registry import Evidence, FieldEvidence, PlaceEvidence, make_registry, to_text

from stenograph.drift.judge import shown_name
from stenograph.drift.registry import Registry, from_text, load_registry

MANDATORY = [
    *("1.0.128", "2.0.36", "2.0.37", "2.0.42", "2.0.50", "2.0.55", "2.0.58", "2.0.76"),
    *("2.1.29", "2.1.45", "2.1.112", "2.1.200", "2.1.325"),
]


def test_the_registry_is_what_the_committed_recordings_give() -> None:
    made = to_text(make_registry(maker.recorded_evidence(), maker.public_evidence()))
    assert maker.REGISTRY.read_text(encoding="utf-8") == made, "run `make registry`"


def test_at_least_25_releases_are_recorded_the_named_ones_among_them() -> None:
    recorded = load_registry().recorded
    assert set(MANDATORY) <= set(recorded)
    assert len(recorded) >= 25


def test_it_holds_names_only() -> None:
    for name, shape in load_registry().shapes.items():
        family, _, kind = name.partition(":")
        assert family in {"record", "block", "tool", "result", "attachment", "progress"}
        assert all(part == "" or shown_name(part) == part for part in kind.split("/")), name
        for path in shape.fields:
            parts = path.replace("[]", "").replace("{}", "").split(".")
            assert all(not part or shown_name(part) == part for part in parts), path


def test_what_is_written_is_read_again() -> None:
    registry = load_registry()
    again = from_text(to_text(registry))
    assert (again.releases, again.recorded, again.shapes) == (registry.releases, registry.recorded, registry.shapes)


def _evidence(count: int, having: int, *, kind: str = "string", field: str = "x") -> Evidence:
    fields = {field: FieldEvidence(having, {kind: having})} if having else {}
    return {"record:user": {"": PlaceEvidence(count, {"type": FieldEvidence(count, {"string": count}), **fields})}}


def _registry(**evidence: Evidence) -> Registry:
    return make_registry({release.replace("_", ".").removeprefix("v"): found for release, found in evidence.items()}, {})


@pytest.mark.parametrize(
    ("release", "known"),
    [
        ("2.0.0", False),  # recorded without it
        ("2.0.5", True),  # between one without and one with it
        ("2.1.0", True),
        ("2.1.5", True),  # gone in the one above, but it was there
        ("3.0.0", True),  # newer than all
        ("1.0.0", False),  # older than all: by the oldest
    ],
)
def test_a_field_is_known_from_the_first_release_that_may_have_it(release: str, known: bool) -> None:
    registry = _registry(v2_0_0=_evidence(30, 0), v2_1_0=_evidence(30, 30), v2_2_0=_evidence(30, 0))
    assert registry.knows_field("record:user", "x", release) is known


@pytest.mark.parametrize(
    ("release", "required"),
    [("2.0.0", True), ("2.0.5", True), ("2.1.5", False), ("2.2.0", False), ("2.2.5", False), ("3.0.0", False)],
)
def test_a_field_is_required_where_it_was_always_there_on_both_sides(release: str, required: bool) -> None:
    registry = _registry(v2_0_0=_evidence(30, 30), v2_1_0=_evidence(30, 30), v2_2_0=_evidence(30, 0))
    assert ("x" in registry.required("record:user", release).get("", [])) is required


def test_twenty_objects_are_enough_and_nineteen_are_not() -> None:
    assert "x" in _registry(v2_0_0=_evidence(20, 20)).required("record:user", "2.0.0")[""]
    assert _registry(v2_0_0=_evidence(19, 19)).required("record:user", "2.0.0") == {}


def test_a_field_that_was_ever_absent_from_some_is_never_required() -> None:
    registry = _registry(v2_0_0=_evidence(30, 30), v2_1_0=_evidence(30, 29))
    assert "x" not in registry.required("record:user", "2.0.0").get("", [])


def test_public_lines_can_take_a_duty_away() -> None:
    recorded = {"2.0.0": _evidence(30, 30)}
    assert "x" in make_registry(recorded, {"2.0.0": _evidence(5, 5)}).required("record:user", "2.0.0")[""]
    assert "x" not in make_registry(recorded, {"2.0.0": _evidence(5, 4)}).required("record:user", "2.0.0")[""]
