"""Whether a call may run.

A rule's denial wins in every mode; what nothing allows is refused. The words, and what counts as reading, are those of
2.1.325; docs/agent.md lists where we are stricter.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from stenograph.agent.engine.options import PermissionMode
from stenograph.agent.permissions import suggestions
from stenograph.agent.permissions.changing_commands import changed_by
from stenograph.agent.permissions.git_reading import is_plain_repository
from stenograph.agent.permissions.live_policy import Behavior, Decision, LivePolicy, PermissionUpdate
from stenograph.agent.permissions.named_files import (
    MOST_ENTRIES,
    NamedFiles,
    TooManyFilesError,
    files_matching,
    files_named,
)
from stenograph.agent.permissions.reading_commands import Around, is_harmless_setting, is_reading, leads_to
from stenograph.agent.permissions.rules import (
    PathRule,
    PermissionRule,
    matches_command,
    matches_host,
    means_server_tool,
    names_of,
)
from stenograph.agent.permissions.sensitive_files import sensitive_names
from stenograph.agent.permissions.shell_parts import Part, Unclear, commands_within, may_run, read_command, split_command
from stenograph.agent.tools.base import Json, Tool, ToolInput, Workspace
from stenograph.net import canonical_host, is_loopback
from stenograph.records import CHANGING_TOOLS

#: They touch nothing of the user's; a sub-agent's calls are checked one by one.
_HARMLESS = frozenset({"TodoWrite", "Agent", "Task", "TaskOutput", "BashOutput", "KillShell", "TaskStop"})
_SEARCHING = frozenset({"Glob", "Grep"})
#: Their rules may name some calls only.
_SPECIAL = frozenset({"Bash", "WebFetch", "Agent", "Read", "Glob", "Grep", "Skill"})
_STARTING_AGENTS = frozenset({"Agent", "Task"})
#: They read what is not the user's, and send what is asked.
_REACHING_OUT = frozenset({"WebFetch", "WebSearch"})

#: Characters of a command in words for the model.
_LONGEST_SHOWN = 200

BY_RULE = "permission-rule"
NOT_GRANTED = "user-rejected"


class Permissions:
    """Of one conversation; a sub-agent has its own working folder."""

    def __init__(
        self, policy: LivePolicy, workspace: Workspace, readable: Sequence[Path] = (), search_path: str = os.defpath
    ) -> None:
        """`readable`: folders outside the project that may be read. `search_path`: where git is."""
        self._search_path = search_path
        self._policy = policy
        self._workspace = workspace
        self._readable = tuple(readable)
        self._path_rules: dict[PermissionRule, PathRule] = {}

    @property
    def _mode(self) -> PermissionMode:
        return self._policy.mode

    @property
    def _allowed(self) -> list[PermissionRule]:
        return self._policy.rules(Behavior.ALLOW)

    @property
    def _denied(self) -> list[PermissionRule]:
        return self._policy.rules(Behavior.DENY)

    def _path_rule(self, rule: PermissionRule) -> PathRule:
        if rule not in self._path_rules:
            # Only `/x` starts where the rule was written.
            root = rule.root if rule.spec.startswith("/") and not rule.spec.startswith("//") else None
            self._path_rules[rule] = PathRule(rule.spec, root or self._workspace.project)
        return self._path_rules[rule]

    def denied_tools(self) -> frozenset[str]:
        """Tools that are denied as a whole, by all their names."""
        return frozenset(name for rule in self._denied if not _is_special(rule) for name in names_of(rule))

    def denies_tool(self, tool: Tool[Any]) -> bool:
        """Whether a tool is denied as a whole."""
        return any(_is_about(rule, tool) and not _is_special(rule) for rule in self._denied)

    def read_filter(self, tool: str) -> Callable[[Path], bool] | None:
        """Whether a file that a call finds may be shown; None if no rule denies any. For one call: folders are resolved once."""
        searched = {"Read"} | ({tool} & _SEARCHING)
        rules = [self._path_rule(rule) for rule in self._denied if rule.spec and rule.tool in searched]
        if not rules:
            return None
        real_folder = functools.cache(_real)

        def may_read(path: Path) -> bool:
            is_link = os.path.islink(path)  # noqa: PTH114 - Path.is_symlink raises without rights
            real = _real(path) if is_link else os.path.join(real_folder(path.parent), path.name)  # noqa: PTH118 - text is asked for
            places = {os.path.normpath(path), real}
            return not any(rule.matches(places) for rule in rules)

        return may_read

    def may_read(self, path: Path) -> bool:
        """Whether no rule denies reading a file."""
        asked = self.read_filter("Read")
        return asked is None or asked(path)

    def may_fetch(self, host: str) -> bool:
        """Whether no rule denies a host, as that of a redirect."""
        rules = [rule for rule in self._denied if rule.spec and rule.tool == "WebFetch"]
        return not any(matches_host(rule.spec, host, with_subdomains=True) for rule in rules)

    def decide(self, tool: Tool[Any], given: ToolInput, raw: Json) -> Decision:
        paths = [_Places(path) for path in tool.paths(given, self._workspace)]
        command = _text(given, raw, "command") if tool.name == "Bash" else ""
        if denial := self._deny(tool, paths, command, given, raw):
            return denial
        if tool.asks_user:
            return Decision(Behavior.ASK, tool.request(given), "tool", NOT_GRANTED, record=_record("reject", code="unknown"))
        if rule := self._asking(tool, paths, command):
            return self._ask_by_rule(tool, given, rule)
        if self._mode is PermissionMode.BYPASS:
            return _accept("mode", self._mode.value)
        if tool.name == "Bash":
            return self._decide_command(tool, given, command)
        if self._reads(tool, paths) or tool.is_free(given):
            return _accept("mode", self._mode.value, is_unruled=True)
        if self._mode is PermissionMode.PLAN:
            return self._refuse(tool, paths, given)
        if rule := self._allowing(tool, paths, given, raw):
            return _accept("rule", rule.text, rule.source)
        if self._mode is PermissionMode.ACCEPT_EDITS and tool.name in CHANGING_TOOLS and self._are_ordinary(paths):
            return _accept("mode", self._mode.value)
        return self._refuse(tool, paths, given)

    # What is asked about

    def _asking(self, tool: Tool[Any], paths: list[_Places], command: str) -> PermissionRule | None:
        """A rule that wants a person to be asked, whatever else allows the call."""
        for rule in self._policy.rules(Behavior.ASK):
            if not rule.spec or not _is_special(rule):
                if _is_about(rule, tool):
                    return rule
            elif tool.name == "Bash":
                if "Bash" in names_of(rule) and self._denies_command(rule, command, _no_files):
                    return rule
            elif ((rule.tool == "Read" and tool.is_read_only) or _covers_edits(rule, tool)) and self._matches_any(rule, paths):
                return rule
        return None

    def _ask_by_rule(self, tool: Tool[Any], given: ToolInput, rule: PermissionRule) -> Decision:
        if self._mode is PermissionMode.DONT_ASK:
            return self._refuse(tool, [], given)
        words = f"Claude requested permissions to use {tool.name}, but you haven't granted it yet."
        record = _record("reject", code=f"rule:{rule.source}") | {"ruleSource": rule.source}
        return Decision(Behavior.ASK, words, rule.text, NOT_GRANTED, record=record)

    # What is denied

    def _deny(self, tool: Tool[Any], paths: list[_Places], command: str, given: ToolInput, raw: Json) -> Decision | None:
        if rule := next((rule for rule in self._denied if _is_about(rule, tool) and not _is_special(rule)), None):
            return _reject(f"Permission to use {tool.name} has been denied.", rule)
        # Once for all rules, and never twice: the disk may have changed.
        named = functools.cache(lambda: files_named(command, self._workspace.cwd))
        for rule in (rule for rule in self._denied if rule.spec):
            if tool.name == "Bash":
                if self._denies_command(rule, command, named):
                    return _reject(f"Permission to use Bash with command {command} has been denied.", rule, "subcommandResults")
            elif rule.tool == "Read" and self._matches_any(rule, paths):
                words = "File is in a directory that is denied by your permission settings."
                if tool.name in CHANGING_TOOLS:
                    words = "File is covered by a Read deny rule in your permission settings and cannot be edited."
                return _reject(words, rule, is_tool_error=True)
            elif tool.name in CHANGING_TOOLS and _covers_edits(rule, tool) and self._matches_any(rule, paths):
                return _reject("File is in a directory that is denied by your permission settings.", rule, is_tool_error=True)
            elif not _is_about(rule, tool):
                continue
            elif tool.means(given, rule.spec):
                return _reject(f"Permission to use {tool.name} has been denied.", rule)
            elif tool.name == "WebFetch" and matches_host(rule.spec, _host(given, raw), with_subdomains=True):
                return _reject(f"WebFetch denied access to {rule.spec}.", rule)
            elif tool.name in _STARTING_AGENTS and rule.spec == _text(given, raw, "subagent_type"):
                words = f"Agent type '{rule.spec}' has been denied by permission rule '{rule.text}' from {rule.source}."
                return _reject(words, rule)
            elif tool.name in _SEARCHING and self._matches_any(rule, paths):
                return _reject("File is in a directory that is denied by your permission settings.", rule, is_tool_error=True)
        return None

    def _matches_any(self, rule: PermissionRule, paths: Iterable[_Places]) -> bool:
        return any(self._path_rule(rule).matches(path.all) for path in paths)

    def _denies_command(self, rule: PermissionRule, command: str, named: Callable[[], NamedFiles]) -> bool:
        """Any part is enough, and any word that is a denied file."""
        commands = _commands_within(command)
        if commands is None:
            return True
        if "Bash" in names_of(rule):
            name = rule.spec.removesuffix(":*").partition("*")[0].strip()
            texts = (command.strip(), *(" ".join(_named(words, name)) for words in commands))
            return any(matches_command(rule.spec, text) for text in texts) or (bool(name) and may_run(command, name))
        if rule.tool not in CHANGING_TOOLS | {"Read"}:
            return False
        files = named()
        if files.is_endless or files.may_mean(rule.spec):
            return True
        return any(self._path_rule(rule).matches(places) for places in files.places)

    # What is allowed

    def _reads(self, tool: Tool[Any], paths: list[_Places]) -> bool:
        if tool.name in _REACHING_OUT:
            return False
        if tool.name in _HARMLESS:
            return True
        return tool.is_read_only and all(self._is_inside(path, and_readable=True) for path in paths)

    def _allowing(self, tool: Tool[Any], paths: list[_Places], given: ToolInput, raw: Json) -> PermissionRule | None:
        """The rule that allows the call; of several needed together, the last."""
        # A rule for all files was not meant for these (2.1.325).
        is_special = tool.name in CHANGING_TOOLS and any(map(self._sensitive_names, paths))
        # Nor was one for the web meant for what runs on this machine.
        is_special = is_special or (tool.name == "WebFetch" and is_loopback(canonical_host(_host(given, raw))))
        for rule in self._allowed:
            if not rule.spec and _is_about(rule, tool) and not is_special:
                return rule
        if tool.name in CHANGING_TOOLS or (tool.is_read_only and paths):
            return self._allowing_paths(tool, paths)
        for rule in (rule for rule in self._allowed if rule.spec and _is_about(rule, tool)):
            if tool.means(given, rule.spec):
                return rule
            if tool.name == "WebFetch" and matches_host(rule.spec, _host(given, raw), with_subdomains=False):
                return rule
        return None

    def _allowing_paths(self, tool: Tool[Any], paths: list[_Places]) -> PermissionRule | None:
        rules = [
            rule
            for rule in self._allowed
            if rule.spec
            and (_covers_edits(rule, tool) if tool.name in CHANGING_TOOLS else rule.tool == "Read" or _is_about(rule, tool))
        ]
        last: PermissionRule | None = None
        for path in paths:
            sensitive = self._sensitive_names(path) if tool.name in CHANGING_TOOLS else frozenset[str]()
            # A link into an allowed folder is allowed only if its target is.
            last = next((rule for rule in rules if self._names(rule, sensitive) and self._matches_all(rule, path)), None)
            if last is None:
                return None
        return last

    def _matches_all(self, rule: PermissionRule, path: _Places) -> bool:
        return all(self._path_rule(rule).matches([place]) for place in path.all)

    def _names(self, rule: PermissionRule, sensitive: frozenset[str]) -> bool:
        """Whether a rule names such files itself: `src/**` was not written with `src/.git/hooks` in mind."""
        return sensitive.issubset(rule.spec.lower().split("/"))

    # Commands

    def _decide_command(self, tool: Tool[Any], given: ToolInput, command: str) -> Decision:
        unruled = self._judge(command, [])
        if not unruled.refused:
            return _accept("subcommandResults", self._mode.value, is_unruled=True)
        if self._mode is PermissionMode.PLAN:
            return self._refuse(tool, [], given)
        rules = [rule for rule in self._allowed if "Bash" in names_of(rule)]
        for rule in rules:
            # All of them, or exactly what the user wrote, whatever it does.
            if not rule.spec or ("*" not in rule.spec and command.strip(" \t\n") == rule.spec):
                return _accept("subcommandResults", rule.text)
        verdict = self._judge(command, rules, may_edit=True)
        if not verdict.refused:
            return _accept("subcommandResults", verdict.rule.text if verdict.rule else self._mode.value)
        if self._mode is PermissionMode.DONT_ASK:
            return self._refuse(tool, [], given)
        record = _record("reject", code="bashMiss:no-rule-match")
        return Decision(Behavior.ASK, verdict.words, self._mode.value, NOT_GRANTED, record=record)

    def suggest(self, tool: Tool[Any], given: ToolInput, raw: Json) -> list[PermissionUpdate]:
        """What would make a question about a call unnecessary."""
        outside = self.outside(tool, given)
        if tool.name == "Bash":
            return suggestions.for_command(self._parts_to_ask(_text(given, raw, "command")))
        if tool.name in CHANGING_TOOLS:
            return suggestions.for_edit(outside)
        if outside is not None:
            return suggestions.for_reading(outside)
        return suggestions.for_host(_host(given, raw)) if tool.name == "WebFetch" else suggestions.for_tool(tool.name)

    def _parts_to_ask(self, command: str) -> list[str]:
        """The parts of a command that neither a rule allows nor reading explains."""
        rules = [rule for rule in self._allowed if "Bash" in names_of(rule)]
        parts = split_command(command) or ()
        return [part.text for part in parts if self._judge(part.text, rules, may_edit=True).refused]

    def outside(self, tool: Tool[Any], given: ToolInput) -> Path | None:
        """The first file of a call that is outside the working directories."""
        paths = [_Places(path) for path in tool.paths(given, self._workspace)]
        return next((Path(path.named) for path in paths if not self._is_inside(path)), None)

    def _judge(self, command: str, rules: Sequence[PermissionRule], *, may_edit: bool = False) -> _Verdict:
        """Whether each part is allowed by a rule, by the mode, or only reads inside the folders."""
        parts = read_command(command)
        if isinstance(parts, Unclear):
            return _unclear(command, parts)
        if not parts and "#" not in command:
            return _Verdict("?", "This command requires approval.")
        used: PermissionRule | None = None
        # Where `cd` may have led; whether it did is unknown, so names must be inside from each.
        folders = [self._workspace.cwd]
        for part in parts:
            if (target := leads_to(part)) is not None and not part.written:
                reached = [_Places(folder / target) for folder in folders]
                if not all(self._is_inside(place) for place in reached):
                    return _refused(part, parts, "it leads out of the working directories")
                folders += [Path(place.named) for place in reached]
                continue
            around = self._around(folders)
            rule = next((rule for rule in rules if _allows_part(rule, part)), None)
            if rule is not None:
                used = rule
                # What a rule allows may write elsewhere, but not by a redirection.
                if not all(map(around.is_inside, part.read)):
                    return _refused(part, parts, "it reads a file outside the working directories")
            elif not (may_edit and self._edits(part, folders)) and not is_reading(_without_writing(part), around):
                return _refused(part, parts)
            if part.written and not (may_edit and self._may_write(part.written, folders)):
                return _refused_writing(part)
        return _Verdict(rule=used)

    def _around(self, folders: list[Path]) -> Around:
        def expand(pattern: str) -> list[str] | None:
            if len(folders) > 1:
                return None
            try:
                found = files_matching(folders[0] / pattern, [MOST_ENTRIES], shows_hidden=False)
            except TooManyFilesError:
                return None
            if os.path.isabs(pattern):  # noqa: PTH117 - text
                return [str(path) for path in found]
            return [os.path.relpath(path, folders[0]) for path in found]

        return Around(
            is_inside=functools.partial(self._is_named_inside, tuple(folders)),
            expand=expand,
            is_folder=lambda word: any(os.path.isdir(folder / word) for folder in folders),  # noqa: PTH112 - never raises
            is_plain_repository=lambda: is_plain_repository(self._workspace.cwd, self._search_path),
            may_read_files=not any(rule.tool == "Read" and rule.spec for rule in self._denied),
            has_moved=len(folders) > 1,
            home=os.path.expanduser("~"),  # noqa: PTH111 - it does not raise
        )

    def _edits(self, part: Part, folders: Sequence[Path]) -> bool:
        """Whether acceptEdits allows a command: it changes only ordinary files inside (2.1.325)."""
        if self._mode is not PermissionMode.ACCEPT_EDITS or len(folders) > 1:
            return False
        files = changed_by(part)
        return files is not None and self._may_write(files, folders)

    def _may_write(self, files: Iterable[str], folders: Sequence[Path]) -> bool:
        """By the mode, or by rules for edits. From one known folder only (2.1.325)."""
        if len(folders) > 1:
            return False
        paths = [_Places(folders[0] / file) for file in files]
        roots = {place for folder in self._workspace.folders for place in _Places(folder).all}
        if any(not roots.isdisjoint(path.all) for path in paths):
            return False
        if self._mode is PermissionMode.ACCEPT_EDITS and self._are_ordinary(paths):
            return True
        return all(map(self._is_edit_allowed, paths))

    def _is_edit_allowed(self, path: _Places) -> bool:
        rules = [rule for rule in self._allowed if rule.tool == "Edit" and self._names(rule, self._sensitive_names(path))]
        return any(not rule.spec or self._matches_all(rule, path) for rule in rules)

    def _is_named_inside(self, folders: Iterable[Path], word: str) -> bool:
        return all(self._is_inside(_Places(folder / word), and_readable=True) for folder in folders)

    def _is_inside(self, path: _Places, *, and_readable: bool = False) -> bool:
        """By its name and by where links lead."""
        return all(self._below(place, and_readable=and_readable) is not None for place in path.all)

    def _below(self, place: str, *, and_readable: bool = False) -> str | None:
        folders = (*self._workspace.folders, *self._policy.directories, *(self._readable if and_readable else ()))
        spellings = {spelling.rstrip(os.sep) for folder in folders for spelling in _Places(folder).all}
        return next((place[len(one) :] for one in spellings if place == one or place.startswith(one + os.sep)), None)

    def _are_ordinary(self, paths: list[_Places]) -> bool:
        return bool(paths) and all(self._is_inside(path) and not self._sensitive_names(path) for path in paths)

    def _sensitive_names(self, path: _Places) -> frozenset[str]:
        """What in a path makes other programs run something: changed only if a rule names it, or in bypassPermissions.

        2.1.325 asks a person even if a rule names it.
        """
        # The project may itself be below such a folder: only what is below the project counts.
        return frozenset().union(*(sensitive_names(Path(self._below(place) or place).parts) for place in path.all))

    # What is refused

    def _refuse(self, tool: Tool[Any], paths: list[_Places], given: ToolInput) -> Decision:
        mode = self._mode
        outside = [path for path in paths if not self._is_inside(path)]
        code = "workingDir" if outside else "unknown"
        where = (outside or paths)[0].named if paths else ""
        if mode is PermissionMode.DONT_ASK:
            words = f"Permission to use {tool.name} has been denied because the session runs in don't ask mode. {_WHAT_NOW}"
            return Decision(Behavior.DENY, words, mode.value, BY_RULE, record=_record("reject", "mode", code="mode:dontAsk"))
        if mode is PermissionMode.PLAN:
            words = f"Cannot write to {where} while in plan mode." if where else f"Cannot use {tool.name} while in plan mode."
            return Decision(Behavior.DENY, words, mode.value, NOT_GRANTED, record=_record("reject", code="mode:plan"))
        if tool.name in CHANGING_TOOLS and any(map(self._sensitive_names, paths)):
            words = f"Claude requested permissions to edit {where} which is a sensitive file."
            code = "safetyCheck"
        elif tool.name in CHANGING_TOOLS and where:
            words = f"Claude requested permissions to write to {where}, but you haven't granted it yet."
        elif tool.is_read_only and where:
            words = f"Claude requested permissions to read from {where}, but you haven't granted it yet."
        else:
            words = tool.request(given) or f"Claude requested permissions to use {tool.name}, but you haven't granted it yet."
        return Decision(Behavior.ASK, words, mode.value, NOT_GRANTED, record=_record("reject", code=code))


#: So that the model neither gives up nor looks for a way around.
_WHAT_NOW = (
    "Go on with what is allowed, or by another tool that fits the task. Do not work around what the denial is meant to prevent."
    " If the task can't be done without it, stop and tell the user what is needed and why."
)


class _Places:
    """A file's absolute path as named, and with links followed."""

    def __init__(self, path: Path) -> None:
        self.named = os.path.normpath(path)
        # Of the path as named: `link/..` is not the folder that holds the link.
        self.all = frozenset({self.named, _real(path)})


