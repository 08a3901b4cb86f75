"""`steno agent`: a conversation with a model, in the client's own session protocol."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from stenograph.cli._messages import echo_warning
from stenograph.cli._sections import SectionedCommand
from stenograph.cli._settings import GivenPath, shared_options, state_options
from stenograph.errors import UsageError, in_quotes

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from stenograph.agent import AgentOptions, Event, LinePrompts, OutputFormat
    from stenograph.cli._settings import Settings
    from stenograph.model import Endpoint

_MODES = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions")
_FORMATS = ("text", "json", "stream-json")
_RULES = ("--allowedTools", "--allowed-tools", "--disallowedTools", "--disallowed-tools")
_FOLDERS = ("--add-dir",)
_TOOLS = ("--tools",)
#: Questions go to the process that started us.
_STDIO = "stdio"
#: Of thinking, in tokens.
_LEAST_BUDGET = 1024
_FAILED, _HUNG_UP, _INTERRUPTED, _TERMINATED = 1, 129, 130, 143


def _as_text(value: str) -> str:
    """Bytes that are no UTF-8 become U+FFFD, as they do on stdin: neither a session nor a request can hold them."""
    return os.fsencode(value).decode("utf-8", errors="replace")


class AgentCommand(SectionedCommand):
    """Takes several values behind one option, as the client does: `--allowedTools Read "Bash(git:*)"`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # click looks for similar long names before it takes `-p` for a short one.
        given = ["--print", *args[1:]] if args[:1] == ["-p"] else args
        return super().parse_args(ctx, _repeated(given))


