"""Runs a search as a process: ripgrep if installed, else our own. Ended when it takes too long or writes too much.

Raises ToolFailed for an invalid search.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from stenograph.agent.tools.base import ToolFailed, Workspace
from stenograph.agent.tools.globbing import VERSION_CONTROL
from stenograph.agent.tools.searching import MOST_COLUMNS, Search
from stenograph.agent.tools.shell import command_environment

#: Seconds, as in the client.
TIME_LIMIT = 20.0
#: Bytes.
MOST_OUTPUT = 4 * 1024 * 1024


class Lines(msgspec.Struct, frozen=True):
    lines: list[str]
    #: Ended early.
    is_cut: bool


async def run_search(
    wanted: Search,
    workspace: Workspace,
    may_read: Callable[[Path], bool] | None = None,
    *,
    environ: Mapping[str, str],
    time_limit: float = TIME_LIMIT,
) -> Lines:
    cwd = workspace.cwd
    readable: ReadableResults | None = None
    if may_read is not None and os.path.isdir(cwd / wanted.target):  # noqa: PTH112 - Path.is_dir raises without rights
        wanted = msgspec.structs.replace(wanted, marks_names=True)
        readable = ReadableResults(wanted, lambda name: may_read(cwd / os.fsdecode(name)))
    elif may_read is not None and not may_read(cwd / wanted.target):
        return Lines([], is_cut=False)
    process = await _started(wanted, workspace, environ)
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


async def _started(wanted: Search, workspace: Workspace, environ: Mapping[str, str]) -> asyncio.subprocess.Process:
    # Without our keys: others can see processes' environments.
    environment = command_environment(environ, {}, untrusted=workspace.folders)
    try:
        return await asyncio.create_subprocess_exec(
            *search_command(wanted, environment["PATH"]),
            cwd=workspace.cwd,
            env=environment,
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


def search_command(wanted: Search, path: str) -> list[str]:
    # Slow to load.
    import shutil

    program = shutil.which("rg", path=path)
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


#: Behind a file's lines ripgrep 13 puts no NUL after that name.
_REMARK = re.compile(rb": WARNING: stopped searching binary file after match [^\n]*\n")
_NUMBER = re.compile(rb"(\d+)([:-])")


class ReadableResults:
    def __init__(self, wanted: Search, may_show: Callable[[bytes], bool]) -> None:
        """`may_show` is asked once per stretch of results of one file, by the name the search gives it."""
        self._wanted = wanted
        self._may_show = may_show
        #: Incomplete input.
        self._held = b""
        self._name = b""
        self._is_shown = False
        #: A separator came, and nothing shown since.
        self._is_apart = False
        self._has_shown = False

    @property
    def held(self) -> int:
        """Bytes that wait for more."""
        return len(self._held)

    def feed(self, data: bytes) -> bytes:
        self._held += data
        shown = bytearray()
        at = 0
        while (end := self._result(at, shown)) is not None:
            at = end
        self._held = self._held[at:]
        return bytes(shown)

    def _result(self, at: int, shown: bytearray) -> int | None:
        """Consumes one result; returns where the next begins, None if incomplete."""
        held = self._held
        if self._name and held.startswith(self._name + b": ", at):
            if held.find(b"\n", at) < 0:
                return None
            if remark := _REMARK.match(held, at + len(self._name)):
                self._show(held[at : remark.end()], shown)
                return remark.end()
        name_end = held.find(b"\0", at)
        end = name_end if self._wanted.mode == "files_with_matches" else held.find(b"\n", name_end)
        if name_end < 0 or end < 0:
            return None
        name = held[at:name_end]
        if not name:
            self._is_apart = True
            return end + 1
        if name != self._name:
            self._name = name
            self._is_shown = b"\n" not in name and self._may_show(name)
        self._show(self._line(name, held[name_end + 1 : end]) + b"\n", shown)
        return end + 1

    def _show(self, line: bytes, shown: bytearray) -> None:
        if not self._is_shown:
            return
        if self._is_apart and self._has_shown:
            shown += b"--\n"
        self._is_apart = False
        self._has_shown = True
        shown += line

    def _line(self, name: bytes, rest: bytes) -> bytes:
        match self._wanted.mode:
            case "files_with_matches":
                return name
            case "count":
                return name + b":" + rest
        number = _NUMBER.match(rest)
        if number is None:  # a remark of our own search
            return name + rest
        sign = number[2]
        return name + sign + (number[0] if self._wanted.with_numbers else b"") + rest[number.end() :]
