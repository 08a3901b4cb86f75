"""The registry: what each release was seen to write, and what follows for a release.

A data file of this package, made by `make registry` from recordings and public sessions. Shapes only: no vendor text, no values.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left, bisect_right
from pathlib import Path

import msgspec

from stenograph.drift.shapes import ANY_KEY, ELEMENT
from stenograph.errors import UsageError
from stenograph.releases import release_numbers

#: The words of a name in any case: camel, snake, kebab, Pascal.
WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

#: From this many objects on, a field that was in all of them is required.
ENOUGH = 20

# One character per release, in the order of `Registry.releases`.
NOT_MET = "."  # nothing that could have the field was met
NEVER = "-"
SOMETIMES = "s"
ALWAYS = "A"
SO_FAR = "a"  # in the few that were met

#: What every Anthropic-compatible endpoint sends.
_SERVED_BY_ALL = frozenset(
    {
        "type",
        "role",
        "id",
        "model",
        "content",
        "usage",
        "input_tokens",
        "output_tokens",
        "text",
        "thinking",
        "name",
        "input",
        "tool_use_id",
    }
)


class Field(msgspec.Struct, frozen=True):
    #: NOT_MET, NEVER, SOMETIMES, SO_FAR or ALWAYS, per release.
    seen: str
    #: JSON type -> the first and the last release in which the field had it.
    types: dict[str, tuple[int, int]]
    #: Objects in public sessions that had it.
    public: int = 0


class RecordedShape(msgspec.Struct, frozen=True):
    """A kind of record, block, attachment, tool input, tool result or progress."""

    #: NOT_MET, SOMETIMES (fewer than `ENOUGH`) or ALWAYS, per release.
    seen: str
    #: By path: `message.usage.input_tokens`, `names[]`.
    fields: dict[str, Field]
    public: int = 0


class Registry(msgspec.Struct, frozen=True, dict=True):
    #: Oldest first.
    releases: list[str]
    #: Of the others there are only public sessions.
    recorded: list[str]
    shapes: dict[str, RecordedShape]

    def knows_shape(self, shape: str, release: str) -> bool:
        """Whether a shape was seen in the release, an earlier one, or the next recorded one."""
        found = self.shapes.get(shape)
        return found is not None and _first(found.seen, NOT_MET) <= self._last_that_counts(release)

    def knows_field(self, shape: str, path: str, release: str) -> bool:
        return self.types_of(shape, path, release) is not None

    def types_of(self, shape: str, path: str, release: str) -> set[str] | None:
        """The JSON types that a field may have, None if it is not known. Null is one in every release once any had it."""
        key = shape, path, self._last_that_counts(release)
        if key not in self._types:
            self._types[key] = self._find_types(*key)
        return self._types[key]

    def _find_types(self, shape: str, path: str, last: int) -> set[str] | None:
        found = self._field(shape, path)
        if found is None or _first(found.seen, NOT_MET + NEVER) > last:
            return None
        return {kind for kind, (first, _) in found.types.items() if first <= last or kind == "null"}

    def required(self, shape: str, release: str) -> dict[str, list[str]]:
        """The names of the fields that are always there, by the path of their object.

        Always there in the release itself if recorded, else in the nearest releases with enough lines on both sides. Never one
        that was sometimes absent in any release, because that depends on the session, nor one that an endpoint may leave out.
        """
        known = self._required
        if (shape, release) not in known:
            known[shape, release] = self._find_required(shape, release)
        return known[shape, release]

    def _find_required(self, shape: str, release: str) -> dict[str, list[str]]:
        try:
            release_numbers(release)
        except UsageError:
            return {}
        around = self._neighbours(release)
        if shape not in self._candidates:
            self._candidates[shape] = self._find_candidates(shape)
        found: dict[str, list[str]] = {}
        for seen, names in self._candidates[shape].items():
            if _is_required(seen, *around):
                for parent, name in names:
                    found.setdefault(parent, []).append(name)
        return found

    def _find_candidates(self, shape: str) -> dict[str, list[tuple[str, str]]]:
        """The fields that some release may require, as parent and name, by where they were seen: many alike."""
        described = self.shapes.get(shape)
        found: dict[str, list[tuple[str, str]]] = {}
        for path, field in described.fields.items() if described else ():
            parent, _, name = path.rpartition(".")
            is_optional = path.endswith((ELEMENT, ANY_KEY)) or _is_up_to_the_endpoint(shape, parent, name)
            if not is_optional and SOMETIMES not in field.seen:
                found.setdefault(field.seen, []).append((parent, name))
        return found

    def known_in(self, shape: str, path: str = "") -> str:
        """Where a shape or field was seen: `2.0.76 to 2.1.325`; empty for nowhere."""
        described = self._field(shape, path) if path else self.shapes.get(shape)
        if described is None:
            return ""
        seen = [number for number, mark in enumerate(described.seen) if mark not in NOT_MET + NEVER]
        return self.span_text(seen[0], seen[-1]) if seen else ""

    def span_text(self, first: int, last: int) -> str:
        return self.releases[first] if first == last else f"{self.releases[first]} to {self.releases[last]}"

    @functools.cached_property
    def _numbers(self) -> list[tuple[int, ...]]:
        return [release_numbers(release) for release in self.releases]

    @functools.cached_property
    def recorded_numbers(self) -> list[int]:
        recorded = set(self.recorded)
        return [number for number, release in enumerate(self.releases) if release in recorded]

    @functools.cached_property
    def words(self) -> frozenset[str]:
        """Every word in a name of a kind or field, in lower case."""
        names = [*self.shapes, *(path for shape in self.shapes.values() for path in shape.fields)]
        return frozenset(word.lower() for word in WORDS.findall(" ".join(names)))

    def _field(self, shape: str, path: str) -> Field | None:
        described = self.shapes.get(shape)
        return described.fields.get(path) if described else None

    def _last_that_counts(self, release: str) -> int:
        known = self._last_known
        if release not in known:
            known[release] = self._find_last(release)
        return known[release]

    @functools.cached_property
    def _last_known(self) -> dict[str, int]:
        return {}

    @functools.cached_property
    def _types(self) -> dict[tuple[str, str, int], set[str] | None]:
        return {}

    @functools.cached_property
    def _candidates(self) -> dict[str, dict[str, list[tuple[str, str]]]]:
        return {}

    @functools.cached_property
    def _required(self) -> dict[tuple[str, str], dict[str, list[str]]]:
        return {}

    def _find_last(self, release: str) -> int:
        """The number of the release itself if recorded, else of the next recorded one; the newest where there is none."""
        recorded = self.recorded_numbers
        try:
            numbers = release_numbers(release)
        except UsageError:
            recorded = []
        if not recorded:
            return len(self.releases) - 1
        at = bisect_left(recorded, numbers, key=lambda place: self._numbers[place])
        return recorded[min(at, len(recorded) - 1)]

    def _neighbours(self, release: str) -> tuple[int, int, bool]:
        """The numbers around a release, itself excluded, and whether it was recorded."""
        numbers = release_numbers(release)
        below, above = bisect_left(self._numbers, numbers) - 1, bisect_right(self._numbers, numbers)
        return below, above, release in self.recorded


def _is_required(seen: str, below: int, above: int, is_recorded: bool) -> bool:
    own = seen[below + 1 : above]
    if is_recorded:
        return own == ALWAYS
    lower = seen[: below + 1].rstrip(NOT_MET + SO_FAR)[-1:]
    upper = seen[above:].lstrip(NOT_MET + SO_FAR)[:1]
    # Beyond the oldest and the newest there is only one side. Public lines can only remove a requirement.
    above_all, below_all = above >= len(seen), below < 0
    return (lower == ALWAYS or below_all) and (upper == ALWAYS or above_all) and own != NEVER and lower + upper != ""


@functools.lru_cache(maxsize=10_000)
def _first(seen: str, blank: str) -> int:
    return next((number for number, mark in enumerate(seen) if mark not in blank), len(seen))


def _is_up_to_the_endpoint(shape: str, path: str, name: str) -> bool:
    """Whether an endpoint answered the field, and may leave it out."""
    if name in _SERVED_BY_ALL:
        return False
    parts = path.split(".")
    if shape.startswith("block:") or "usage" in parts:
        return True
    return "message" in parts and (shape == "record:assistant" or shape.startswith("progress:"))


def from_text(text: str | bytes) -> Registry:
    return msgspec.json.decode(text, type=Registry)


@functools.cache
def load_registry() -> Registry:
    """The registry of this package."""
    # importlib.resources would load tempfile and zipfile.
    return from_text(Path(__file__).with_name("registry.json").read_bytes())
