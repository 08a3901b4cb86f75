"""A real client in a terminal: keys go in, the screen and the session files come out.

In: a client's program, a home and a working folder of its own, the address of an API on loopback, keys. Out: the screen as text,
the files under that home, how the client ended. The terminal is a tmux server of its own, its socket in the home, which
leaving the `with` block ends together with the client. Every wait is for something to be seen and has an end. Knows nothing of
what a client draws but the mark before its prompt; what to press when is the caller's.

    with ScriptedApi() as api, Terminal(program, home=home, cwd=cwd, base_url=api.url) as terminal:
        terminal.wait_until_ready()
        terminal.submit(script_prompt([[{"text": "Hello."}]], "Say hello."))
        terminal.wait_for("Hello.")
        terminal.wait_for_line("Hello.")
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from lab.clients import FAKE_KEY, ClientMissing, client_environment

T = TypeVar("T")

# The prompt's mark: in a box up to 2.0 (1.0.128), alone on its line since; an arrow from 2.1.
_PROMPT = re.compile(r"^[│\s]*[>❯](?=\s|$)", re.MULTILINE)
_SOCKET = "tmux.socket"
_STATUS = "client.status"
# The shell tells how the client ended (tmux 3.3a misses that now and then) and keeps the last screen (where tmux itself keeps
# one it pushes the first line out). The trap, which a child does not inherit, lets it outlive an interrupt for the client.
_SHELL = ["sh", "-c", 'trap : INT; status=$1; shift; "$@"; echo $? > "$status"; exec sleep 86400', "sh"]
_POLL = 0.1
# A client has taken keys in when the screen has not changed for this long …
_STILL = 0.4
# … which never happens while it draws a spinner.
_LONGEST_STILL = 2.0
# … and to show them, this long at most.
_LONGEST_ECHO = 10.0
#: How often Enter is pressed, and how much of a text is looked for, without what breaks and frames its lines.
_TRIES = 4
_END_OF_TEXT = 20
_BORDERS = ("─", "╭", "╰", "━")
_BETWEEN = re.compile(r"[\s│]")
_COMMAND_TIMEOUT = 10.0
_GRACE = 3.0


class NotSeenError(AssertionError):
    """What was waited for did not come, or the client ended first. Says what the screen showed: a scripted session's."""


