"""One command in a shell of its own, ended with everything that it started.

The command leads a process group. Both streams come through one pipe: a file would be truncated by a command that writes to
`/dev/stderr` by name. A child that holds the pipe open delays nobody: the shell is done when its own process is.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import os
import re
import signal
import time
from asyncio import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

#: Bytes of output kept; more is only counted.
KEPT = 64 * 1024 * 1024
#: Bytes of output at which a command is killed.
ENDLESS = 1024 * 1024 * 1024
#: Seconds between SIGTERM and SIGKILL.
GRACE = 0.5
#: Seconds for children of a finished command to write the rest.
_LINGER = 0.05
_CHUNK = 256 * 1024
#: Lowest descriptor by which a shell reports its last folder.
_FOLDER_DESCRIPTOR = 60
#: Not for commands: the endpoint's keys, the client key's passphrase, and folders where `cd` would look for a name first.
_WITHHELD = re.compile(r"ANTHROPIC_|CLAUDE_CODE_OAUTH_TOKEN$|CLAUDE_CODE_CLIENT_KEY_PASSPHRASE$|CDPATH$")
#: Files that bash and ripgrep read before anything else; both can run programs.
_STARTUP_FILES = frozenset({"BASH_ENV", "ENV", "RIPGREP_CONFIG_PATH"})
#: For git commands that need no rule: no program of the repository's choice.
_QUIET_GIT = {"core.fsmonitor": "false", "core.hooksPath": os.devnull, "diff.ignoreSubmodules": "all"}


class CommandNotStarted(Exception):  # noqa: N818 - a result of a call, not an error of the program
    """The text says why in one line."""


class CommandOutput:
    """Kept in memory, or in a file after `to_file`."""

    def __init__(self) -> None:
        self.size = 0
        self._kept = bytearray()
        self._path: Path | None = None
        self._descriptor = -1
        self._written = 0

    def take(self, data: bytes) -> None:
        self.size += len(data)
        if self._path is None:
            self._kept += data[: KEPT - len(self._kept)]
        elif self._descriptor >= 0:
            self._write(data)

    def to_file(self, path: Path) -> None:
        """Move the output, past and future, to a file. Raises OSError."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        self._path = path
        self._write(bytes(self._kept))
        self._kept.clear()

    def read(self) -> bytes:
        if self._path is None:
            return bytes(self._kept)
        try:
            return self._path.read_bytes()
        except OSError:  # the file was removed
            return b""

    def tail(self, size: int) -> bytes:
        """Of what is in memory."""
        return bytes(self._kept[-size:])

    def count_lines(self) -> int:
        return self._kept.count(b"\n") + (not self._kept.endswith(b"\n") and bool(self._kept))

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _write(self, data: bytes) -> None:
        data = data[: KEPT - self._written]
        try:
            while data:
                written = os.write(self._descriptor, data)
                self._written += written
                data = data[written:]
        except OSError:  # a full disk: the command continues
            self.close()