def _thinking(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """A budget of tokens, 0 for no thinking, or one of the client's words; None is the default."""
    if value is None or value in ("adaptive", "enabled"):
        return None
    if value in ("disabled", "0"):
        return 0
    if not value.isdecimal() or int(value) < _LEAST_BUDGET:
        raise click.BadParameter(f"must be adaptive, disabled or a number from {_LEAST_BUDGET} on", ctx, param)
    return int(value)


def _sources(ctx: click.Context, param: click.Parameter, value: str | None) -> frozenset[str] | None:
    if value is None:
        return None
    from stenograph.client_settings import ALL_SOURCES

    chosen = frozenset(name for part in value.split(",") if (name := part.strip()))
    if unknown := sorted(chosen - ALL_SOURCES):
        raise click.BadParameter(f"{in_quotes(unknown[0])} is not one of user, project, local", ctx, param)
    return chosen


def _repeated(arguments: list[str]) -> list[str]:
    """Each further value with its option before it. A value is what could be one: a rule, or a directory that is there."""
    done: list[str] = []
    option = ""
    has_value = False
    for place, argument in enumerate(arguments):
        if argument == "--":
            return done + arguments[place:]
        if argument.startswith("-"):
            option, has_value = argument if argument in _RULES + _FOLDERS + _TOOLS else "", False
        elif option and has_value:
            if not _could_be_value(option, argument):
                option = ""
            else:
                done.append(option)
        elif option:
            has_value = True
        done.append(argument)
    return done


def _could_be_value(option: str, argument: str) -> bool:
    if option in _FOLDERS:
        return os.path.isdir(argument)  # noqa: PTH112 - never raises, unlike Path's
    from stenograph.agent import is_rule_of_a_known_tool

    return is_rule_of_a_known_tool(argument)


@click.command(
    cls=AgentCommand,
    sections={
        "go_on": "Session",
        "model": "Model",
        "permission_mode": "Tools and permissions",
        "is_print": "Print mode",
        "home": "Options",
    },
    short_help="Run an agent in this directory.",
)
@click.argument("prompt", required=False, type=_as_text)
@click.option("-c", "--continue", "go_on", is_flag=True, help="Continue the newest session in this directory.")
@click.option(
    "-r",
    "--resume",
    is_flag=False,
    flag_value="",
    metavar="[SESSION]",
    help="Resume this session. Without a name, choose one in the console.",
)
@click.option("--fork-session", "fork", is_flag=True, help="Continue in a copy and leave the original unchanged.")
@click.option("--rewind", metavar="PROMPT", help="Rewind to before a prompt: its number, -1 for the last, or its UUID.")
@click.option("--keep-files", is_flag=True, help="With --rewind: do not restore files.")
@click.option("--name", default="", type=_as_text, metavar="TITLE", help="Title of the session.")
@click.option("--session-id", metavar="UUID", help="Id of the new session.")
@click.option(
    "--compat",
    type=click.Choice(("2.1", "2.0")),
    default="2.1",
    help="Session format to write, by Claude Code release. [default: 2.1]",
)
@click.option(
    "--model",
    default="",
    type=_as_text,
    metavar="NAME",
    help="Model to use. [default: $ANTHROPIC_MODEL, or the resumed session's model]",
)
@click.option(
    "--fallback-model",
    default="",
    type=_as_text,
    metavar="NAMES",
    help="Models to try, in order, if the model is overloaded or not found: opus,haiku.",
)
@click.option(
    "--effort",
    type=click.Choice(["low", "medium", "high", "xhigh", "max"]),
    help="How hard to think, for models without a thinking budget.",
)
@click.option(
    "--thinking",
    "--max-thinking-tokens",
    callback=_thinking,
    metavar="N|adaptive|disabled",
    help="Thinking budget in tokens, for models that take one; `adaptive` for the model's default, `disabled` for no thinking.",
)
@click.option("--max-turns", type=click.IntRange(min=1), metavar="N", help="Stop after N model calls per prompt.")
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="Maximum tokens per response.")
@click.option("--window", type=click.IntRange(min=1), metavar="N", help="Context window in tokens. [default: the model's own]")
@click.option("--no-auto-compact", is_flag=True, help="Disable automatic compaction.")
@click.option("--system-prompt", type=_as_text, metavar="TEXT", help="Replace the system prompt.")
@click.option("--append-system-prompt", default="", type=_as_text, metavar="TEXT", help="Append to the system prompt.")
@click.option(
    "--beta", "--betas", "betas", multiple=True, metavar="NAME", help="Request a beta feature from the endpoint. Repeatable."
)
@click.option(
    "--permission-mode",
    type=click.Choice(_MODES),
    help="What may run without a permission rule (docs/agent.md). [default: default]",
)
@click.option("--dangerously-skip-permissions", "is_bypass", is_flag=True, help="Same as --permission-mode bypassPermissions.")
@click.option(
    *_RULES[:2], "allowed", multiple=True, metavar="RULES", help='Allow these tools: "Edit,Bash(git log:*)". Repeatable.'
)
@click.option(
    *_RULES[2:], "disallowed", multiple=True, metavar="RULES", help="Deny these tools. Overrides every other rule. Repeatable."
)
@click.option(
    "--tools",
    multiple=True,
    type=_as_text,
    metavar="NAMES",
    help='Offer only these built-in tools: "Read,Grep"; "" for none. [default: all]',
)
@click.option(
    "--add-dir",
    "additional",
    multiple=True,
    type=GivenPath(path_type=Path, exists=True, file_okay=False, resolve_path=True),
    metavar="DIR",
    help="Allow access to another directory. Repeatable.",
)
@click.option("--mcp-config", multiple=True, metavar="FILE", help="Use the MCP servers in a file or in JSON. Repeatable.")
@click.option("--strict-mcp-config", is_flag=True, help="Use only the MCP servers from --mcp-config.")
@click.option("--sandbox", is_flag=True, help="Run commands in bubblewrap: no network, no changes outside the project.")
@click.option("--trust-project", is_flag=True, help="Trust the hooks, servers and rules in this project's own settings.")
@click.option("--settings", "settings_flag", default="", metavar="FILE", help="Additional settings: a file or JSON.")
@click.option(
    "--setting-sources",
    "sources",
    callback=_sources,
    metavar="NAMES",
    help='Use settings, MCP servers, CLAUDE.md files and skills only from these sources: "user,project,local"; "" for none. '
    "[default: all]",
)
@click.option("-p", "--print", "is_print", is_flag=True, help="Print the answer and exit, instead of opening the console.")
@click.option("--output-format", type=click.Choice(_FORMATS), help="Output format. [default: text]")
@click.option("--json", "as_json", is_flag=True, help="Same as --output-format json.")
@click.option("--input-format", type=click.Choice(("text", "stream-json")), default="text", help="Input format. [default: text]")
@click.option("--include-partial-messages", is_flag=True, help="With stream-json: include partial messages as they arrive.")
@click.option("--replay-user-messages", is_flag=True, help="With stream-json: echo each user message once it is accepted.")
@click.option("--verbose", is_flag=True, help="Print every message. Required with stream-json.")
@click.option(
    "--permission-prompt-tool",
    "prompt_tool",
    default="",
    type=_as_text,
    metavar="TOOL",
    help="Ask this MCP tool for permission; stdio asks the SDK (requires stream-json).",
)
@click.option("--json-schema", type=_as_text, metavar="JSON", help="With -p: answer as JSON that matches this JSON Schema.")
@click.option("--max-budget-usd", type=float, metavar="USD", help="With -p: stop when the calls have cost this much.")
@shared_options
@click.pass_context
def agent(ctx: click.Context, /, **given: Any) -> None:
    """Run an agent in this directory.

    Opens the console. With -p, prints one answer and exits.

    Works with any Messages API endpoint: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, and ANTHROPIC_BASE_URL if the endpoint
    is not Anthropic's. The prompt is the argument, standard input, or both.

    Claude Code can resume the session, and steno can resume Claude Code's; both append to the same file. Sessions are
    found in and written to one Claude config directory: the one given with --home, which is created if it does not exist, or
    the first of the defaults.

    Without rules, the agent can only read files in this directory. Commands that only read, such as `git log`, need no rule
    either. For anything else, the console asks you; with -p, it is denied.

    Exits with 1 if the turn failed or reached a limit, and with 130 if interrupted. --json prints Claude Code's result object.

    \b
    Examples:
      steno agent
      steno agent -p "what does this project do?"
      git diff | steno agent -p "write a commit message" --model sonnet
      steno agent -p "fix the tests" --allowedTools "Edit,Bash(make test)" --max-turns 30
    """
    from stenograph.cli._extras import require_extra

    require_extra("agent", "the agent", "h11")
    from stenograph.agent import hide_process

    hide_process()
    if not given["is_print"] and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        ctx.exit(_run_console(ctx, given))
    output_format = _output_format(given)
    options = _with_settings(_options(ctx, given), given)
    _check_tool_names(options)
    descriptor = None if sys.stdin is None or sys.stdin.isatty() else sys.stdin.fileno()

    from stenograph.agent import LinePrompts, command_names, one_prompt, whole_prompt
    from stenograph.model import endpoint_from_environment

    endpoint = endpoint_from_environment(options.environ)
    known = command_names(options)
    lines: LinePrompts | None = None
    if given["input_format"] == "stream-json":
        if given["prompt"]:
            raise UsageError("--input-format stream-json reads prompts from stdin and takes no PROMPT")
        if descriptor is None:
            raise UsageError("--input-format stream-json reads messages from stdin, which is a terminal")
        lines = LinePrompts(descriptor, known)
    else:
        prompts = one_prompt(whole_prompt(given["prompt"], descriptor, known=known))

    import asyncio

    try:
        code = asyncio.run(_converse(options, endpoint, lines or prompts, output_format, given))
    except asyncio.CancelledError:  # told to end twice
        code = _INTERRUPTED
    if lines is not None and lines.problem:
        raise UsageError(lines.problem)
    ctx.exit(code)


