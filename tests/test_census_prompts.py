"""Who decides by the client's tags and markers what a user record is: what imports can't show."""

from __future__ import annotations

import ast
import re

import pytest

#: How the client marks what it put in by itself, as far as only readers name it; not the tags that the agent writes as well.
_MARK = re.compile(
    r"</?(command-|local-command-|bash-(input|stdout|stderr|notification)|ide_|session-start-hook|teammate-message)"
    r"|\[Request interrupted|Caveat:|^(isMeta|isCompactSummary)$"
)
#: The same by another name.
_NAMES = {"INTERRUPTED", "CAVEATS", "WARM_UP"}
_MEMBERS = {"isMeta", "isCompactSummary"}

#: `records` knows how lines are written, `inputs` what they mean.
DECIDES = ("records/", "inputs.py")
#: Other questions about the same lines.
EXCEPTIONS = {
    "testing/conformance.py": "lines for tests of readers",
    "messages/ending.py": "rule 41: what a release takes for a local command at the end is decided by how its string begins",
    "messages/reminders.py": "a queued prompt's own mark, which decides the words around it",
    "messages/selection.py": "rule 30: what comes with a call beside the chain goes by the line's mark, not by its words",
    "turns/outline.py": "what is kept of a line includes its mark; `inputs` reads it from there",
}


def marks(source: str) -> list[tuple[int, str]]:
    """The line and the text of every mark of the client in some source, outside comments and docstrings."""
    tree = ast.parse(source)
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if node not in docstrings and (mark := _MARK.search(text)):
                found.append((node.lineno, mark[0]))
            case ast.Attribute(attr=name) if name in _MEMBERS:
                found.append((node.lineno, name))
            case ast.ImportFrom(module=str(module)) if module.startswith("stenograph.records"):
                found += [(node.lineno, alias.name) for alias in node.names if alias.name in _NAMES]
            case ast.MatchClass(kwd_attrs=names):
                found += [(node.lineno, name) for name in names if name in _MEMBERS]
    return sorted(found)


@pytest.mark.parametrize(
    "source",
    [
        "text.startswith('<command-name>')",
        "text.startswith(('<bash-input>', '<tick>'))",
        "'<local-command-stdout>' in text",
        "f'<ide_selection>{x}'",
        "re.compile(r'\\s*<ide_opened_file>')",
        "text.startswith('[Request interrupted by user')",
        "text.startswith('Caveat:')",
        "if record.isMeta: pass",
        "bool(record.isCompactSummary)",
        "line.get('isMeta')",
        "match record:\n    case UserRecord(isMeta=True): pass",
        "from stenograph.records import INTERRUPTED",
        "def f():\n    from stenograph.records import CAVEATS",
    ],
)
def test_the_census_sees_a_mark(source: str) -> None:
    assert marks(source)


@pytest.mark.parametrize(
    "source",
    [
        "# <command-name>",
        "'<command-name> is a tag.'\nimport os",
        "def f():\n    'Caveat: none.'",
        "x = 'a command-name'",
        "x = 'Request interrupted'",
        "x = record.isSidechain",
        "from stenograph.records import INTERRUPTED_TURN",
        "from stenograph.agent import INTERRUPTED",
        "x = '<system-reminder>'",
    ],
)
def test_the_census_lets_pass_what_is_no_mark(source: str) -> None:
    assert marks(source) == []