class Shell:
    """A command, made by `start_shell`."""

    def __init__(self, process: subprocess.Process, pipe: int, folder_pipe: int = -1) -> None:
        self.output = CommandOutput()
        self.began = time.monotonic()
        #: Killed for writing too much.
        self.is_endless = False
        self._process = process
        self._folder_pipe = folder_pipe
        self._at_end = asyncio.Event()
        self._pipe = pipe
        self._loop = asyncio.get_running_loop()
        os.set_blocking(pipe, False)
        self._loop.add_reader(pipe, self._read)
        #: Done when the command's own process is.
        self.over = asyncio.ensure_future(self._wait())

    @property
    def exit_code(self) -> int | None:
        """128 + signal for a killed one. None while it runs."""
        code = self._process.returncode
        return 128 - code if code is not None and code < 0 else code

    @property
    def is_held_open(self) -> bool:
        """The command is over and a child may still write."""
        return self.over.done() and self._pipe >= 0

    def final_folder(self) -> Path | None:
        """None if the command failed or exited before it could be asked."""
        if self._folder_pipe < 0:
            return None
        try:
            told = os.fsdecode(os.read(self._folder_pipe, _CHUNK)).removesuffix("\n")
        except BlockingIOError:  # nothing was written, and a child holds the pipe open
            return None
        finally:
            self._close_folder_pipe()
        return Path(told) if told else None

    async def end(self) -> None:
        """SIGTERM, then SIGKILL, to the whole group. Output so far stays."""
        if self.over.done():
            return
        group = self._process.pid
        _signal(group, signal.SIGTERM)
        try:
            began, pause = time.monotonic(), 0.005
            while time.monotonic() - began < GRACE and (not self.over.done() or _lives(group)):
                await asyncio.sleep(pause)
                pause = min(pause * 2, 0.05)
        finally:
            # Also if we are cancelled while waiting.
            _signal(group, signal.SIGKILL)
            # Cancelling us must not cancel it.
            await asyncio.wait([self.over])

    def close(self) -> None:
        """Stop reading."""
        self._stop_reading()
        self._close_folder_pipe()
        self.output.close()

    def _close_folder_pipe(self) -> None:
        if self._folder_pipe >= 0:
            os.close(self._folder_pipe)
            self._folder_pipe = -1

    async def _wait(self) -> None:
        await self._process.wait()
        # Rarely a child keeps the pipe open: read what is there.
        self._read()
        if self._pipe >= 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._at_end.wait(), _LINGER)

    def _read(self) -> None:
        # An endless writer must not starve everything else.
        for _ in range(8):
            if self._pipe < 0:
                return
            try:
                data = os.read(self._pipe, _CHUNK)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._stop_reading()
                return
            self.output.take(data)
            if self.output.size > ENDLESS and not self.is_endless:
                self.is_endless = True
                _signal(self._process.pid, signal.SIGKILL)

    def _stop_reading(self) -> None:
        if self._pipe >= 0:
            self._loop.remove_reader(self._pipe)
            os.close(self._pipe)
            self._pipe = -1
            self._at_end.set()


async def start_shell(
    command: str, *, cwd: Path, environment: Mapping[str, str], tells_folder: bool = False, within: Sequence[str] = ()
) -> Shell:
    """`tells_folder`: report the last directory. `within`: what starts the shell. Raises CommandNotStarted."""
    program = _shell_program()
    if program is None:
        raise CommandNotStarted("There is no shell on this system: neither bash nor sh was found")
    reading, writing = os.pipe()
    told = telling = -1
    try:
        if tells_folder:
            told, telling = _folder_pipe()
        # With `eval`, a comment or open quote at the end can't reach what follows.
        script = f"eval {_quoted(command)}"
        if tells_folder:
            # By its path: plain shells know one-digit descriptors only.
            script += f'\n__code=$?; [ "$__code" = 0 ] && pwd -P 2>/dev/null >| /dev/fd/{telling}; exit "$__code"'
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                *within,
                program,
                "-c",
                script,
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                cwd=cwd,
                env=environment,
                start_new_session=True,
                pass_fds=[telling] if tells_folder else [],
            )
        )
        # Half-started it could not be ended.
        is_cancelled = await _uncancelled(starting)
        process = starting.result()
    except BaseException as error:
        _close(reading, told)
        if isinstance(error, (OSError, ValueError)):
            raise CommandNotStarted(_why_not(error, cwd)) from None
        raise
    finally:
        _close(writing, telling)
    shell = Shell(process, reading, told)
    if is_cancelled:
        try:
            await shell.end()
        finally:
            shell.close()
        raise asyncio.CancelledError
    return shell


def _folder_pipe() -> tuple[int, int]:
    """A pipe whose far end has a number that no command uses. Not a file: nothing stays behind."""
    import fcntl  # POSIX only

    reading, writing = os.pipe()
    try:
        os.set_blocking(reading, False)
        return reading, fcntl.fcntl(writing, fcntl.F_DUPFD_CLOEXEC, _FOLDER_DESCRIPTOR)
    except OSError:  # no more descriptors
        os.close(reading)
        raise
    finally:
        os.close(writing)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        if descriptor >= 0:
            os.close(descriptor)