def _run_console(ctx: click.Context, given: dict[str, Any]) -> int:
    import asyncio

    from stenograph import __version__
    from stenograph.agent import configured, other_directory_of, run_console, typed_here
    from stenograph.cli import run_again
    from stenograph.cli._settings import is_plain
    from stenograph.config import state_folder
    from stenograph.model import endpoint_from_environment
    from stenograph.views import short_path

    async def pick(verb: str) -> str | None:
        from stenograph.cli._picker import pick_within

        return await pick_within(ctx, verb)

    is_picked = given["resume"] == "" and not given["go_on"] and not is_plain(ctx)
    if is_picked:
        given["resume"] = asyncio.run(pick("resume"))
        if given["resume"] is None:
            return 0
    options = _options(ctx, given)
    if is_picked and not options.fork and (other := other_directory_of(Path(given["resume"]), options)):
        click.echo(f"That session belongs to {short_path(other)}.", err=True)
        if not click.confirm("Continue in a copy here?", default=True, prompt_suffix=" ", err=True):
            return 0
        options.fork = True
    plain, told = options, set[str]()
    options = _with_settings(plain, given, told)
    _check_tool_names(options)

    def read_settings() -> tuple[AgentOptions, list[str]]:
        """As files say it now. Nobody is asked: what the user has not trusted by now is not used."""
        made, problems = configured(plain, flag=given["settings_flag"], has_mode=_has_mode(given))
        news = [problem for problem in problems if problem not in told]
        told.update(news)
        return made, news

    def run_other(words: Sequence[str]) -> int:
        return run_again(["--home", str(options.home), *words], typed_here)

    return asyncio.run(
        run_console(
            options,
            endpoint_from_environment(options.environ),
            first=given["prompt"] or "",
            color=ctx.color is not False,
            is_plain=is_plain(ctx),
            state_folder=state_folder(os.environ),
            version=__version__,
            read_settings=read_settings,
            pick=pick,
            steno=run_other,
        )
    )


