"""Runs a search as a process: ripgrep if installed, else our own. Ended when it takes too long or writes too much.

Raises ToolFailed for an invalid search.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from stenograph.agent.tools.base import ToolFailed
from stenograph.agent.tools.ignoring import VERSION_CONTROL
from stenograph.agent.tools.searching import MOST_COLUMNS, Search
from stenograph.agent.tools.shell import command_environment

if TYPE_CHECKING:
    from stenograph.agent.tools.readable_results import ReadableResults

#: Seconds, as in the client.
TIME_LIMIT = 20.0
#: Bytes.
MOST_OUTPUT = 4 * 1024 * 1024


class Lines(msgspec.Struct, frozen=True):
    lines: list[str]
    #: Ended early.
    is_cut: bool


async def run_search(
    wanted: Search, cwd: Path, may_read: Callable[[Path], bool] | None = None, *, time_limit: float = TIME_LIMIT
) -> Lines:
    readable: ReadableResults | None = None
    if may_read is not None and os.path.isdir(cwd / wanted.target):  # noqa: PTH112 - Path.is_dir raises without rights
        from stenograph.agent.tools.readable_results import ReadableResults  # rarely needed

        wanted = msgspec.structs.replace(wanted, marks_names=True)
        readable = ReadableResults(wanted, lambda name: may_read(cwd / os.fsdecode(name)))
    elif may_read is not None and not may_read(cwd / wanted.target):
        return Lines([], is_cut=False)
    process = await _started(wanted, cwd)
    output = bytearray()
    try:
        try:
            async with asyncio.timeout(time_limit):
                errors = await _collect(process, output, readable)
                is_cut = errors is None
        except TimeoutError:
            errors, is_cut = None, True
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if errors and process.returncode == 2:
        words = errors.decode("utf-8", "replace").strip()
        raise ToolFailed(f"Search failed — the pattern, glob, or file type was rejected without searching:\n{words}")
    lines = output.decode("utf-8", "replace").split("\n")
    last = lines.pop()  # empty, or incomplete
    if last and not is_cut:
        lines.append(last)
    return Lines([line.removeprefix("./").removesuffix("\r") for line in lines], is_cut)


async def _started(wanted: Search, cwd: Path) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *search_command(wanted),
            cwd=cwd,
            # Without our keys: others can see processes' environments.
            env=command_environment(os.environ, {}),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        is_long = error.errno == errno.E2BIG
        raise ToolFailed(f"Search failed: {'the pattern is too long' if is_long else error.strerror}.") from None
    except ValueError:
        raise ToolFailed("Search failed: the pattern holds a character that no file can hold (half a surrogate pair).") from None


async def _collect(process: asyncio.subprocess.Process, output: bytearray, readable: ReadableResults | None) -> bytes | None:
    """stderr; None if the output was too long."""
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.ensure_future(process.stderr.read())
    try:
        while block := await process.stdout.read(65536):
            output += readable.feed(block) if readable else block
            if len(output) + (readable.held if readable else 0) > MOST_OUTPUT:
                return None
        said = await errors
        await process.wait()
        return said
    finally:
        errors.cancel()


def search_command(wanted: Search) -> list[str]:
    # Slow to load.
    import shutil

    program = shutil.which("rg")
    if program is None:
        # -P: the project's modules must not replace ours.
        return [sys.executable, "-P", "-m", "stenograph.agent.tools.searching", msgspec.json.encode(wanted).decode()]
    # Sorted, so that a repeated search gives the same.
    command = [program, "--no-config", "--no-messages", "--hidden", "--color=never", "--no-heading", "--sort=path"]
    command += [f"--max-columns={MOST_COLUMNS}"]
    match wanted.mode:
        case "files_with_matches":
            command.append("--files-with-matches")
        case "count":
            command += ["--count", "--with-filename"]
        case _:
            command.append("--line-number" if wanted.with_numbers or wanted.marks_names else "--no-line-number")
            command += [f"--before-context={wanted.before}", f"--after-context={wanted.after}"]
            command += ["--only-matching"] if wanted.only_matching else []
    command += ["--null", "--context-separator=\\x00"] if wanted.marks_names else []
    command += ["--ignore-case"] if wanted.ignores_case else []
    command += ["--multiline", "--multiline-dotall"] if wanted.is_multiline else []
    command += [f"--type={wanted.type}"] if wanted.type else []
    command += [f"--glob={glob}" for glob in (*wanted.globs, *(f"!{name}" for name in VERSION_CONTROL))]
    return [*command, "--regexp", wanted.pattern, "--", wanted.target if wanted.target != "." else "./"]
