"""`commands/**/*.md` and `skills/*/SKILL.md` of the user and the project -> what users and the model can call by name.

The rules of expansion are those of 2.1.325: `$ARGUMENTS`, `$0` and `$ARGUMENTS[0]` count from zero. Arguments that a text does
not mention come after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from stenograph.agent.customs.files import CustomFile, CustomFiles, CustomSource
from stenograph.agent.engine.options import AgentOptions
from stenograph.agent.permissions.live_policy import policy_from
from stenograph.agent.permissions.policy import Permissions
from stenograph.agent.tools.base import Workspace

_PLACE = r"\$ARGUMENTS(?:\[(\d+)\])?|\$(\d+)"
#: Characters of a description in the listing (2.1.325).
_LONGEST_DESCRIPTION = 1_536


class CustomCommand(Struct, frozen=True, kw_only=True):
    """A command or a skill."""

    name: str
    #: What a skill calls itself, if that differs from its directory.
    own_name: str = ""
    description: str
    when_to_use: str = ""
    argument_hint: str = ""
    body: str
    #: Of a skill; empty for a command.
    folder: str = ""
    #: Rules that hold while it is used.
    allowed_tools: list[str] = []
    source: CustomSource
    #: The model may call it.
    is_for_model: bool = True
    #: The user may call it.
    is_for_user: bool = True

    @property
    def line(self) -> str:
        """In the listing for the model."""
        shown = f"{self.name} ({self.own_name})" if self.own_name else self.name
        about = " - ".join(filter(None, (self.description, self.when_to_use)))
        return f"- {shown}: {about[:_LONGEST_DESCRIPTION]}"

    def expanded(self, arguments: str) -> str:
        text = self.body.replace("${CLAUDE_SKILL_DIR}", self.folder) if self.folder else self.body
        text = _with_arguments(text, arguments)
        return f"Base directory for this skill: {self.folder}\n\n{text}" if self.folder else text


class CustomCommands:
    def __init__(self, commands: Iterable[CustomCommand] = ()) -> None:
        self.all = list(commands)

    def find(self, name: str) -> CustomCommand | None:
        name = name.strip().removeprefix("/")
        return next((one for one in self.all if name in (one.name, one.own_name)), None)

    @property
    def for_model(self) -> list[CustomCommand]:
        return [one for one in self.all if one.is_for_model]


def own_commands(files: CustomFiles) -> CustomCommands:
    """In the client's order: skills, the user's first, then commands by name. The first of a name wins."""
    skills = filter(None, map(_skill, files.of_kind("skills", "*/SKILL.md")))
    commands = filter(None, map(_command, files.of_kind("commands", "**/*.md")))
    found: dict[str, CustomCommand] = {}
    for one in [*skills, *sorted(commands, key=lambda one: (one.name.lower(), one.source is CustomSource.USER))]:
        found.setdefault(one.name, one)
    return CustomCommands(found.values())


def command_names(options: AgentOptions) -> list[str]:
    """What a user can call, without the slash. Raises UsageError for an invalid rule."""
    permissions = Permissions(policy_from(options), Workspace(cwd=options.cwd, project=options.cwd))
    files = CustomFiles(options, permissions.may_read)
    return [one.name for one in own_commands(files).all if one.is_for_user]


def _skill(file: CustomFile) -> CustomCommand | None:
    folder = file.path.parent
    return _read(file, folder.name, str(folder))


def _command(file: CustomFile) -> CustomCommand | None:
    # A command in a directory is called by both names.
    return _read(file, ":".join(file.path.relative_to(file.folder).with_suffix("").parts), "")


def _read(file: CustomFile, name: str, folder: str) -> CustomCommand | None:
    from stenograph.agent.customs.frontmatter import read_document

    document = read_document(file.path)
    if document is None:
        return None
    own_name = document.text("name") if folder else ""
    first = next((line.strip().lstrip("#").strip() for line in document.body.splitlines() if line.strip()), "")
    return CustomCommand(
        name=name,
        own_name=own_name if own_name != name else "",
        description=document.text("description") or first,
        when_to_use=document.text("when_to_use"),
        argument_hint=document.text("argument-hint")
        or " ".join(f"[{one}]" for one in document.members.get("argument-hint") or ()),
        body=document.body,
        folder=folder,
        allowed_tools=document.names("allowed-tools") or [],
        source=file.source,
        is_for_model=not document.is_set("disable-model-invocation"),
        is_for_user=document.is_set("user-invocable", default=True),
    )


def _hint(written: object) -> str:
    """`[who]` is a list for YAML."""
    return f"[{', '.join(map(str, written))}]" if isinstance(written, list) else str(written or "")


def _with_arguments(text: str, arguments: str) -> str:
    words = _words(arguments)
    is_used = False

    def replaced(match: re.Match[str]) -> str:
        nonlocal is_used
        is_used = True
        number = match[1] or match[2]
        if number is None:
            return arguments
        return words[int(number)] if int(number) < len(words) else match[0]

    filled = re.sub(_PLACE, replaced, text)
    return filled if is_used or not arguments else f"{filled}\n\nARGUMENTS: {arguments}"


def _words(arguments: str) -> list[str]:
    import shlex

    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()
