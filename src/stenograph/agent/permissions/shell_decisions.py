"""What the rules, the mode and the files it names say about a shell command."""

from __future__ import annotations

import fnmatch
import functools
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct, structs

from stenograph.agent.engine.options import PermissionMode
from stenograph.agent.permissions import suggestions
from stenograph.agent.permissions.changing_commands import changed_by, may_redirect, moved_by
from stenograph.agent.permissions.file_rules import FileRules, Places, names_all
from stenograph.agent.permissions.git_reading import is_plain_repository
from stenograph.agent.permissions.live_policy import Behavior, LivePolicy
from stenograph.agent.permissions.named_files import MOST_ENTRIES, NamedFiles, TooManyFilesError, files_matching
from stenograph.agent.permissions.reading_commands import Around, changes_directory, is_harmless_setting, is_reading, leads_to
from stenograph.agent.permissions.rules import PermissionRule, matches_command, names_of
from stenograph.agent.permissions.shell_parts import Part, Unclear, commands_within, may_run, read_command
from stenograph.agent.tools.base import Workspace
from stenograph.records import CHANGING_TOOLS

#: Characters of a command in words for the model.
_LONGEST_SHOWN = 200


class Verdict(Struct, frozen=True):
    """On a command. Without a refusal it may run."""

    #: The part that nothing allows.
    refused: str = ""
    words: str = ""
    #: One that was needed.
    rule: PermissionRule | None = None


class ShellDecisions:
    def __init__(self, policy: LivePolicy, workspace: Workspace, files: FileRules, search_path: str) -> None:
        """`search_path`: where git is."""
        self._policy = policy
        self._workspace = workspace
        self._files = files
        self._search_path = search_path

    def rules(self) -> list[PermissionRule]:
        """Those that allow commands."""
        return [rule for rule in self._policy.rules(Behavior.ALLOW) if "Bash" in names_of(rule)]

    def denies(self, rule: PermissionRule, command: str, named: Callable[[], NamedFiles]) -> bool:
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
        return any(self._files.path_rule(rule).matches(places) for places in files.places)

    def parts_to_ask(self, command: str) -> list[str]:
        """The parts of a command that neither a rule allows nor reading explains."""
        rules = self.rules()
        parts = _read(command)
        if isinstance(parts, Unclear):
            return []
        return [part.text for part in parts if self.judge(part.text, rules, may_edit=True).refused]

    def judge(self, command: str, rules: Sequence[PermissionRule], *, may_edit: bool = False) -> Verdict:
        """Whether each part is allowed by a rule, by the mode, or only reads inside the directories."""
        parts = _read(command)
        if isinstance(parts, Unclear):
            return _unclear(command, parts)
        if not parts and "#" not in command:
            return Verdict("?", "This command requires approval.")
        used: PermissionRule | None = None
        # Where `cd` may have led; whether it did is unknown, so names must be inside from each.
        folders = [self._workspace.cwd]
        # A rule allowed a change of directory that leads nobody knows where.
        is_lost = False
        for part in parts:
            if (target := leads_to(part)) is not None and not part.written:
                reached = [Places(folder / target) for folder in folders]
                if not all(self._files.is_inside(place) for place in reached):
                    return _refused(part, parts, "it leads out of the working directories")
                folders += [Path(place.named) for place in reached]
                continue
            around = self._around(folders)
            rule = next((rule for rule in rules if _allows_part(rule, part)), None)
            if is_lost and (rule is None or part.read or part.written):
                return _refused(part, parts, "a change of directory before it cannot be checked")
            if rule is not None:
                used = rule
                is_lost = is_lost or changes_directory(part)
                # What a rule allows may write elsewhere, but not by a redirection.
                if not all(map(around.is_inside, part.read)):
                    return _refused(part, parts, "it reads a file outside the working directories")
            elif not (may_edit and self._edits(part, folders)) and not is_reading(_without_writing(part), around):
                return _refused(part, parts)
            if part.written and not (may_edit and self._may_write(part.written, folders)):
                return _refused_writing(part)
        return Verdict(rule=used)

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
            may_read_files=not any(rule.tool == "Read" and rule.spec for rule in self._policy.rules(Behavior.DENY)),
            has_moved=len(folders) > 1,
            home=os.path.expanduser("~"),  # noqa: PTH111 - it does not raise
        )

    def _edits(self, part: Part, folders: Sequence[Path]) -> bool:
        """Whether acceptEdits allows a command: it changes only ordinary files inside (2.1.325)."""
        if self._policy.mode is not PermissionMode.ACCEPT_EDITS or len(folders) > 1:
            return False
        files = changed_by(part)
        if files is None or not self._may_write(files, folders):
            return False
        return not any(may_redirect(folders[0] / file, self._workspace.cwd) for file in moved_by(part))

    def _may_write(self, files: Iterable[str], folders: Sequence[Path]) -> bool:
        """By the mode, or by rules for edits. From one known directory only (2.1.325)."""
        if len(folders) > 1:
            return False
        paths = [Places(folders[0] / file) for file in files]
        roots = {place for folder in self._workspace.folders for place in Places(folder).all}
        if any(not roots.isdisjoint(path.all) for path in paths):
            return False
        if self._policy.mode is PermissionMode.ACCEPT_EDITS and self._files.are_ordinary(paths):
            return True
        return all(map(self._is_edit_allowed, paths))

    def _is_edit_allowed(self, path: Places) -> bool:
        sensitive = self._files.sensitive_names(path)
        rules = [rule for rule in self._policy.rules(Behavior.ALLOW) if rule.tool == "Edit" and names_all(rule, sensitive)]
        return any(not rule.spec or self._files.matches_all(rule, path) for rule in rules)

    def _is_named_inside(self, folders: Iterable[Path], word: str) -> bool:
        return all(self._files.is_inside(Places(folder / word), and_readable=True) for folder in folders)