def _output_format(given: dict[str, Any]) -> OutputFormat:
    # As the SDK starts it.
    if not given["is_print"] and given["input_format"] != "stream-json":
        raise UsageError("no terminal for the console", hint="steno agent -p PROMPT")
    chosen = given["output_format"] or ("json" if given["as_json"] else "text")
    if given["as_json"] and chosen != "json":
        raise UsageError(f"--json conflicts with --output-format {chosen}")
    if chosen == "stream-json" and not given["verbose"]:
        raise UsageError("--output-format stream-json requires --verbose")
    for name in ("include_partial_messages", "replay_user_messages"):
        if given[name] and chosen != "stream-json":
            raise UsageError(f"--{name.replace('_', '-')} requires --output-format stream-json")
    if given["input_format"] == "stream-json" and chosen != "stream-json":
        raise UsageError("--input-format stream-json requires --output-format stream-json")
    if given["prompt_tool"] == _STDIO and given["input_format"] != "stream-json":
        raise UsageError("--permission-prompt-tool stdio requires --input-format stream-json")
    if given["prompt_tool"] not in ("", _STDIO) and not given["prompt_tool"].startswith("mcp__"):
        raise UsageError("--permission-prompt-tool must be stdio or an MCP tool, such as mcp__server__tool")

    from stenograph.agent import OutputFormat

    return OutputFormat(chosen)


def _options(ctx: click.Context, given: dict[str, Any]) -> AgentOptions:
    from stenograph.agent import AgentOptions, Compat, PermissionMode
    from stenograph.cli._settings import refuse_demo
    from stenograph.family import is_session_id

    settings = _settings_of(ctx)
    refuse_demo(settings)
    if settings.explicit and len(settings.homes) > 1:
        raise UsageError("use --home only once: a session is written to one home")
    if given["resume"] is not None and not given["resume"].strip():
        raise UsageError("--resume needs a session: an id, prefix, title, path or `last`")
    if given["rewind"] is not None and not given["rewind"].strip():
        raise UsageError("--rewind needs a prompt: its number, -1 for the last, or its UUID")
    if given["go_on"] and given["resume"]:
        raise UsageError("--continue conflicts with --resume")
    if not (given["go_on"] or given["resume"]):
        for name, option in (("fork", "--fork-session"), ("rewind", "--rewind")):
            if given[name]:
                raise UsageError(f"{option} requires --resume or --continue")
    if given["session_id"] is not None and not is_session_id(given["session_id"]):
        raise UsageError("--session-id must be a UUID, such as 123e4567-e89b-42d3-a456-426614174000")
    if given["keep_files"] and not given["rewind"]:
        raise UsageError("--keep-files requires --rewind")
    if given["thinking"] and given["max_tokens"] and given["max_tokens"] <= given["thinking"]:
        raise UsageError("--max-tokens must be greater than --thinking, which counts toward it")
    budget = given["max_budget_usd"]
    if budget is not None and not 0 < budget < float("inf"):
        raise UsageError("--max-budget-usd must be a positive number")
    for name, option in (("json_schema", "--json-schema"), ("max_budget_usd", "--max-budget-usd")):
        if given[name] is not None and not given["is_print"]:
            raise UsageError(f"{option} requires -p")
    cwd = Path.cwd()
    if _as_text(str(cwd)) != str(cwd):
        raise UsageError("the current directory's name is not UTF-8, so a session cannot record it")
    mode = PermissionMode.BYPASS if given["is_bypass"] else PermissionMode(given["permission_mode"] or "default")
    return AgentOptions(
        cwd=cwd,
        home=settings.homes[0],
        environ=os.environ,
        sandbox=_sandbox() if given["sandbox"] else "",
        model=given["model"],
        max_tokens=given["max_tokens"] or 0,
        window=given["window"] or 0,
        profiles=settings.config.agent.models,
        fallback_models=[name for part in given["fallback_model"].split(",") if (name := part.strip())],
        tools=_tools(given["tools"]),
        json_schema=_schema(given["json_schema"]),
        max_budget=given["max_budget_usd"] or 0.0,
        permission_mode=mode,
        allowed=list(given["allowed"]),
        disallowed=list(given["disallowed"]),
        system_prompt=given["system_prompt"],
        append_system_prompt=given["append_system_prompt"],
        additional=list(given["additional"]),
        max_turns=given["max_turns"] or 0,
        compat=Compat(given["compat"]),
        name=given["name"],
        resume=given["resume"],
        go_on=given["go_on"],
        fork=given["fork"],
        session_id=given["session_id"] or "",
        rewind=given["rewind"],
        restore_files=not given["keep_files"],
        thinking=given["thinking"] or 0,
        thinks=given["thinking"] != 0,
        effort=given["effort"] or "",
        betas=[name for text in given["betas"] for name in text.split(",")],
        mcp_config=list(given["mcp_config"]),
        strict_mcp_config=given["strict_mcp_config"],
        prompt_tool="" if given["prompt_tool"] == _STDIO else given["prompt_tool"],
        auto_compact=not given["no_auto_compact"],
        **({} if given["sources"] is None else {"sources": given["sources"]}),
    )


