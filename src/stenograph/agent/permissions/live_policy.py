"""The mode and the rules of a running session: one value, shared by the main conversation and its subagents.

Every decision reads it, so a change applies from the next call on. What a change means on disk is the business of `persist`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path

from msgspec import Struct, field

from stenograph.agent.engine.options import AgentOptions, PermissionMode
from stenograph.agent.permissions.rules import PermissionRule, parse_rule, split_rules
from stenograph.records import Json


class Behavior(StrEnum):
    """The client's words, as in its settings and in the SDK's protocol."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class RuleDestination(StrEnum):
    """Where a change is kept. Only `SESSION` and `CLI` are kept nowhere."""

    SESSION = "session"
    CLI = "cliArg"
    LOCAL = "localSettings"
    PROJECT = "projectSettings"
    USER = "userSettings"


class PermissionUpdate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A change of the policy, as a user chooses it with an answer. `Decision.suggestions` has some to choose from."""

    #: addRules, replaceRules, removeRules, setMode, addDirectories, removeDirectories.
    kind: str
    rules: list[PermissionRule] = field(default_factory=list)
    #: Of the rules.
    behavior: Behavior = Behavior.ALLOW
    mode: PermissionMode | None = None
    directories: list[str] = field(default_factory=list)
    destination: RuleDestination = RuleDestination.SESSION


class Decision(Struct, frozen=True):
    behavior: Behavior
    #: For the model.
    reason: str = ""
    #: What decided: the rule as written, or the mode.
    source: str = ""
    #: The record's `toolDenialKind`.
    kind: str = ""
    #: Wrapped by the client like a wrong input's.
    is_tool_error: bool = False
    #: The record's `permissionDecision` (2.1.325).
    record: Json = {}
    #: The reason is what a person said.
    is_said: bool = False
    #: Allowed without a rule: it only reads.
    is_unruled: bool = False
    #: Of a question: changes that would make it unnecessary, the likeliest first.
    suggestions: list[PermissionUpdate] = []

    @property
    def allowed(self) -> bool:
        return self.behavior is Behavior.ALLOW


class LivePolicy:
    def __init__(self, mode: PermissionMode = PermissionMode.DEFAULT) -> None:
        self._mode = mode
        self._rules: dict[Behavior, list[PermissionRule]] = {behavior: [] for behavior in Behavior}
        #: Besides those of the workspace.
        self.directories: list[Path] = []
        #: Called with the new mode.
        self.on_mode: Callable[[PermissionMode], None] | None = None
        #: Writes a change to the settings file that its destination names.
        self.persist: Callable[[PermissionUpdate], None] | None = None

    @property
    def mode(self) -> PermissionMode:
        return self._mode

    def set_mode(self, mode: PermissionMode) -> None:
        if mode is not self._mode:
            self._mode = mode
            if self.on_mode is not None:
                self.on_mode(mode)

    def rules(self, behavior: Behavior) -> list[PermissionRule]:
        return self._rules[behavior]

    def add(self, behavior: Behavior, rules: Iterable[PermissionRule]) -> None:
        known = self._rules[behavior]
        known += [rule for rule in rules if rule not in known]

    def names(self, behavior: Behavior, tool: str) -> bool:
        """Whether a rule is about a tool by its own name."""
        return any(rule.tool == tool for rule in self._rules[behavior])

    def drop(self, source: str) -> None:
        """Rules of a source, as those of a command whose turn is over."""
        for behavior, rules in self._rules.items():
            self._rules[behavior] = [rule for rule in rules if rule.source != source]

    def with_rules(self, allowed: Iterable[PermissionRule]) -> LivePolicy:
        """A copy that allows more and changes nothing else."""
        made = LivePolicy(self._mode)
        made.directories = list(self.directories)
        for behavior, rules in self._rules.items():
            made.add(behavior, rules)
        made.add(Behavior.ALLOW, allowed)
        return made

    def apply(self, update: PermissionUpdate) -> None:
        """Change the session, and the file that the destination names. Raises DiskError."""
        rules = [with_source(rule, update.destination.value) for rule in update.rules]
        match update.kind:
            case "addRules":
                self.add(update.behavior, rules)
            case "replaceRules":
                others = [rule for rule in self._rules[update.behavior] if rule.source != update.destination.value]
                self._rules[update.behavior] = [*others, *rules]
            case "removeRules":
                self._rules[update.behavior] = [rule for rule in self._rules[update.behavior] if rule not in rules]
            case "setMode" if update.mode is not None:
                self.set_mode(update.mode)
            case "addDirectories":
                added = [Path(name) for name in update.directories]
                self.directories += [path for path in added if path not in self.directories]
            case "removeDirectories":
                self.directories = [path for path in self.directories if str(path) not in update.directories]
        if self.persist is not None and update.destination not in (RuleDestination.SESSION, RuleDestination.CLI):
            self.persist(update)


def policy_from(options: AgentOptions) -> LivePolicy:
    """Of the command line's options, then of settings. Raises UsageError for an invalid rule."""
    policy = LivePolicy(options.permission_mode)
    policy.add(Behavior.ALLOW, parse_rules(options.allowed))
    policy.add(Behavior.DENY, parse_rules(options.disallowed))
    settings = options.settings
    for behavior, rules in ((Behavior.ALLOW, settings.allow), (Behavior.ASK, settings.ask), (Behavior.DENY, settings.deny)):
        policy.add(behavior, (with_source(parse_rule(rule.text), rule.scope, rule.root) for rule in rules))
    return policy


def parse_rules(texts: Iterable[str], source: str = RuleDestination.CLI, root: Path | None = None) -> list[PermissionRule]:
    """`root`: what the paths of the rules are relative to; None for the project. Raises UsageError."""
    return [with_source(parse_rule(rule), source, root) for text in texts for rule in split_rules(text)]


def with_source(rule: PermissionRule, source: str, root: Path | None = None) -> PermissionRule:
    return PermissionRule(rule.tool, rule.spec, str(source), root or rule.root)
