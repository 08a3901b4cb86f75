"""Permission rules: `Bash`, `Bash(git:*)`, `Edit(src/**)`, `WebFetch(domain:example.com)`. The grammar is that of 2.1.325."""

from __future__ import annotations

import fnmatch
import functools
import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from stenograph.errors import UsageError
from stenograph.net import canonical_host

_RULE = re.compile(r"(?P<tool>mcp__[\w.*-]*|[A-Za-z_][\w.-]*)(?:\((?P<spec>.*)\))?", re.DOTALL)
#: Spellings of one tool across releases.
_SAME = (
    {"Agent", "Task"},
    {"TaskOutput", "AgentOutputTool"},
    {"BashOutput", "BashOutputTool"},
    {"KillShell", "KillBash", "TaskStop"},
)
#: The client's and ours.
_KNOWN = frozenset({
    "Bash", "Edit", "Glob", "Grep", "MultiEdit", "NotebookEdit", "Read", "SendMessage", "Skill", "TodoWrite",
    "WebFetch", "WebSearch", "Write",
    # Only the client's, of any release.
    "AskUserQuestion", "CronCreate", "CronDelete", "CronList", "EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree",
    "LS", "LSP", "ListMcpResourcesTool", "Monitor", "NotebookRead", "ReadMcpResourceTool", "ScheduleWakeup", "SlashCommand",
    "StructuredOutput", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TeamCreate", "TeamDelete", "TodoRead", "ToolSearch",
    "Workflow",
}.union(*_SAME))  # fmt: skip


#: What ends a word for a shell: no other space does.
_BLANKS = " \t\n"
#: A folder with all its content.
_EVERYTHING = ("", "**", ".")


class PermissionRule(Struct, frozen=True):
    tool: str
    #: In parentheses; empty for the whole tool.
    spec: str = ""
    #: Where it was written, in the client's words: cliArg, session, userSettings, projectSettings, localSettings, policySettings.
    source: str = "cliArg"
    #: What its paths are relative to; None for the project.
    root: Path | None = None

    @property
    def text(self) -> str:
        return f"{self.tool}({self.spec})" if self.spec else self.tool


def split_rules(text: str) -> list[str]:
    """Rules separated by commas or blanks; those inside parentheses belong to a rule."""
    rules: list[str] = []
    depth = 0
    rule = ""
    for char in text:
        depth = max(0, depth + {"(": 1, ")": -1}.get(char, 0))
        if depth == 0 and (char == "," or char.isspace()):
            rules.append(rule)
            rule = ""
        else:
            rule += char
    return [rule for rule in (*rules, rule) if rule]


def parse_rule(text: str) -> PermissionRule:
    """Raises UsageError: a misread rule would allow, or fail to deny."""
    found = _RULE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f'"{text}" is not a permission rule; write Tool or Tool(what), like Bash(git:*)')
    spec = (found["spec"] or "").strip()
    return PermissionRule(found["tool"], "" if spec in ("*", ":*") else spec)


def is_rule_of_a_known_tool(text: str) -> bool:
    """Whether a word after a rule on a command line can be another rule."""
    rules = [_RULE.fullmatch(rule) for rule in split_rules(text)]
    return bool(rules) and all(rule and (rule["tool"] in _KNOWN or rule["tool"].startswith("mcp__")) for rule in rules)


def similar_tools(name: str, ours: Iterable[str]) -> list[str] | None:
    """Known tools with a similar name, if it is not one itself; None if it is, or may be that of a server."""
    if name in _KNOWN or name in ours or name.startswith("mcp__"):
        return None
    from difflib import get_close_matches  # for a mistake only

    by_spelling = {known.lower(): known for known in sorted({*_KNOWN, *ours})}
    return [by_spelling[found] for found in get_close_matches(name.lower(), by_spelling, n=2, cutoff=0.75)]


def names_of(rule: PermissionRule) -> frozenset[str]:
    return frozenset({rule.tool}.union(*(names for names in _SAME if rule.tool in names)))