class Terminal:
    """A client in a terminal; a context manager.

    `home` may be used again by a later one: a client finds there what an earlier one wrote. `extra_environment` is added to the
    environment that every client gets; its settings are for the caller to write to `home/.claude/settings.json`.
    """

    def __init__(
        self,
        program: Path,
        *,
        home: Path,
        cwd: Path,
        base_url: str,
        args: Sequence[str] = (),
        extra_environment: Mapping[str, str] | None = None,
        columns: int = 150,
        rows: int = 50,
    ) -> None:
        self.home, self.cwd = home.resolve(), cwd.resolve()
        self._command = [str(program), *args]
        self._environment = {**client_environment(self.home, base_url), **(extra_environment or {})}
        self._size = ["-x", str(columns), "-y", str(rows)]
        self._tmux = shutil.which("tmux", path=self._environment["PATH"])
        self._groups: list[int] = []

    def __enter__(self) -> Terminal:
        """Start the client. Raises ClientMissing where there is no tmux."""
        if self._tmux is None:
            raise ClientMissing("there is no tmux to run a client in")
        prepare_home(self.home, self.cwd)
        (self.home / _STATUS).unlink(missing_ok=True)
        # `env -i` once more: tmux adds variables of its own, by which a client can tell where it runs.
        variables = [f"{name}={value}" for name, value in self._environment.items()]
        command = [*_SHELL, str(self.home / _STATUS), "env", "-i", *variables, *self._command]
        self._ask_tmux("new-session", "-d", *self._size, "-c", str(self.cwd), "--", *map(_literal, command))
        # Both lead a session of their own, so their groups hold nobody else.
        self._groups = [int(pid) for pid in self._ask_tmux("display-message", "-p", "#{pane_pid} #{pid}").split()]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the server, and with it the client, and wait until both are gone."""
        with contextlib.suppress(subprocess.SubprocessError):
            self._ask_tmux("kill-server")
        self._wait_until_gone()
        for group in self._groups:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: not permitted where all have ended
                os.killpg(group, signal.SIGKILL)
        self._wait_until_gone()
        (self.home / _SOCKET).unlink(missing_ok=True)

    # --- in

    def type(self, text: str) -> None:
        """Type letters as they are, and wait until they were taken in. Enter is a key to press."""
        self._ask_tmux("send-keys", "-l", "--", _literal(text))
        # A client takes an Enter that comes in one read with letters for a part of pasted text.
        self.wait_until_still()

    def press(self, *keys: str) -> None:
        """Press keys by the names that tmux gives them: `Enter`, `Escape`, `Up`, `Tab`, `BTab`, `C-c`, `3`."""
        for key in keys:
            self._ask_tmux("send-keys", "--", key)
            # An Escape and what follows it at once would be one key with Alt.
            time.sleep(2 * _POLL)

    def submit(self, text: str) -> None:
        self.type(text)
        # A busy client draws letters long after they were typed. An Enter that it reads together with them is a new line.
        self._wait_a_while(lambda: _shows(self.screen(), text), _LONGEST_ECHO)
        for _ in range(_TRIES):
            self.press("Enter")
            if self._wait_a_while(lambda: not _shows(self._input_field(), text), _LONGEST_STILL):
                return

    def _input_field(self) -> str:
        """What is between the last two borders; nothing if there are none."""
        lines = [line for line in self.screen().splitlines() if line.strip()]
        borders = [place for place, line in enumerate(lines) if line.lstrip()[:1] in _BORDERS]
        return "\n".join(lines[borders[-2] + 1 : borders[-1]]) if len(borders) > 1 else ""

    def _wait_a_while(self, look: Callable[[], bool], longest: float) -> bool:
        """Whether it came true in time."""
        deadline = time.monotonic() + longest
        while not (seen := look()) and time.monotonic() < deadline:
            time.sleep(_POLL)
        return seen

    def paste(self, text: str) -> None:
        """Paste as a terminal does, between brackets."""
        # By a file: an argument can't be that long.
        path = self.home / "tmp" / "pasted"
        path.write_text(text, encoding="utf-8")
        self._ask_tmux("load-buffer", str(path))
        self._ask_tmux("paste-buffer", "-p", "-r")
        self.wait_until_still()

    def resize(self, columns: int, rows: int) -> None:
        self._ask_tmux("resize-window", "-x", str(columns), "-y", str(rows))
        self.wait_until_still()

    # --- out

    def screen(self) -> str:
        return self._ask_tmux("capture-pane", "-p", "-J")

    def history(self) -> str:
        """The screen, and all that was scrolled out of it."""
        return self._ask_tmux("capture-pane", "-p", "-J", "-S", "-")

    def session_files(self) -> list[Path]:
        """Every transcript under the home, sub-agents' too, the one written last at the end."""
        found = (self.home / ".claude" / "projects").rglob("*.jsonl")
        return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path))

    @property
    def returncode(self) -> int | None:
        """How the client ended, as a shell tells it; None while it runs."""
        try:
            status = (self.home / _STATUS).read_text()
        except FileNotFoundError:
            return None
        return int(status) if status.endswith("\n") else None

    # --- waiting

    def wait_until(self, look: Callable[[], T | None], what: str, timeout: float = 20.0) -> T:
        """What `look` gives as soon as it is not None. Raises NotSeenError."""
        deadline = time.monotonic() + timeout
        while True:
            ended = self.returncode is not None  # asked first, so that what a client did last is still seen
            found = look()
            if found is not None:
                return found
            if ended or time.monotonic() > deadline:
                reason = "the client ended" if ended else f"{timeout:.0f} s passed"
                raise NotSeenError(f"waited for {what}; {reason}. The screen:\n{self.screen().rstrip()}")
            time.sleep(_POLL)

    def wait_for(self, wanted: str | re.Pattern[str], timeout: float = 20.0) -> str:
        """The screen, once it shows a text or what a pattern finds."""
        pattern = re.compile(re.escape(wanted)) if isinstance(wanted, str) else wanted

        def look() -> str | None:
            screen = self.screen()
            return screen if pattern.search(screen) else None

        return self.wait_until(look, f"{pattern.pattern!r} on the screen", timeout)

    def wait_for_line(self, wanted: str, timeout: float = 20.0) -> Path:
        """The transcript of which a whole line holds a text, as JSON without escapes beyond the needed ones spells it."""
        needle = json.dumps(wanted, ensure_ascii=False)[1:-1].encode()

        def look() -> Path | None:
            for path in reversed(self.session_files()):
                if any(needle in line for line in path.read_bytes().split(b"\n")[:-1]):
                    return path
            return None

        return self.wait_until(look, f"{wanted!r} in a transcript", timeout)

    def wait_until_ready(self, timeout: float = 40.0) -> None:
        """Wait until the client shows its prompt and draws no more."""
        self.wait_for(_PROMPT, timeout)
        self.wait_until_still()

    def wait_until_still(self) -> None:
        """Wait until the screen stays as it is, two seconds at most: beside a spinner it never does."""
        deadline = time.monotonic() + _LONGEST_STILL
        seen, since = self.screen(), time.monotonic()
        while time.monotonic() < deadline and time.monotonic() - since < _STILL:
            time.sleep(_POLL)
            screen = self.screen()
            if screen != seen:
                seen, since = screen, time.monotonic()

    def wait_for_exit(self, timeout: float = 10.0) -> int:
        """How the client ended, once it has."""
        return self.wait_until(lambda: self.returncode, "the client's end", timeout)

    def _wait_until_gone(self) -> None:
        deadline = time.monotonic() + _GRACE
        while any(map(_runs, self._groups)) and time.monotonic() < deadline:
            time.sleep(_POLL)

    def _ask_tmux(self, *command: str) -> str:
        """Run a tmux command on our own server. The socket is named from the home, as a socket's path can't be long."""
        assert self._tmux is not None
        environment = {name: self._environment[name] for name in ("HOME", "PATH", "LANG", "TERM")}
        done = subprocess.run(
            [self._tmux, "-u", "-f", os.devnull, "-S", _SOCKET, *command],
            cwd=self.home,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_COMMAND_TIMEOUT,
            check=True,
        )
        return done.stdout.decode(errors="replace")