def _tools(given: tuple[str, ...]) -> list[str] | None:
    """Names behind commas or blanks; None for all."""
    names = [name for part in given for name in part.replace(",", " ").split()]
    return None if not given or "default" in names else names


def _sandbox() -> str:
    from stenograph.agent import find_sandbox

    return find_sandbox(os.environ)


def _schema(written: str | None) -> dict[str, Any] | None:
    if written is None:
        return None
    import msgspec

    try:
        schema = msgspec.json.decode(written)
    except msgspec.DecodeError:
        raise UsageError("--json-schema is not valid JSON") from None
    if not isinstance(schema, dict):
        raise UsageError("--json-schema must be a JSON object")
    return schema


def _with_settings(options: AgentOptions, given: dict[str, Any], told: set[str] | None = None) -> AgentOptions:
    """`told` gets the problems."""
    from stenograph.agent import configured

    made, problems = configured(
        options,
        flag=given["settings_flag"],
        has_mode=_has_mode(given),
        trusts=given["trust_project"],
        ask=_ask_trust if sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty() else None,
    )
    for problem in problems:
        echo_warning(problem)
    if told is not None:
        told.update(problems)
    return made


def _has_mode(given: dict[str, Any]) -> bool:
    return given["is_bypass"] or given["permission_mode"] is not None


def _ask_trust(wanted: Sequence[str]) -> bool:
    """What a project's files would run is for the user to allow, once."""
    click.echo(f"This project's settings contain {', '.join(wanted)}, which can run commands on this machine.", err=True)
    return click.confirm(f"Trust {Path.cwd()}?", prompt_suffix=" ", err=True)


def _settings_of(ctx: click.Context) -> Settings:
    """As for every command, but a home that is not there yet is fine: the session makes it."""
    from stenograph.cli._settings import settings_and_problem

    settings, problem = settings_and_problem(ctx)
    if settings.explicit and (problem is None or not problem.is_fatal) and not any(map(os.path.lexists, settings.homes)):
        return settings
    return state_options(ctx)