def _read(command: str) -> list[Part] | Unclear:
    """Parts that can be judged once each, in the order in which they are written."""
    parts = read_command(command)
    if not isinstance(parts, Unclear) and any(part.in_loop for part in parts):
        moving = next(filter(changes_directory, parts), None)
        if moving is not None:
            return Unclear(_short(moving.text), "a change of directory cannot be checked in a command with a loop")
    return parts


_commands_within = functools.lru_cache(maxsize=1)(commands_within)


def _named(words: tuple[str, ...], name: str) -> tuple[str, ...]:
    """The words, with the denied name for a pattern that a shell may expand to it: `/bin/r?` for `rm`."""
    first = name.partition(" ")[0]
    pattern = words[0].rpartition("/")[2]
    # What brackets mean differs: classes, equivalents, and what a locale sorts between two letters.
    pattern = re.sub(r"\[.*\]", "*", pattern)
    if first and any(sign in pattern for sign in "*?") and fnmatch.fnmatchcase(first.rpartition("/")[2], pattern):
        return (first, *words[1:])
    return words


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


def _refused(part: Part, parts: Sequence[Part], why: str = "") -> Verdict:
    rule = suggestions.rule_for(part.text)
    because = f" ({why})" if why else ""
    words = f"This command requires approval{because}."
    if len(parts) > 1:
        words = "This Bash command contains multiple operations."
        words += f" The following part requires approval{because}: {_short(part.text)}."
    return Verdict(part.text or "?", f"{words} The rule {rule.text} would allow it.")


def _refused_writing(part: Part) -> Verdict:
    rule = PermissionRule("Edit", part.written[0])
    words = f"Output redirection to '{_short(part.written[0])}' needs approval. The rule {rule.text} would allow it."
    return Verdict(part.text or "?", words)


def _unclear(command: str, unclear: Unclear) -> Verdict:
    words = f"This command requires approval: {unclear.why}"
    words += f", at `{unclear.rest}`." if unclear.rest else "."
    return Verdict(command or "?", f"{words} Only the rule Bash, or one with exactly this command, would allow it.")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _without_writing(part: Part) -> Part:
    return structs.replace(part, written=()) if part.written else part
