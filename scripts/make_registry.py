"""Make the registry of what releases write from the committed recordings and the counts of public sessions.

In: `recordings/` and `tests/fixtures/recorded/` (sessions recorded from real releases, and the tools each offers),
`recordings/public.json` (counts of the public corpus: names of keys and JSON types, no values). Out:
`src/stenograph/drift/registry.json`. `--count-public FOLDER` first counts a corpus of public sessions into that file.

    python scripts/make_registry.py [--count-public FOLDER]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from stenograph.drift.registry import ALWAYS, ENOUGH, NEVER, NOT_MET, SO_FAR, SOMETIMES, Field, RecordedShape, Registry
from stenograph.drift.shapes import ANY_KEY, ELEMENT, Form, ShapeTally, field_path
from stenograph.errors import UsageError
from stenograph.records.json_text import parse_or_unset
from stenograph.releases import release_numbers

ROOT = Path(__file__).resolve().parent.parent
RECORDINGS = (ROOT / "recordings", ROOT / "tests" / "fixtures" / "recorded")
#: In the recordings of a release; a `?` marks an optional parameter (lab.observatory.offered_tools).
TOOLS, OPTIONAL = "tools.json", "?"
PUBLIC = ROOT / "recordings" / "public.json"
REGISTRY = ROOT / "src" / "stenograph" / "drift" / "registry.json"

#: Public files that another program wrote into: lines that no client wrote are no evidence.
CONTAMINATED = ("airing0805__claude-code-runner-python",)


class FieldEvidence(msgspec.Struct, array_like=True):
    #: Objects that had the field; for the elements of arrays and maps, those that were not empty.
    count: int = 0
    types: dict[str, int] = {}


class PlaceEvidence(msgspec.Struct, array_like=True):
    """The objects met at one path of a shape."""

    count: int = 0
    fields: dict[str, FieldEvidence] = {}


#: Shape -> path inside it -> what was met there.
Evidence = dict[str, dict[str, PlaceEvidence]]


def add_forms(evidence: Evidence, forms: Iterable[Form]) -> None:
    for form in forms:
        place = evidence.setdefault(form.shape, {}).setdefault(form.path, PlaceEvidence())
        if ELEMENT not in form.fields and ANY_KEY not in form.fields:
            place.count += form.count
        for name, types in form.fields.items():
            field = place.fields.setdefault(name, FieldEvidence())
            field.count += form.count
            for kind in types:
                field.types[kind] = field.types.get(kind, 0) + form.count


def tally_files(files: Iterable[Path]) -> dict[str, Evidence]:
    """What the lines of files say of each release they name."""
    tally = ShapeTally()
    for number, path in enumerate(files):
        tally.begin(number)
        for line, data in enumerate(path.read_bytes().split(b"\n"), 1):
            record = parse_or_unset(data) if data else None
            if isinstance(record, dict):
                tally.add(record, line)
        tally.end()
    found: dict[str, Evidence] = {}
    for release in tally.releases:
        if _is_release(release):
            add_forms(found.setdefault(release, {}), tally.forms(release))
    return found


def session_files(folder: Path) -> Iterator[Path]:
    """Journals of workflows are no transcripts and name no release."""
    yield from sorted(path for path in folder.rglob("*.jsonl") if path.name != "journal.jsonl")


def recorded_evidence() -> dict[str, Evidence]:
    """What the recorded sessions hold, and the parameters of all tools that each release offered."""
    found = tally_files(path for folder in RECORDINGS for path in session_files(folder))
    for path in sorted(RECORDINGS[0].glob(f"*/{TOOLS}")):
        tools = msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, str]])
        add_forms(found.setdefault(path.parent.name, {}), offered_forms(tools))
    return found


def offered_forms(tools: Mapping[str, Mapping[str, str]]) -> Iterator[Form]:
    """Tools as a `tools.json` lists them, as two calls of each: with every parameter, and with the required ones."""
    for tool, parameters in tools.items():
        objects: dict[str, dict[str, tuple[str, ...]]] = {"": {}}
        for path, types in parameters.items():
            inner = path.removesuffix(OPTIONAL)
            if inner.endswith((ELEMENT, ANY_KEY)):
                yield Form(f"tool:{tool}", inner[:-2], {inner[-2:]: tuple(types.split("|"))}, 1, 0, 0)
            else:
                parent, _, name = path.rpartition(".")
                objects.setdefault(parent, {})[name] = tuple(types.split("|"))
        for path, fields in objects.items():
            every = {name.removesuffix(OPTIONAL): types for name, types in fields.items()}
            required = {name: types for name, types in fields.items() if not name.endswith(OPTIONAL)}
            for form in (every, required):
                yield Form(f"tool:{tool}", path, form, 1, 0, 0)


def public_evidence() -> dict[str, Evidence]:
    return msgspec.json.decode(PUBLIC.read_bytes(), type=dict[str, Evidence]) if PUBLIC.exists() else {}


def count_public(folder: Path) -> None:
    files = (path for path in session_files(folder) if not any(name in path.parts for name in CONTAMINATED))
    evidence = tally_files(files)
    lines = [
        f"{msgspec.json.encode(release).decode()}:{msgspec.json.Encoder(order='deterministic').encode(evidence[release]).decode()}"
        for release in sorted(evidence, key=release_numbers)
    ]
    PUBLIC.parent.mkdir(exist_ok=True)
    PUBLIC.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _is_release(text: str) -> bool:
    try:
        release_numbers(text)
    except UsageError:
        return False
    return True


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count-public", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.count_public:
        count_public(options.count_public)
    registry = make_registry(recorded_evidence(), public_evidence())
    REGISTRY.write_text(to_text(registry), encoding="utf-8")
    fields = sum(len(shape.fields) for shape in registry.shapes.values())
    sys.stdout.write(f"{len(registry.recorded)} recorded releases, {len(registry.shapes)} shapes, {fields} fields\n")


if __name__ == "__main__":
    main()
