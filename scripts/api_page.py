"""The API reference, docs/api.md: signatures and docstrings of what `stenograph` exports."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import stenograph

_API = """# Python API

<!-- Generated from docstrings by scripts/generate_docs.py; do not edit. -->

```python
import stenograph

session = stenograph.load("last")
for turn in session.turns:
    print(turn.number, turn.status, turn.prompt)
```

Import every name below from `stenograph`. `Session`, `Turn`, `ApiCall`, `ToolCall` and `AgentRun` are frozen; they compute their
contents on first use.

"""


def api_page() -> str:
    """The page, from the signatures and docstrings of what `stenograph` exports."""
    names = sorted((name for name in stenograph.__all__ if name != "__version__"), key=lambda name: (name[0].isupper(), name))
    return _API + "\n".join(_describe(name, getattr(stenograph, name)) for name in names)


def _describe(name: str, value: Any) -> str:
    documentation = inspect.cleandoc(value.__doc__ or "")
    if not inspect.isclass(value):
        return f"## {name}\n\n```python\n{_signature(name, value)}\n```\n\n{documentation}\n"
    rows = "".join(f"| `{member}` | `{kind}` | {text} |\n" for member, kind, text in _members(value))
    table = f"\n| attribute | type | meaning |\n| --- | --- | --- |\n{rows}" if rows else ""
    return f"## {name}\n\n{documentation}\n{table}"


def _signature(name: str, function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    parameters = "".join(f"\n    {parameter}," for parameter in _parameters(signature))
    return f"{name}({parameters}\n) -> {signature.return_annotation}"


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    keyword_only = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            yield "*"
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}".replace("'", '"')
        yield f"{parameter.name}: {parameter.annotation}{default}"


def _members(owner: type) -> Iterator[tuple[str, str, str]]:
    """The fields of a value and what it computes: name, type and the first sentence of what is said about it."""
    source = ast.parse(inspect.getsource(owner))
    comments = _comments(inspect.getsource(owner))
    for node in source.body[0].body:  # type: ignore[attr-defined]
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)) if not name.startswith("_"):
                yield name, _cell(ast.unparse(node.annotation)), _cell(comments.get(name, ""))
            case ast.FunctionDef(name=name, returns=ast.expr() as kind) if not name.startswith("_") and node.decorator_list:
                text = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
                yield name, _cell(ast.unparse(kind)), _cell(text)


def _comments(source: str) -> dict[str, str]:
    """The comment above each field."""
    found, above = {}, ""
    for line in map(str.strip, source.splitlines()):
        if line.startswith("#"):
            above = f"{above} {line.lstrip('#: ')}".strip()
            continue
        if above and ":" in line:
            found[line.split(":")[0]] = above
        above = ""
    return found


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