def _real(path: Path) -> str:
    try:
        return os.path.realpath(path)
    except ValueError:  # not a file name: the tool says so
        return os.path.normpath(path)


_commands_within = functools.lru_cache(maxsize=1)(commands_within)


def _named(words: tuple[str, ...], name: str) -> tuple[str, ...]:
    """The words, with the denied name for a pattern that a shell may expand to it: `/bin/r?` for `rm`."""
    first = name.partition(" ")[0]
    pattern = words[0].rpartition("/")[2]
    if first and any(sign in pattern for sign in "*?[") and fnmatch.fnmatchcase(first, pattern.replace("[^", "[!")):
        return (first, *words[1:])
    return words


def _is_about(rule: PermissionRule, tool: Tool[Any]) -> bool:
    return not names_of(rule).isdisjoint({tool.name, *tool.also_called}) or means_server_tool(rule, tool.name)


def _is_special(rule: PermissionRule) -> bool:
    """Whether a rule means only some calls of its tool. Parentheses of other tools are not understood: all calls are meant."""
    return bool(rule.spec) and not names_of(rule).isdisjoint(CHANGING_TOOLS | _SPECIAL)


def _covers_edits(rule: PermissionRule, tool: Tool[Any]) -> bool:
    """A path rule for Edit covers every tool that changes files (2.1.325)."""
    return rule.tool == "Edit" or _is_about(rule, tool)