def _check_tool_names(options: AgentOptions) -> None:
    """A misspelled name in a rule that denies would deny nothing: raises UsageError. One that allows is only reported."""
    if not options.allowed and not options.disallowed and not options.tools:
        return
    from stenograph.agent import all_tools, parse_rule, similar_tools, split_rules

    tools = all_tools(options)
    ours = [tool.name for tool in tools]
    known = {name for tool in tools for name in (tool.name, *tool.also_called)}
    for name in options.tools or ():
        if name not in known:
            echo_warning(f"unknown tool {in_quotes(name)}")
    for rules, denies in ((options.disallowed, True), (options.allowed, False)):
        for name in (parse_rule(text).tool for rule in rules for text in split_rules(rule)):
            similar = similar_tools(name, ours)
            if similar is None:
                continue
            hint = f"; did you mean {' or '.join(map(in_quotes, similar))}?" if similar else ""
            if denies:
                raise UsageError(f"unknown tool {in_quotes(name)}{hint}")
            echo_warning(f"unknown tool {in_quotes(name)}{hint}")


async def _converse(
    options: AgentOptions, endpoint: Endpoint, prompts: Any, output_format: OutputFormat, given: dict[str, Any]
) -> int:
    from stenograph import __version__
    from stenograph.agent import ControlChannel, LinePrompts, StreamMessages, open_agent, run_print, write_message
    from stenograph.model import ModelClient

    key_source = next((name for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN") if os.environ.get(name)), "none")
    messages = StreamMessages(
        release=options.compat.release,
        key_source=key_source,
        include_partial=given["include_partial_messages"],
        replay_prompts=given["replay_user_messages"],
        max_budget=options.max_budget,
        profiles=options.profiles,
    )
    client = ModelClient(endpoint, user_agent=f"stenograph/{__version__}")
    try:
        channel: ControlChannel | None = None
        if isinstance(prompts, LinePrompts):
            channel = ControlChannel(functools.partial(write_message, sys.stdout), key_source=key_source)
            prompts.on_control, prompts.on_end = channel.take, channel.close
        prompt_tool: PromptTool | None = None
        if options.prompt_tool:
            from stenograph.agent import PromptTool

            prompt_tool = PromptTool()
        asked = channel if given["prompt_tool"] == _STDIO else prompt_tool
        opened = await open_agent(options, client, asked.approve if asked else None)
        if prompt_tool is not None:
            prompt_tool.serve(opened)
        if channel is not None:
            opened.host_servers(channel.exchange)
            channel.serve(opened)

        def stop() -> None:
            if hasattr(prompts, "stop"):
                prompts.stop()
            opened.interrupt()

        with _stopped_by_signals(stop) as signals:
            try:
                # Closed whatever happens: the session's file and what runs in the background are.
                async with contextlib.aclosing(cast("AsyncGenerator[Event, None]", opened.run(prompts))) as stream:
                    code = await run_print(
                        stream, sys.stdout, output_format, messages=messages, verbose=given["verbose"], notes=sys.stderr
                    )
            except OSError as error:
                # Nobody reads any more: the pipe is closed, or the terminal that hung up. All else is for the outermost edge.
                if not signals and not isinstance(error, BrokenPipeError):
                    raise
                code = _FAILED
                import io

                sys.stdout = io.StringIO()  # what could not be written would be tried again at the program's end
        return signals[0] if signals else code
    finally:
        await client.aclose()


@contextlib.contextmanager
def _stopped_by_signals(stop: Callable[[], None]) -> Iterator[list[int]]:
    """Ctrl-C, SIGTERM and SIGHUP end the turn under way and with it the session, which stays whole; a second ends the program.

    Gives a list of the exit codes that they ask for.
    """
    import asyncio
    import signal

    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    codes: list[int] = []

    def ask(code: int) -> None:
        if codes and code == _HUNG_UP:  # a terminal that closes sends it, and its shell once more
            return
        codes.append(code)
        if len(codes) == 1:
            stop()
        elif task is not None:
            task.cancel()

    taken = {signal.SIGINT: _INTERRUPTED, signal.SIGTERM: _TERMINATED}
    # Windows has none. Ignored it is by `nohup`, which is asked to let the program go on.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        taken[signal.SIGHUP] = _HUNG_UP
    try:
        for number, code in taken.items():
            # Windows has no such handlers: Ctrl-C cancels there as it always does.
            with contextlib.suppress(NotImplementedError):
                loop.add_signal_handler(number, ask, code)
        yield codes
    finally:
        for number in taken:
            with contextlib.suppress(NotImplementedError):
                loop.remove_signal_handler(number)
