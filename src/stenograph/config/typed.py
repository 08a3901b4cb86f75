"""Plain values -> typed settings, or a ConfigError that names the key and what its type expects; never the value."""

from __future__ import annotations

import errno
import re
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from stenograph.errors import ConfigError, in_quotes

T = TypeVar("T")
#: How an error names a setting, from its keys.
Spell = Callable[[Sequence[str]], str]

# Of messages of msgspec; compiled for the first error.
_PLACE = r"(?s:(?P<problem>.*?)(?: - at `\$(?P<path>.*)`)?)"
# Of an entry of a table with free names msgspec does not say the name.
_STEP = r"(\[\.\.\.\])|\.([^.\[]+)|\[(\d+)\]"
_FIELD = r"(?s:Object (?P<how>contains unknown|missing required) field `(?P<name>.*)`)"
_PLACE_IN_TOML = r"\(at (?:line \d+, column \d+|end of document)\)"


class UnfitError(ValueError):
    """Raised by `__post_init__` of a settings type, for what constraints cannot express."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(problem)
        self.key = key


def typed(values: Any, kind: type[T], spell: Spell) -> T:
    """Raises ConfigError."""
    try:
        return msgspec.convert(values, kind)
    except (msgspec.ValidationError, OverflowError) as error:
        raise ConfigError(_explain(error, values, kind, spell)) from None


def in_file(path: Path, *above: str) -> Spell:
    """How errors name a key in a file, or in a table there."""
    return lambda keys: f"{path}: `{'.'.join((*above, *keys))}`"


def read_toml(path: Path, *, must_exist: bool = False) -> dict[str, Any]:
    """The values of a file; none if it does not exist. Raises ConfigError, whose cause is an OSError if it cannot be read."""
    try:
        # Only a file that was named may be a pipe; any other would make every command wait.
        if not must_exist and not stat.S_ISREG(path.stat().st_mode):
            raise OSError(errno.EINVAL, "not a file")
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        if must_exist:
            raise ConfigError(f"config file not found: {path}") from error
        return {}
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise ConfigError(f"cannot read {path}: {getattr(error, 'strerror', 'not a valid path')}") from error
    import tomllib

    try:
        return tomllib.loads(data.decode())
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError, and overlong numbers
        # Only the place: the error may quote a key.
        place = re.search(_PLACE_IN_TOML, str(error))
        raise ConfigError(f"{path} is not valid TOML{' ' + place[0] if place else ''}") from None
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply") from None


def read_typed(path: Path, kind: type[T]) -> T:
    """The values of a file that has to exist, as a type. Raises ConfigError."""
    return typed(read_toml(path, must_exist=True), kind, in_file(path))


def _explain(error: Exception, values: Any, kind: type[Any], spell: Spell) -> str:
    import msgspec.inspect

    found = re.fullmatch(_PLACE, str(error))
    problem, path = (found["problem"], found["path"] or "") if found else (str(error), "")
    keys: list[str] = []
    names: list[str | int] = []
    type_there = msgspec.inspect.type_info(kind)
    for entry, name, number in re.findall(_STEP, path):
        type_there = _plain(type_there)
        if isinstance(type_there, msgspec.inspect.StructType):
            type_there = next(field.type for field in type_there.fields if field.encode_name == name)
        elif isinstance(type_there, msgspec.inspect.VarTupleType):
            type_there = type_there.item_type
        elif isinstance(type_there, msgspec.inspect.DictType):
            type_there = type_there.value_type
        names.append(_unfit_entry(values, names, kind, str(error)) if entry else name or int(number))
        keys.append(in_quotes(str(names[-1])) if entry else name or str(int(number) + 1))
    if isinstance(error.__cause__, UnfitError):
        return f"{spell([*keys, error.__cause__.key])} {problem}"
    if (field := re.fullmatch(_FIELD, problem)) is None:
        return f"{spell(keys)} must be {_description(type_there)}"
    if field["how"] == "missing required":
        return f"{spell([*keys, field['name']])} is missing"
    shape = _plain(type_there)
    known = [each.encode_name for each in shape.fields] if isinstance(shape, msgspec.inspect.StructType) else []
    import difflib

    near = difflib.get_close_matches(field["name"], known, n=1)
    advice = f'did you mean "{near[0]}"?' if near else f"known: {', '.join(known)}"
    return f"{spell([*keys, field['name']])} is not a known key; {advice}"


def _unfit_entry(values: Any, place: Sequence[str | int], kind: type[Any], error: str) -> str:
    """The name of the entry of a table that has an error."""
    there = values
    for step in place:
        there = there[step]
    names: list[str] = list(there)
    return next(name for name in names if _error_of(_with_only(values, place, name), kind) == error)


def _with_only(values: Any, place: Sequence[str | int], name: str) -> Any:
    """The values, with one entry only in the table at a place."""
    if not place:
        return {name: values[name]}
    step, *rest = place
    copied = values.copy()
    copied[step] = _with_only(values[step], rest, name)
    return copied


def _error_of(values: Any, kind: type[Any]) -> str:
    try:
        msgspec.convert(values, kind)
    except (msgspec.ValidationError, OverflowError) as error:
        return str(error)
    return ""


def _plain(type_there: Any) -> Any:
    return type_there.type if isinstance(type_there, msgspec.inspect.Metadata) else type_there


def _description(type_there: Any) -> str:
    inspect = msgspec.inspect
    match type_there:
        case inspect.Metadata(type=inner, extra_json_schema=extra):
            return str((extra or {}).get("description") or _description(inner))
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return "a whole number"
        case inspect.FloatType():
            return "a number"
        case inspect.StrType():
            return "a string"
        case inspect.EnumType(cls=cls):
            return " or ".join(each.value for each in cls)
        case inspect.LiteralType(values=values):
            return " or ".join(map(str, values))
        case inspect.VarTupleType(item_type=item):
            return f"a list, each item {_description(item)}"
        case inspect.UnionType(types=types):
            # A value that may be missing: there is no way to write it in TOML.
            return " or ".join(_description(each) for each in types if not isinstance(each, inspect.NoneType))
        case _:
            return "a table"
