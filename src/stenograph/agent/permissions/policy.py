"""Whether a call may run.

A rule's denial wins in every mode; what nothing allows is refused. The words, and what counts as reading, are those of
2.1.325; docs/agent.md lists where we are stricter.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stenograph.agent.engine.options import PermissionMode
from stenograph.agent.permissions.file_rules import FileRules, Places, names_all, real_path
from stenograph.agent.permissions.live_policy import Behavior, Decision, LivePolicy, PermissionUpdate
from stenograph.agent.permissions.rules import PermissionRule, matches_host, means_server_tool, names_of, parse_rule
from stenograph.agent.tools.base import Json, Tool, ToolInput, Workspace
from stenograph.errors import UsageError
from stenograph.net import canonical_host, is_loopback
from stenograph.records import CHANGING_TOOLS

if TYPE_CHECKING:
    # What reads commands is imported for the first one: a tenth of the time to the first request.
    from stenograph.agent.permissions.named_files import NamedFiles
    from stenograph.agent.permissions.shell_decisions import ShellDecisions

#: They touch nothing of the user's; a subagent's calls are checked one by one.
_HARMLESS = frozenset({"TodoWrite", "Agent", "Task", "TaskOutput", "BashOutput", "KillShell", "TaskStop"})
_SEARCHING = frozenset({"Glob", "Grep"})
#: Their rules may name some calls only.
_SPECIAL = frozenset({"Bash", "WebFetch", "Agent", "Read", "Glob", "Grep", "Skill"})
_STARTING_AGENTS = frozenset({"Agent", "Task"})
#: They read what is not the user's, and send what is asked.
_REACHING_OUT = frozenset({"WebFetch", "WebSearch"})

BY_RULE = "permission-rule"
NOT_GRANTED = "user-rejected"


class Permissions:
    """Of one conversation; a subagent has its own working directory."""

    def __init__(
        self, policy: LivePolicy, workspace: Workspace, readable: Sequence[Path] = (), search_path: str = os.defpath
    ) -> None:
        """`readable`: directories outside the project that may be read. `search_path`: where git is."""
        self._policy = policy
        self._workspace = workspace
        self._files = FileRules(policy, workspace, readable)
        self._readable = readable
        self._search_path = search_path

    @functools.cached_property
    def _shell(self) -> ShellDecisions:
        from stenograph.agent.permissions.shell_decisions import ShellDecisions

        return ShellDecisions(self._policy, self._workspace, self._files, self._search_path)

    @property
    def _mode(self) -> PermissionMode:
        return self._policy.mode

    @property
    def _allowed(self) -> list[PermissionRule]:
        return self._policy.rules(Behavior.ALLOW)

    @property
    def _denied(self) -> list[PermissionRule]:
        return self._policy.rules(Behavior.DENY)

    def denied_tools(self) -> frozenset[str]:
        """Tools that are denied as a whole, by all their names."""
        return frozenset(name for rule in self._denied if not _is_special(rule) for name in names_of(rule))

    def denies_tool(self, tool: Tool[Any]) -> bool:
        """Whether a tool is denied as a whole."""
        return any(_is_about(rule, tool) and not _is_special(rule) for rule in self._denied)

    def read_filter(self, tool: str) -> Callable[[Path], bool] | None:
        """Whether a file that a call finds may be shown; None if no rule denies any.

        For one call: directories are resolved once.
        """
        searched = {"Read"} | ({tool} & _SEARCHING)
        rules = [self._files.path_rule(rule) for rule in self._denied if rule.spec and rule.tool in searched]
        if not rules:
            return None
        real_folder = functools.cache(real_path)

        def may_read(path: Path) -> bool:
            is_link = os.path.islink(path)  # noqa: PTH114 - Path.is_symlink raises without rights
            real = real_path(path) if is_link else os.path.join(real_folder(path.parent), path.name)  # noqa: PTH118 - text is asked for
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
        paths = [Places(path) for path in tool.paths(given, self._workspace)]
        command = _text(given, raw, "command") if tool.name == "Bash" else ""
        if denial := self._deny(tool, paths, command, given, raw):
            return denial
        if tool.asks_user:
            return Decision(Behavior.ASK, tool.request(given), "tool", NOT_GRANTED, record=_record("reject", code="unknown"))
        if rule := self._asking(tool, paths, command, given, raw):
            return self._ask_by_rule(tool, given, rule)
        if self._mode is PermissionMode.BYPASS:
            return _accept("mode", self._mode.value)
        if tool.name == "Bash":
            return self._decide_command(tool, given, command)
        if self._reads(tool, paths) or tool.is_free(given):
            return _accept("mode" if paths else "", self._mode.value, is_unruled=True)
        if self._mode is PermissionMode.PLAN:
            return self._refuse(tool, paths, given)
        if rule := self._allowing(tool, paths, given, raw):
            return _accept("rule", rule.text, rule.source)
        if self._mode is PermissionMode.ACCEPT_EDITS and tool.name in CHANGING_TOOLS and self._files.are_ordinary(paths):
            return _accept("mode", self._mode.value)
        return self._refuse(tool, paths, given)

    # What is asked about

    def _asking(self, tool: Tool[Any], paths: list[Places], command: str, given: ToolInput, raw: Json) -> PermissionRule | None:
        """A rule that wants a person to be asked, whatever else allows the call."""
        for rule in self._policy.rules(Behavior.ASK):
            if not rule.spec or not _is_special(rule):
                if _is_about(rule, tool):
                    return rule
            elif tool.name == "Bash":
                if "Bash" in names_of(rule) and self._shell.denies(rule, command, _no_files):
                    return rule
            elif self._asks_about_paths(rule, tool, paths) or (_is_about(rule, tool) and _is_named(rule, tool, given, raw)):
                return rule
        return None

    def _asks_about_paths(self, rule: PermissionRule, tool: Tool[Any], paths: list[Places]) -> bool:
        is_about = (rule.tool == "Read" and tool.is_read_only) or _covers_edits(rule, tool)
        return is_about and self._files.matches_any(rule, paths)

    def _ask_by_rule(self, tool: Tool[Any], given: ToolInput, rule: PermissionRule) -> Decision:
        if self._mode is PermissionMode.DONT_ASK:
            return self._refuse(tool, [], given)
        words = f"Claude requested permissions to use {tool.name}, but you haven't granted it yet."
        record = _record("reject", code=f"rule:{rule.source}") | {"ruleSource": rule.source}
        return Decision(Behavior.ASK, words, rule.text, NOT_GRANTED, record=record)

    # What is denied

    def _deny(self, tool: Tool[Any], paths: list[Places], command: str, given: ToolInput, raw: Json) -> Decision | None:
        if rule := next((rule for rule in self._denied if _is_about(rule, tool) and not _is_special(rule)), None):
            return _reject(f"Permission to use {tool.name} has been denied.", rule)
        # Once for all rules, and never twice: the disk may have changed.
        named = functools.cache(lambda: _files_named(command, self._workspace.cwd))
        for rule in (rule for rule in self._denied if rule.spec):
            if tool.name == "Bash":
                if self._shell.denies(rule, command, named):
                    return _reject(f"Permission to use Bash with command {command} has been denied.", rule, "subcommandResults")
            elif rule.tool == "Read" and self._files.matches_any(rule, paths):
                words = "File is in a directory that is denied by your permission settings."
                if tool.name in CHANGING_TOOLS:
                    words = "File is covered by a Read deny rule in your permission settings and cannot be edited."
                return _reject(words, rule, is_tool_error=True)
            elif tool.name in CHANGING_TOOLS and _covers_edits(rule, tool) and self._files.matches_any(rule, paths):
                return _reject("File is in a directory that is denied by your permission settings.", rule, is_tool_error=True)
            elif not _is_about(rule, tool):
                continue
            elif _is_named(rule, tool, given, raw):
                words = "Skill execution blocked by permission rules"
                if tool.name == "WebFetch":
                    words = f"WebFetch denied access to {rule.spec}."
                elif tool.name in _STARTING_AGENTS:
                    words = f"Agent type '{rule.spec}' has been denied by permission rule '{rule.text}' from {rule.source}."
                return _reject(words, rule)
            elif tool.name in _SEARCHING and self._files.matches_any(rule, paths):
                return _reject("File is in a directory that is denied by your permission settings.", rule, is_tool_error=True)
        return None

    # What is allowed

    def _reads(self, tool: Tool[Any], paths: list[Places]) -> bool:
        if tool.name in _REACHING_OUT:
            return False
        if tool.name in _HARMLESS:
            return True
        return tool.is_read_only and all(self._files.is_inside(path, and_readable=True) for path in paths)

    def _allowing(self, tool: Tool[Any], paths: list[Places], given: ToolInput, raw: Json) -> PermissionRule | None:
        """The rule that allows the call; of several needed together, the last."""
        # A rule for all files was not meant for these (2.1.325).
        is_special = tool.name in CHANGING_TOOLS and any(map(self._files.sensitive_names, paths))
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

    def _allowing_paths(self, tool: Tool[Any], paths: list[Places]) -> PermissionRule | None:
        rules = [
            rule
            for rule in self._allowed
            if rule.spec
            and (_covers_edits(rule, tool) if tool.name in CHANGING_TOOLS else rule.tool == "Read" or _is_about(rule, tool))
        ]
        last: PermissionRule | None = None
        for path in paths:
            sensitive = self._files.sensitive_names(path) if tool.name in CHANGING_TOOLS else frozenset[str]()
            # A link into an allowed folder is allowed only if its target is.
            last = next((rule for rule in rules if names_all(rule, sensitive) and self._files.matches_all(rule, path)), None)
            if last is None:
                return None
        return last

    # Commands

    def _decide_command(self, tool: Tool[Any], given: ToolInput, command: str) -> Decision:
        unruled = self._shell.judge(command, [])
        if not unruled.refused:
            return _accept("subcommandResults", self._mode.value, is_unruled=True)
        if self._mode is PermissionMode.PLAN:
            return self._refuse(tool, [], given)
        rules = self._shell.rules()
        for rule in rules:
            # All of them, or exactly what the user wrote, whatever it does.
            if not rule.spec or ("*" not in rule.spec and command.strip(" \t\n") == rule.spec):
                return _accept("subcommandResults", rule.text)
        verdict = self._shell.judge(command, rules, may_edit=True)
        if not verdict.refused:
            return _accept("subcommandResults", verdict.rule.text if verdict.rule else self._mode.value)
        if self._mode is PermissionMode.DONT_ASK:
            return self._refuse(tool, [], given)
        record = _record("reject", code="bashMiss:no-rule-match")
        return Decision(Behavior.ASK, verdict.words, self._mode.value, NOT_GRANTED, record=record)

    def suggest(self, tool: Tool[Any], given: ToolInput, raw: Json) -> list[PermissionUpdate]:
        """What would make a question about a call unnecessary."""
        from stenograph.agent.permissions import suggestions

        outside = self.outside(tool, given)
        if tool.name == "Bash":
            command = _text(given, raw, "command")
            offers = (suggestions.for_command(self._shell.parts_to_ask(command)), suggestions.for_exactly(command))
            # A rule that would not spare the next question is not offered.
            return next((offer for offer in offers if offer and self._is_enough(offer, tool, given, raw)), [])
        if tool.name in CHANGING_TOOLS:
            return suggestions.for_edit(outside)
        if outside is not None:
            return suggestions.for_reading(outside)
        return suggestions.for_host(_host(given, raw)) if tool.name == "WebFetch" else suggestions.for_tool(tool.name)

    def _is_enough(self, offer: Sequence[PermissionUpdate], tool: Tool[Any], given: ToolInput, raw: Json) -> bool:
        """Whether rules, as they are read from a file, would allow a call."""
        try:
            policy = self._policy.with_rules(parse_rule(rule.text) for update in offer for rule in update.rules)
        except UsageError:
            return False
        return Permissions(policy, self._workspace, self._readable, self._search_path).decide(tool, given, raw).allowed

    def outside(self, tool: Tool[Any], given: ToolInput) -> Path | None:
        """The first file of a call that is outside the working directories."""
        paths = [Places(path) for path in tool.paths(given, self._workspace)]
        return next((Path(path.named) for path in paths if not self._files.is_inside(path)), None)

    # What is refused

    def _refuse(self, tool: Tool[Any], paths: list[Places], given: ToolInput) -> Decision:
        mode = self._mode
        outside = [path for path in paths if not self._files.is_inside(path)]
        code = "workingDir" if outside else "unknown"
        where = (outside or paths)[0].named if paths else ""
        if mode is PermissionMode.DONT_ASK:
            words = f"Permission to use {tool.name} has been denied because the session runs in don't ask mode. {_WHAT_NOW}"
            return Decision(Behavior.DENY, words, mode.value, BY_RULE, record=_record("reject", "mode", code="mode:dontAsk"))
        if mode is PermissionMode.PLAN:
            words = f"Cannot write to {where} while in plan mode." if where else f"Cannot use {tool.name} while in plan mode."
            return Decision(Behavior.DENY, words, mode.value, NOT_GRANTED, record=_record("reject", code="mode:plan"))
        if tool.name in CHANGING_TOOLS and any(map(self._files.sensitive_names, paths)):
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
    "Continue with what is allowed, or use another tool that fits the task. Do not work around what the denial is meant to"
    " prevent. If the task cannot be done without it, stop and tell the user what is needed and why."
)


def _is_about(rule: PermissionRule, tool: Tool[Any]) -> bool:
    return not names_of(rule).isdisjoint({tool.name, *tool.also_called}) or means_server_tool(rule, tool.name)


def _is_named(rule: PermissionRule, tool: Tool[Any], given: ToolInput, raw: Json) -> bool:
    """Whether a rule that restricts names this call: its host, its kind of agent, its skill."""
    if tool.name == "WebFetch":
        return matches_host(rule.spec, _host(given, raw), with_subdomains=True)
    if tool.name in _STARTING_AGENTS and rule.spec == _text(given, raw, "subagent_type"):
        return True
    return tool.may_mean(given, rule.spec)


def _is_special(rule: PermissionRule) -> bool:
    """Whether a rule means only some calls of its tool. Parentheses of other tools are not understood: all calls are meant."""
    return bool(rule.spec) and not names_of(rule).isdisjoint(CHANGING_TOOLS | _SPECIAL)


def _covers_edits(rule: PermissionRule, tool: Tool[Any]) -> bool:
    """A path rule for Edit covers every tool that changes files (2.1.325)."""
    return rule.tool == "Edit" or _is_about(rule, tool)


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


def _files_named(command: str, folder: Path) -> NamedFiles:
    from stenograph.agent.permissions.named_files import files_named

    return files_named(command, folder)


def _no_files() -> NamedFiles:
    from stenograph.agent.permissions.named_files import NamedFiles

    return NamedFiles([], frozenset())