_ACTIONS_OF_FIND = ("-exec", "-ok", "-delete", "-fprint", "-fls")


#: What can't turn into an action of `find`.
_PLAIN_PATTERN = re.compile(r"[\w./~][^${}]*|\*\.\w+")
#: They run what follows them unchanged, and their own options only say how.
_WRAPPERS = {
    "command": re.compile(r"command"),
    "nice": re.compile(r"nice(?: -n -?\d+| -\d+)?"),
    "nohup": re.compile(r"nohup"),
    "stdbuf": re.compile(r"stdbuf(?: -[ioe][0L]\d*)+"),
    "time": re.compile(r"time(?: -p)?"),
    "timeout": re.compile(r"timeout(?: -[sk] \w+| --(?:signal|kill-after)=\w+| --foreground)* \d[\d.]*[smhd]?"),
    "xargs": re.compile(r"xargs"),
}


def _allows_part(rule: PermissionRule, part: Part) -> bool:
    text = part.text
    while not matches_command(rule.spec, text):
        first, _, rest = text.partition(" ")
        if is_harmless_setting(first) and rest:
            text = rest.lstrip()
            continue
        wrapper = _WRAPPERS.get(first)
        found = wrapper.match(text) if wrapper else None
        if found is None or not text[found.end() :].startswith(" ") or text[found.end() :].lstrip().startswith("-"):
            return False
        text = text[found.end() :].lstrip()
    return "*" not in rule.spec or not _may_act(part)


