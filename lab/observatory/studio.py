"""The place where one scenario is played with one release: a home, a project folder, a stage, ways to start the client.

In: a release's program and a scratch folder. Out: whatever the client writes under `home`. What a release does not know is
noted, not raised: notes say which step, never what a client said.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from lab.clients import client_environment
from lab.observatory.project import make_project
from lab.observatory.scenes import Scene, cue
from lab.observatory.stage import Stage
from lab.observatory.talk import NoAnswerError, Talk
from lab.terminal import NotSeenError, Terminal, prepare_home
from stenograph.testing.scripted_api import Json

ALLOW_ALL = "--dangerously-skip-permissions"


@dataclass(frozen=True)
class Scenario:
    """What is done to a client. A changed scenario gets a new edition, and is played again."""

    name: str
    play: Callable[[Studio], None]
    edition: int = 1


class Studio:
    """A context manager: it opens and closes the stage."""

    def __init__(self, program: Path, release: str, scratch: Path, stage: Stage | None = None) -> None:
        self.program, self.release = program, release
        self.version = tuple(int(part) for part in release.split("."))
        self.home = scratch.resolve() / "home"
        self.project = self.home / "project"
        self.stage = stage or Stage()
        self.notes: list[str] = []

    def __enter__(self) -> Studio:
        self.home.mkdir(parents=True)
        make_project(self.project)
        prepare_home(self.home, self.project)
        self.settings()
        self.stage.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stage.__exit__(kind, error, trace)

    def scene(self, name: str, scene: Scene, words: str = "Please go on.") -> str:
        """Add a scene; the prompt that plays it."""
        self.stage.add(name, scene)
        prompt = cue(name, words)
        self.stage.spoken.update((prompt, words))
        return prompt

    def settings(self, **values: object) -> None:
        """The user's settings, in place of those before. Fetching never asks the vendor whether an address is safe."""
        path = self.home / ".claude" / "settings.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"skipWebFetchPreflight": True, **values}), encoding="utf-8")

    def run(self, prompt: str, *args: str, timeout: float = 60.0, environment: dict[str, str] | None = None) -> Json:
        """One prompt in print mode, to the client's end; the JSON it printed, or nothing where it printed none."""
        self.stage.spoken.add(prompt)
        command = [str(self.program), "-p", prompt, "--output-format", "json", *args]
        process = subprocess.Popen(
            command,
            cwd=self.project,
            env={**client_environment(self.home, self.stage.url), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        out = b""
        try:
            out, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.notes.append("a client in print mode took too long and was ended")
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        if process.returncode > 0:
            self.notes.append(f"a client in print mode ended with {process.returncode}")
        with contextlib.suppress(ValueError):
            printed = json.loads(out)
            lines = printed if isinstance(printed, list) else [printed]
            return next((line for line in reversed(lines) if line.get("type") == "result"), {})
        return {}

    def talk(self, *args: str, environment: dict[str, str] | None = None, farewell: float = 10.0) -> Talk:
        """A client in print mode that takes one prompt after another."""
        everything = {**client_environment(self.home, self.stage.url), **(environment or {})}
        return Talk(self.program, cwd=self.project, environment=everything, args=args, farewell=farewell)

    def terminal(self, *args: str, environment: dict[str, str] | None = None) -> Terminal:
        return Terminal(
            self.program,
            home=self.home,
            cwd=self.project,
            base_url=self.stage.url,
            args=args,
            extra_environment=environment,
        )

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """A step that a release may not know: where it fails, that is noted."""
        try:
            yield
        except (NoAnswerError, NotSeenError):
            self.notes.append(f"{name}: not seen")
