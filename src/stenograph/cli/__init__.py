"""The command `steno`: parse, call one library function, render.

`main` is the outermost edge. Exit codes: 0 done; 1 findings under `--strict`, or nothing matched; 2 wrong use or failure; 3
refused for safety, nothing written; 130 interrupted. `STENO_DEBUG=1` adds the traceback. docs/commands.md tells users.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

__all__ = ["main", "main_agent"]

NOTHING_MATCHED = 1
#: Under `--strict`.
FINDINGS = 1
FAILED = 2
#: In use, changed meanwhile, or not proved: nothing was written.
REFUSED = 3
COMPLETE_VARIABLE = "_STENO_COMPLETE"
STOPPED = 130


def main() -> NoReturn:
    """Run the command line and exit."""
    # A command makes many values and ends soon: looking for garbage as often as a server does costs a tenth of its time.
    gc.set_threshold(200_000, 50, 50)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that can't show a character must not end the program; names of files may hold any bytes.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    from stenograph.cli._start import import_libraries

    import_libraries()
    code = _run()
    # At its end the interpreter looks for garbage among all that was ever made; this takes a tenth of a short command.
    gc.freeze()
    sys.exit(code)


def main_agent() -> NoReturn:
    """`steno agent` as one program, for what can start only a program: the client's SDKs."""
    sys.argv[1:1] = ["agent"]
    main()


def run_again(words: Sequence[str], named: Callable[[Sequence[str]], str] | None = None) -> int:
    """Another command within this one; the exit code. `named`: how commands are called there, by their words."""
    from stenograph.cli._group import steno

    before, steno.named = steno.named, named
    try:
        return _run(words)
    finally:
        steno.named = before


def _run(words: Sequence[str] | None = None) -> int:
    import io

    import click

    from stenograph.cli._group import steno
    from stenograph.errors import AmbiguousSessionError, BusyError, StenographError, UnprovedPlanError

    stdout = sys.stdout
    if stdout is None:  # so Python says that it was started with a closed stdout
        return _fail("cannot write the output: stdout is closed")
    try:
        # Without a name click finds out which: `steno`, or `python -m stenograph`.
        code = steno.main(args=words, standalone_mode=False, complete_var=COMPLETE_VARIABLE)
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        return STOPPED
    except click.UsageError as error:
        return _fail(_clause(error.format_message()), hint=f"{error.ctx.command_path} --help" if error.ctx is not None else "")
    except click.ClickException as error:
        return _fail(_clause(error.format_message()))
    except AmbiguousSessionError as error:
        from stenograph.cli._arguments import ambiguous_choices

        choices, again = ambiguous_choices(error)
        return _fail(error.what, why=choices, hint=_with_program(again or error.hint, is_typed=bool(again)))
    except StenographError as error:
        code = REFUSED if isinstance(error, BusyError | UnprovedPlanError) else FAILED
        return _fail(error.what, why=error.why, hint=_with_program(error.hint), code=code)
    except SystemExit as exit_:
        # click's way out of a closed pipe, after which it has wrapped stdout, and of shell completion. Whoever read us has
        # read enough: that is no failure.
        pipe_closed = sys.stdout is not stdout
        return exit_.code if isinstance(exit_.code, int) and not pipe_closed else 0
    except BrokenPipeError:
        # The same, found out at the flush. The interpreter flushes once more at its end, which must not fail again.
        sys.stdout = io.StringIO()
        return 0
    except OSError as error:
        # Whatever the library opens fails as a StenographError; what has no name is a full disk or the like behind stdout.
        if error.filename is not None:
            return _unexpected(error)
        if isinstance(error, FileNotFoundError):  # os.getcwd names nothing
            return _fail("the current directory no longer exists")
        sys.stdout = io.StringIO()
        return _fail(f"cannot write the output: {error.strerror or type(error).__name__}")
    except Exception as error:  # noqa: BLE001 - the outermost edge
        return _unexpected(error)
    return code if isinstance(code, int) else 0


def _unexpected(error: Exception) -> int:
    # Not the error's text: it may hold what a transcript says.
    return _fail(f"unexpected error {type(error).__name__}", hint="set STENO_DEBUG=1 for the traceback")


def _clause(sentence: str) -> str:
    """click writes sentences; names of options and values keep their case."""
    return sentence[:1].lower() + sentence[1:].removesuffix(".")


def _with_program(hint: str, *, is_typed: bool = False) -> str:
    """The library does not know what the program was called by, nor with which options; a command as typed has those."""
    from stenograph.cli._group import steno
    from stenograph.cli._settings import given_options

    if (named := steno.named) is not None:
        return re.sub(r"(^|: )steno ([a-z-].*)", lambda found: found[1] + named(found[2].split()), hint)
    begin = steno.program if is_typed else given_options(steno.program)
    hint = re.sub(r"(^|: )steno (?!demo )(?=[a-z])", lambda found: f"{found[1]}{begin} ", hint)
    return re.sub(r"(^|: )steno (?=-|demo )", rf"\1{steno.program} ", hint)


def _fail(what: str, *, why: str | Iterable[str] = "", hint: str = "", code: int = FAILED) -> int:
    from stenograph.cli._messages import echo_error
    from stenograph.config import is_debugging

    if is_debugging(os.environ):
        import traceback

        traceback.print_exc()
    echo_error(what, why=why, hint=hint)
    return code