def _may_act(part: Part) -> bool:
    """Whether `find` may run or delete something: a rule for all of it was not meant for that (2.1.325)."""
    names = [word.rpartition("/")[2] for word in part.words]
    if "find" not in names:
        return False
    if names[0] == "xargs" or "xargs" in names[: names.index("find")]:
        return True
    return any(word.startswith(_ACTIONS_OF_FIND) for word in part.words) or not all(map(_PLAIN_PATTERN.fullmatch, part.loose))


def _text(given: ToolInput, raw: Json, name: str) -> str:
    value = getattr(given, name, None) or raw.get(name)
    return value if isinstance(value, str) else ""


def _host(given: ToolInput, raw: Json) -> str:
    """The host that would be asked: read as the fetch itself reads it. Empty for an address that it refuses."""
    from urllib.parse import urlsplit  # not before the first request

    from stenograph.agent.tools.page import FetchFailed, checked_address

    try:
        return urlsplit(checked_address(_text(given, raw, "url"))).hostname or ""
    except FetchFailed:
        return ""


def _accept(reason: str, by: str, source: str = "", *, is_unruled: bool = False) -> Decision:
    record = _record("accept", reason) | ({"ruleSource": source} if reason == "rule" else {})
    return Decision(Behavior.ALLOW, "", by, record=record, is_unruled=is_unruled)


