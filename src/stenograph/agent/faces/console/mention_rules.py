"""What keeps a file that a person mentions from the model: as for Read, but no question is asked, because the person named it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from stenograph.agent.permissions.live_policy import LivePolicy
from stenograph.agent.permissions.policy import Permissions
from stenograph.agent.permissions.sensitive_files import is_process_file
from stenograph.agent.tools.base import Workspace

_MENTION = re.compile(r"(?:^|(?<=\s))@(\S+)")


def mentioned(text: str, cwd: Path) -> Iterator[tuple[str, Path]]:
    """What is named with `@` and exists: as it was written, and where it is."""
    for found in _MENTION.findall(text):
        name = found.rstrip(".,;:!?)")
        path = cwd / os.path.expanduser(name)  # noqa: PTH111 - Path.expanduser raises for users that there are not
        if os.path.exists(path):  # noqa: PTH110 - Path.exists raises for what is not a name
            yield name, path


class MentionRules:
    """As they are now: made anew for each prompt."""

    def __init__(self, policy: LivePolicy, project: Path) -> None:
        permissions = Permissions(policy, Workspace(cwd=project, project=project))
        self._may_read = permissions.read_filter("Read")
        self._is_off = "Read" in permissions.denied_tools()

    def objection(self, path: Path) -> str:
        """Empty if there is none."""
        if is_process_file(path):
            return "files of processes may hold keys"
        if self._is_off or (self._may_read is not None and not self._may_read(path)):
            return "a rule denies reading it"
        return ""
