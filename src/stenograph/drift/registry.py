"""The registry: what each release was seen to write. A data file of this package, made by `make registry`, never by hand.

In: evidence by release. Out: for every shape and every field of it, in which releases it was seen, whether it was always
there, with which JSON types from when to when, and how many lines of public sessions had it; and the answers that a checker
and a reader of the schema ask of that: is this known in release R, must it be there, which types may it have. Shapes only: no
vendor text, no value.
"""

from __future__ import annotations

import functools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from importlib import resources

import msgspec

from stenograph.drift.evidence import Evidence
from stenograph.drift.freedom import ANY_KEY, ELEMENT, field_path, is_up_to_the_endpoint
from stenograph.errors import UsageError
from stenograph.releases import release_numbers

#: From so many objects on, a field that was in all of them counts as always there.
ENOUGH = 20

# One character a release, in the order of `Registry.releases`.
NOT_MET = "."  # nothing that could have the field was met
NEVER = "-"
SOMETIMES = "s"
ALWAYS = "A"
SO_FAR = "a"  # in all that were met, but those were few


class Field(msgspec.Struct, frozen=True):
    #: One character a release: NOT_MET, NEVER, SOMETIMES, SO_FAR or ALWAYS.
    seen: str
    #: JSON type -> the numbers of the first and the last release in which the field had it.
    types: dict[str, tuple[int, int]]
    #: Objects in public sessions that had it.
    public: int = 0


class RecordedShape(msgspec.Struct, frozen=True):
    """A kind of record, block, attachment, tool input, tool result or progress."""

    #: One character a release: NOT_MET, SOMETIMES (fewer than `ENOUGH` were met) or ALWAYS.
    seen: str
    #: By path: `message.usage.input_tokens`, `names[]`.
    fields: dict[str, Field]
    public: int = 0


class Registry(msgspec.Struct, frozen=True, dict=True):
    #: All releases that there is evidence of, oldest first.
    releases: list[str]
    #: Those of them that were recorded; of the others there are only public sessions.
    recorded: list[str]
    shapes: dict[str, RecordedShape]

    def span(self, release: str) -> tuple[int, int]:
        """The releases that judge one: itself when it was recorded, else the recorded ones on both sides of it, as numbers.

        For a release newer than all, the newest; for one older than all, the oldest; for lines that name none, all of them.
        """
        spans: dict[str, tuple[int, int]] = self.__dict__.setdefault("spans", {})
        found = spans.get(release)
        if found is None:
            found = spans[release] = self._find_span(release)
        return found

    def _find_span(self, release: str) -> tuple[int, int]:
        recorded = self.recorded_numbers
        if not recorded:
            return 0, len(self.releases) - 1
        try:
            numbers = release_numbers(release)
        except UsageError:
            return 0, len(self.releases) - 1
        at = bisect_left(recorded, numbers, key=lambda place: self._numbers[place])
        if at < len(recorded) and self._numbers[recorded[at]] == numbers:
            return recorded[at], recorded[at]
        return recorded[max(at - 1, 0)], recorded[min(at, len(recorded) - 1)]

    def knows_shape(self, shape: str, release: str) -> bool:
        """Whether a shape was seen in the release, in one before it or in the recorded one that follows it."""
        found = self.shapes.get(shape)
        return found is not None and _first(found.seen, NOT_MET) <= self._last_that_counts(release)

    def knows_field(self, shape: str, path: str, release: str) -> bool:
        found = self._field(shape, path)
        return found is not None and _first(found.seen, NOT_MET + NEVER) <= self._last_that_counts(release)

    def types_of(self, shape: str, path: str, release: str) -> set[str]:
        """The JSON types that a field may have in a release. Empty (null) is one in all of them once it was seen in any."""
        found = self._field(shape, path)
        last = self._last_that_counts(release)
        return {kind for kind, (first, _) in found.types.items() if first <= last or kind == "null"} if found else set()

    def required(self, shape: str, release: str) -> dict[str, list[str]]:
        """The fields that are always there in a release: names by the path of the object that has them.

        They were always there in the release when it was recorded, else in the nearest releases with enough lines on both
        sides of it. A field that was sometimes absent in any release depends on what happened in a session: it is never
        missed. Nor is what an endpoint may leave out.
        """
        try:
            release_numbers(release)
        except UsageError:
            return {}
        key = (shape, *self._neighbours(release))
        cache: dict[tuple[object, ...], dict[str, list[str]]] = self.__dict__.setdefault("required_fields", {})
        found = cache.get(key)
        if found is None:
            found = {}
            described = self.shapes.get(shape)
            for path, field in described.fields.items() if described else ():
                parent, _, name = path.rpartition(".")
                if (
                    not path.endswith((ELEMENT, ANY_KEY))
                    and not is_up_to_the_endpoint(shape, parent, name)
                    and self._is_required(field.seen, *key[1:])
                ):
                    found.setdefault(parent, []).append(name)
            cache[key] = found
        return found

    def known_in(self, shape: str, path: str = "") -> str:
        """The releases where a shape or field was seen, for a person: `2.0.76 to 2.1.325`; empty for none."""
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
        """The places of the recorded releases in `releases`."""
        recorded = set(self.recorded)
        return [number for number, release in enumerate(self.releases) if release in recorded]

    def _field(self, shape: str, path: str) -> Field | None:
        described = self.shapes.get(shape)
        return described.fields.get(path) if described else None

    def _last_that_counts(self, release: str) -> int:
        return self.span(release)[1]

    def _neighbours(self, release: str) -> tuple[int, int, bool]:
        """The numbers between which a release stands, itself left out, and whether it was recorded."""
        numbers = release_numbers(release)
        below, above = bisect_left(self._numbers, numbers) - 1, bisect_right(self._numbers, numbers)
        return below, above, release in self.recorded

    @staticmethod
    def _is_required(seen: str, below: int, above: int, is_recorded: bool) -> bool:
        if SOMETIMES in seen:
            return False
        lower = next((mark for mark in reversed(seen[: below + 1]) if mark not in NOT_MET + SO_FAR), "")
        upper = next((mark for mark in seen[above:] if mark not in NOT_MET + SO_FAR), "")
        own = seen[below + 1 : above]
        if is_recorded:
            return own == ALWAYS
        # Beyond the oldest and the newest release there is only one side. Public lines can only take a duty away.
        above_all, below_all = above >= len(seen), below < 0
        return (lower == ALWAYS or below_all) and (upper == ALWAYS or above_all) and own != NEVER and lower + upper != ""