def means_server_tool(rule: PermissionRule, name: str) -> bool:
    """`mcp__server`, `mcp__server__*` and other patterns, for a tool of an MCP server."""
    if not (name.startswith("mcp__") and rule.tool.startswith("mcp__")):
        return False
    return name.startswith(f"{rule.tool}__") or ("*" in rule.tool and fnmatch.fnmatchcase(name, rule.tool))


def matches_command(spec: str, command: str) -> bool:
    """`git:*` and `git *` with or without arguments, `*` for anything, else exactly."""
    if spec.endswith(":*"):
        prefix = spec[:-2].rstrip()
        return command == prefix or (command.startswith(prefix) and command[len(prefix)] in _BLANKS)
    if "*" not in spec:
        return command == spec
    return _command_pattern(spec).fullmatch(command) is not None


@functools.lru_cache(maxsize=256)
def _command_pattern(spec: str) -> re.Pattern[str]:
    tail = ""
    if spec.endswith(" *"):
        spec, tail = spec[:-2], r"(?:[ \t\n].*)?"
    return re.compile(".*".join(map(re.escape, spec.split("*"))) + tail, re.DOTALL)


def matches_host(spec: str, host: str, *, with_subdomains: bool) -> bool:
    """`*.example.com` means all hosts below it; a denying rule always includes those."""
    kind, _, domain = spec.partition(":")
    if kind != "domain" or not host:
        return False
    domain, host = canonical_host(_ascii(domain.strip())), canonical_host(host)
    if domain.startswith("*."):
        return host.endswith(domain[1:])
    return host == domain or (with_subdomains and host.endswith(f".{domain}"))


def _ascii(domain: str) -> str:
    """As addresses spell it."""
    try:
        return domain.encode("idna").decode() if not domain.isascii() else domain
    except UnicodeError:
        return domain


class PathRule:
    """A rule's path, as in .gitignore: `//x` from the root, `~/x` from home, `/x`, `a/b` and `./x` from the project, `x` at any
    depth; a match includes everything below.
    """

    def __init__(self, spec: str, project: Path) -> None:
        self.spec = spec
        folder, pattern = _anchor(spec, project)
        self._folders = {os.path.normpath(folder), os.path.realpath(folder)}
        self._pattern = pattern.strip("/") if pattern.strip("/") in _EVERYTHING else pattern.rstrip("/")

    def matches(self, places: Iterable[str]) -> bool:
        """`places`: absolute paths of one file, as named and with links followed."""
        return any(self._covers(below) for place in places for below in self._below(place))

    @functools.cached_property
    def _covers(self) -> Callable[[str], bool]:
        if self._pattern in _EVERYTHING:
            return lambda _: True
        from stenograph.agent.tools.globbing import Glob, GlobError  # few sessions have path rules

        # Their file systems ignore case; so must a denying rule.
        flags = re.IGNORECASE if sys.platform in ("darwin", "win32") else 0
        try:
            return Glob(self._pattern, braces=False, flags=flags).covers
        except GlobError:  # not a pattern: the name itself
            return Glob(re.sub(r"([*?\[\]\\])", r"\\\1", self._pattern), braces=False, flags=flags).covers

    def _below(self, place: str) -> list[str]:
        # relpath is too slow: every file that a search finds is asked about.
        return [
            place[len(folder.rstrip(os.sep)) + 1 :].replace(os.sep, "/") or "."
            for folder in self._folders
            if place == folder or place.startswith(folder.rstrip(os.sep) + os.sep)
        ]


def _anchor(spec: str, project: Path) -> tuple[Path, str]:
    if spec.startswith("//"):
        return Path(project.anchor), "/" + spec[2:]
    if spec.startswith("~/"):
        return Path(os.path.expanduser("~")), "/" + spec[2:]  # noqa: PTH111 - it does not raise where there is no home
    if spec.startswith("./"):
        return project, "/" + spec[2:]
    return project, spec