async def _uncancelled(starting: asyncio.Future[asyncio.subprocess.Process]) -> bool:
    """Wait for it, also if cancelled meanwhile. Returns whether that was so."""
    is_cancelled = False
    while not starting.done():
        try:
            await asyncio.wait([starting])
        except asyncio.CancelledError:
            is_cancelled = True
    return is_cancelled


def command_environment(environ: Mapping[str, str], more: Mapping[str, str], *, untrusted: Iterable[Path] = ()) -> dict[str, str]:
    """Ours and the given one, without the endpoint's keys.

    `untrusted`: directories that the model can write to. No program in them is run instead of the intended one.
    """
    both = {**environ, **more}
    kept = {name: value for name, value in both.items() if not _WITHHELD.match(name)}
    if folders := [os.path.realpath(folder) for folder in untrusted]:
        kept = {name: value for name, value in kept.items() if name not in _STARTUP_FILES}
        kept["PATH"] = search_path(kept, folders)
        kept |= {"GIT_PAGER": "cat", "GIT_OPTIONAL_LOCKS": "0"}
    # An editor would wait forever; clients set this too (2.0.76, 2.1.325).
    return {**kept, **_git_settings(kept, _QUIET_GIT if folders else {}), "GIT_EDITOR": "true", "AI_AGENT": "stenograph"}


def search_path(environ: Mapping[str, str], untrusted: Iterable[Path | str]) -> str:
    """Where programs are looked for, without directories that the model can write to."""
    folders = [os.path.realpath(folder) for folder in untrusted]
    return os.pathsep.join(_outside(environ.get("PATH", os.defpath), folders) or [os.defpath])


def _outside(path: str, folders: Sequence[str]) -> list[str]:
    entries = [entry for entry in path.split(os.pathsep) if os.path.isabs(entry)]  # noqa: PTH117 - text
    return [entry for entry in entries if not any(is_below(os.path.realpath(entry), folder) for folder in folders)]


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a directory, or in it. Both are absolute."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _git_settings(environ: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """No directory is taken for a repository because of what is in it: its configuration could name programs to run."""
    told = environ.get("GIT_CONFIG_COUNT", "")
    count = int(told) if told.isdecimal() else 0
    made: dict[str, str] = {}
    for number, (name, value) in enumerate({"safe.bareRepository": "explicit", **more}.items(), count):
        made |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value, "GIT_CONFIG_COUNT": str(number + 1)}
    return made


@functools.cache
def _shell_program() -> str | None:
    if os.name != "posix":
        return None
    import shutil  # its archive formats cost milliseconds

    return next((found for name in ("/bin/bash", "bash", "/bin/sh", "sh") if (found := shutil.which(name))), None)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _why_not(error: OSError | ValueError, cwd: Path) -> str:
    if isinstance(error, ValueError):
        return "The command holds a character that no command can hold (a zero byte, or half a surrogate pair)"
    if not cwd.is_dir():
        return f"The working directory {cwd} does not exist"
    if error.errno == errno.E2BIG:
        return "The command is too long to be run. Write it to a file, and run that"
    return f"The command could not be started: {error.strerror}"


def _signal(group: int, number: int) -> bool:
    """Whether the group exists."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _lives(group: int) -> bool:
    """Whether a process of the group runs. Zombies don't count: in a container without an init they stay forever."""
    if not _signal(group, 0):
        return False
    try:
        processes = [entry for entry in os.scandir("/proc") if entry.name.isdecimal()]
    except OSError:  # not Linux
        return True
    for entry in processes:
        try:
            # `pid (name) state parent group …`; the name may hold anything.
            state = Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(state[2]) == group and state[0] not in (b"Z", b"X"):
            return True
    return False