def _first(seen: str, blank: str) -> int:
    return next((number for number, mark in enumerate(seen) if mark not in blank), len(seen))


def make_registry(recorded: Mapping[str, Evidence], public: Mapping[str, Evidence]) -> Registry:
    """The registry of what was recorded of releases, and of what public sessions hold of them."""
    releases = sorted({*recorded, *public}, key=lambda release: (release_numbers(release), release))
    by_release = [[evidence for evidence in (recorded.get(release), public.get(release)) if evidence] for release in releases]
    names = {shape for evidences in by_release for evidence in evidences for shape in evidence}
    shapes = {name: _describe(name, by_release, public.values()) for name in sorted(names)}
    return Registry(releases, [release for release in releases if release in recorded], shapes)


def _describe(name: str, by_release: list[list[Evidence]], public: Iterable[Evidence]) -> RecordedShape:
    paths = sorted(
        {
            (path, field)
            for evidences in by_release
            for evidence in evidences
            for path, place in evidence.get(name, {}).items()
            for field in place.fields
        }
    )
    fields = {field_path(path, field): _describe_field(name, path, field, by_release, public) for path, field in paths}
    marks = []
    for evidences in by_release:
        count = sum(evidence[name][""].count for evidence in evidences if "" in evidence.get(name, {}))
        marks.append(ALWAYS if count >= ENOUGH else SOMETIMES if count else NOT_MET)
    return RecordedShape(
        "".join(marks), fields, sum(evidence[name][""].count for evidence in public if "" in evidence.get(name, {}))
    )


def _describe_field(name: str, path: str, field: str, by_release: list[list[Evidence]], public: Iterable[Evidence]) -> Field:
    marks = []
    types: dict[str, tuple[int, int]] = {}
    for number, evidences in enumerate(by_release):
        places = [evidence[name][path] for evidence in evidences if path in evidence.get(name, {})]
        objects = sum(place.count for place in places)
        having = [place.fields[field] for place in places if field in place.fields]
        count = sum(found.count for found in having)
        marks.append(_mark(objects, count, is_element=field in (ELEMENT, ANY_KEY)))
        for kind in {kind for found in having for kind in found.types}:
            types[kind] = (types.get(kind, (number, 0))[0], number)
    in_public = [evidence[name][path].fields.get(field) for evidence in public if path in evidence.get(name, {})]
    return Field("".join(marks), dict(sorted(types.items())), sum(found.count for found in in_public if found))


def _mark(objects: int, count: int, *, is_element: bool) -> str:
    if is_element:
        return SOMETIMES if count else NOT_MET
    if not objects:
        return NOT_MET
    if count == objects:
        return ALWAYS if objects >= ENOUGH else SO_FAR
    return SOMETIMES if count else NEVER


def to_text(registry: Registry) -> str:
    """The registry as a file: JSON with one line a field, so that a change can be read in a diff."""
    encode = msgspec.json.Encoder(order="deterministic").encode
    lines = [
        f'{{"releases":{encode(registry.releases).decode()},',
        f'"recorded":{encode(registry.recorded).decode()},',
        '"shapes":{',
    ]
    shapes = []
    for name, shape in registry.shapes.items():
        fields = ",\n".join(f"  {encode(path).decode()}:{encode(field).decode()}" for path, field in shape.fields.items())
        head = f'{encode(name).decode()}:{{"seen":{encode(shape.seen).decode()},"public":{shape.public},"fields":{{'
        shapes.append(f"{head}\n{fields}}}}}" if fields else f"{head}}}}}")
    return "\n".join(lines) + "\n" + ",\n".join(shapes) + "\n}}\n"


def from_text(text: str | bytes) -> Registry:
    return msgspec.json.decode(text, type=Registry)


@functools.cache
def load_registry() -> Registry:
    """The registry that came with this package."""
    return from_text(resources.files("stenograph.drift").joinpath("registry.json").read_bytes())