def _reject(words: str, rule: PermissionRule, reason: str = "rule", *, is_tool_error: bool = False) -> Decision:
    record = _record("reject", reason) | {"ruleSource": rule.source, "reasonCode": f"rule:{rule.source}"}
    return Decision(Behavior.DENY, words, rule.text, "" if is_tool_error else BY_RULE, is_tool_error, record)


def _record(decision: str, reason: str = "", *, code: str = "") -> Json:
    record = {"decision": decision, "source": "config", "reasonType": reason, "reasonCode": code}
    return {name: value for name, value in record.items() if value}


class _Verdict(Struct, frozen=True):
    """On a command. Without a refusal it may run."""

    #: The part that nothing allows.
    refused: str = ""
    words: str = ""
    #: One that was needed.
    rule: PermissionRule | None = None


def _refused(part: Part, parts: Sequence[Part], why: str = "") -> _Verdict:
    rule = suggestions.rule_for(part.text)
    because = f" ({why})" if why else ""
    words = f"This command requires approval{because}."
    if len(parts) > 1:
        words = "This Bash command contains multiple operations."
        words += f" The following part requires approval{because}: {_short(part.text)}."
    return _Verdict(part.text or "?", f"{words} The rule {rule.text} would allow it.")


def _refused_writing(part: Part) -> _Verdict:
    rule = PermissionRule("Edit", part.written[0])
    words = f"Output redirection to '{_short(part.written[0])}' needs approval. The rule {rule.text} would allow it."
    return _Verdict(part.text or "?", words)


def _unclear(command: str, unclear: Unclear) -> _Verdict:
    words = f"This command requires approval: {unclear.why}"
    words += f", at `{unclear.rest}`." if unclear.rest else "."
    return _Verdict(command or "?", f"{words} Only the rule Bash, or one with exactly this command, would allow it.")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _without_writing(part: Part) -> Part:
    return structs.replace(part, written=()) if part.written else part


def _no_files() -> NamedFiles:
    return NamedFiles([], frozenset())
