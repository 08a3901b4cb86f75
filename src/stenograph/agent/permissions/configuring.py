"""Options of the command line + the client's settings -> the options of a session.

What the command line says wins over every file. Of the environment, what the user's and the machine's own files set wins over the
process's, as in the client; a project's own reaches commands, hooks and servers only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from stenograph.agent.engine.options import AgentOptions, PermissionMode
from stenograph.agent.permissions.rules import parse_rule
from stenograph.agent.permissions.trust import ProjectTrust
from stenograph.client_settings import ClientSettings, merge_settings, read_settings_files
from stenograph.errors import UsageError

#: Asked about what a project's files hold ("2 hooks", "1 allow rule"); True trusts it.
AskTrust = Callable[[Sequence[str]], bool]


def configured(
    options: AgentOptions, *, flag: str = "", has_mode: bool, trusts: bool = False, ask: AskTrust | None = None
) -> tuple[AgentOptions, list[str]]:
    """The options, and one line for each problem. `flag`: of `--settings`. `trusts`: without asking.

    Raises UsageError, DiskError.
    """
    files, problems = read_settings_files(options.home, options.cwd, flag=flag, sources=options.sources)
    trust = ProjectTrust(options.cwd, files, options.environ)
    is_trusted = trust.is_given
    if trusts and trust.is_needed and not is_trusted:
        trust.remember()
        is_trusted = True
    settings = merge_settings(files, problems, is_trusted=is_trusted)
    wanted = [] if is_trusted else [*settings.withheld, *trust.beside_settings]
    if wanted and ask is not None and ask(wanted):
        trust.remember()
        is_trusted = True
        settings = merge_settings(files, problems, is_trusted=True)
    lines = list(settings.problems)
    if settings.withheld:
        lines.append(
            f"this project is not trusted: {_listed(settings.withheld)} of its settings not used; add --trust-project to use them"
        )
    usable, bad = _usable(settings)
    asked = [options.permission_mode] if has_mode else []
    modes = [*asked, *([PermissionMode(settings.mode)] if settings.mode else []), options.permission_mode]
    if settings.forbids_bypass and modes[0] is PermissionMode.BYPASS:
        # The next one that is set, or the default, as in 2.1.325.
        modes = [*(mode for mode in modes if mode is not PermissionMode.BYPASS), PermissionMode.DEFAULT]
        lines.append(f"bypassPermissions is disabled by settings; the mode is {modes[0].value}")
    mode = modes[0]
    environ = {**options.environ, **settings.env}
    if settings.model:
        environ.setdefault("ANTHROPIC_MODEL", settings.model)
    made = msgspec.structs.replace(
        options,
        settings=usable,
        is_trusted=is_trusted,
        permission_mode=mode,
        additional=list(dict.fromkeys([*options.additional, *(path for path in settings.additional if path.is_dir())])),
        environ=environ,
        environment={**settings.project_env, **options.environment},
    )
    return made, [*lines, *bad]


def _usable(settings: ClientSettings) -> tuple[ClientSettings, list[str]]:
    """Without rules that can't be read, and a line for each of those."""
    lines: list[str] = []
    kept: dict[str, object] = {}
    for behavior in ("allow", "ask", "deny"):
        rules = []
        for rule in getattr(settings, behavior):
            try:
                parse_rule(rule.text)
            except UsageError as error:
                lines.append(f"{rule.scope} ({behavior}): {error}")
            else:
                rules.append(rule)
        kept[behavior] = tuple(rules)
    return msgspec.structs.replace(settings, **kept), lines


def _listed(things: Sequence[str]) -> str:
    *others, last = things
    return f"{', '.join(others)} and {last}" if others else last