def prepare_home(home: Path, cwd: Path) -> None:
    """Make a home in which a client has nothing left to ask: no welcome, no theme, no key to approve, no folder to trust.

    What an earlier client left there stays.
    """
    (home / "tmp").mkdir(parents=True, exist_ok=True)
    cwd.mkdir(parents=True, exist_ok=True)
    path = home / ".claude.json"
    state = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    answered = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "numStartups": 5,
        "autoUpdates": False,
        "bypassPermissionsModeAccepted": True,
        # A key is known by its last 20 characters.
        "customApiKeyResponses": {"approved": [FAKE_KEY[-20:]], "rejected": []},
    }
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True, "projectOnboardingSeenCount": 5}
    projects = state.get("projects", {})
    # 1.0.128 does not start when a project that it knows has no list of tools.
    projects[str(cwd)] = {"allowedTools": [], "history": [], **projects.get(str(cwd), {}), **trusted}
    path.write_text(json.dumps({**answered, **state, "projects": projects}), encoding="utf-8")


def _shows(screen: str, text: str) -> bool:
    """Whether the end of a text is there, or a paste that stands for it."""
    return _BETWEEN.sub("", text)[-_END_OF_TEXT:] in (plain := _BETWEEN.sub("", screen)) or "[Pastedtext" in plain


def _literal(argument: str) -> str:
    """An argument that tmux takes as it is: a semicolon at the end of one would part two commands."""
    return argument[:-1] + "\\;" if argument.endswith(";") else argument


def _runs(group: int) -> bool:
    """Whether a process of the group has not ended yet; in a container nobody may collect those that have."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    processes = list(Path("/proc").glob("[0-9]*/stat"))
    states = [_state(path) for path in processes]
    return not processes or any(of == str(group) and state != "Z" for state, of in states)


def _state(path: Path) -> tuple[str, str]:
    """The state of a process and its group; nothing of one that is gone."""
    try:
        state, _, group, *_ = path.read_text(errors="replace").rpartition(") ")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return "Z", ""
    return state, group
