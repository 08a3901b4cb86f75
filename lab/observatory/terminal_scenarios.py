"""The scenarios in the terminal: what only a person at the keys can do to a client.

In: a studio. Out: sessions in its home. A step waits for what it needs to see, on the screen or in the transcript, and ends in
a note where a release shows something else; the next one begins at an empty prompt.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from lab.observatory.print_scenarios import agent_call, hook_settings
from lab.observatory.project import PNG, furnish_project, write_files
from lab.observatory.scenes import Say, Scene, cue, say, text, think, tool
from lab.observatory.stage import DEFAULT_ANSWER
from lab.observatory.studio import ALLOW_ALL, Scenario, Studio
from lab.terminal import NotSeenError, Terminal
from stenograph.testing.scripted_api import Json

#: A program that says that it runs, and goes on until it is told to stop or half a minute has passed.
WAITER = """
import pathlib, sys, time
name = pathlib.Path(sys.argv[1])
name.with_suffix(".runs").touch()
for _ in range(300):
    if name.exists():
        break
    time.sleep(0.1)
print("waited")
"""
ALLOWED = ("--permission-mode", "default", "--allowedTools", "Bash Task Agent Skill Read")
_DIALOG = re.compile(r"(?i)do you want|would you like to proceed|ready to (code|implement)|exit plan mode\?|Yes, and")
_PLAN_FILE = re.compile(r"/[\w./-]+/plans/[\w-]+\.md")
#: Seconds; a release that has a dialog or an answer shows it much sooner.
_PATIENCE = 12.0
#: Letters at the end of a prompt that stand on one line of the screen.
_TAIL = 16
_INTERRUPTED = "[Request interrupted by user"


class Desk:
    """A terminal with a studio at hand: prompts that play scenes, and steps that leave an empty prompt behind."""

    def __init__(self, studio: Studio, terminal: Terminal) -> None:
        self.studio, self.terminal = studio, terminal
        self.interrupts = 0
        self.began = False
        self.outside = 0

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        with self.studio.step(name):
            try:
                yield
            except NotSeenError:
                # Whatever is open is closed; a second Escape in a row would open the rewind dialog.
                self.terminal.press("Escape")
                self.terminal.wait_until_still()
                self.terminal.press("C-u")
                raise
        self.terminal.press("C-u")

    def submit(self, words: str) -> None:
        """Type words, and press Enter once they are seen: a busy client takes both for pasted text when they come at once."""
        self.studio.stage.spoken.add(words)
        self.terminal.type(words)
        with contextlib.suppress(NotSeenError):
            self.terminal.wait_for(words[-_TAIL:], 5)
        self.terminal.press("Enter")

    def prompt(self, scene: str, steps: Scene, words: str = "Please go on.") -> None:
        self.outside = self._written().count(DEFAULT_ANSWER)
        self.submit(self.studio.scene(scene, steps, words))
        if not self.began:
            self.began = True
            # While it starts, an old client (1.0.128) takes the first Enter for a new line.
            with contextlib.suppress(NotSeenError):
                self.terminal.wait_until(lambda: self.studio.stage.asked_for(scene) or None, "a request", 2)
                return
            self.terminal.press("Enter")

    def turn(self, scene: str, steps: Scene, words: str = "Please go on.") -> None:
        """A prompt and the end of its turn, which says the scene's name in capitals."""
        self.prompt(scene, steps, words)
        self.ended(scene)

    def ended(self, *scenes: str, no_scene: bool = False) -> None:
        """Wait for the end of one of the scenes, or for an answer outside of any since the last prompt."""

        def look() -> bool | None:
            written = self._written()
            outside = no_scene and written.count(DEFAULT_ANSWER) > self.outside
            return True if outside or any(_last(scene) in written for scene in scenes) else None

        self.terminal.wait_until(look, "the end of a scene in a transcript", _PATIENCE)
        self.terminal.wait_until_still()

    def _written(self) -> str:
        return "".join(path.read_text(encoding="utf-8", errors="replace") for path in self.terminal.session_files())

    def command(self, words: str) -> None:
        """A slash command whose outcome is not waited for: releases answer in many ways, on the screen or in the file."""
        self.submit(words)
        self.terminal.wait_until_still()

    def choose(self, key: str) -> None:
        """Press a key in a dialog, once it stands still: some releases take no answer in its first moments."""
        self.terminal.wait_for(_DIALOG, _PATIENCE)
        self.terminal.wait_until_still()
        self.terminal.press(key)

    def interrupt(self) -> None:
        self.terminal.press("Escape")
        self.interrupts += 1
        self.terminal.wait_until(self._interrupted, "an interrupt in a transcript", 10)
        self.terminal.wait_until_still()

    def _interrupted(self) -> bool | None:
        return True if self._written().count(_INTERRUPTED) >= self.interrupts else None

    def wait_for_file(self, path: Path) -> None:
        self.terminal.wait_until(lambda: True if path.exists() else None, "a program to run", 15)


@contextlib.contextmanager
def desk(studio: Studio, *args: str) -> Iterator[Desk]:
    """A client at its prompt; it is left as a person leaves it."""
    with studio.terminal(*args) as terminal:
        terminal.wait_until_ready()
        yield Desk(studio, terminal)
        # A client that has ended takes no keys.
        with contextlib.suppress(NotSeenError, subprocess.CalledProcessError):
            terminal.press("C-u", "C-c", "C-c")
            terminal.wait_for_exit(5)


def _last(scene: str) -> str:
    return f"Over: {scene.upper()}."


def over(scene: str) -> Say:
    """The last step of a scene."""
    return say(text(_last(scene)))


def waiting(name: str) -> Json:
    return tool("Bash", command=f"python3 wait.py {name}", description="Wait")


def terminal_talk(studio: Studio) -> None:
    """Turns, bash mode, slash commands, files and images in a prompt, pasted text, a cleared and a continued session."""
    with desk(studio, ALLOW_ALL) as at:
        with at.step("turn"):
            at.turn("one", [say(think("Hm."), text("Hello."), tool("Bash", command="echo hi", description="Hi")), over("one")])
        with at.step("bash mode"):
            at.terminal.press("!")
            at.submit("echo bang; echo oops >&2")
            at.terminal.wait_for_line("<bash-stdout>bang", 10)
        with at.step("edit"):
            notes = str(studio.project / "notes.md")
            edit = tool("Edit", file_path=notes, old_string="TODO: write", new_string="DONE: wrote")
            at.turn("edit", [say(tool("Read", file_path=notes)), say(edit), over("edit")])
        with at.step("mention"):
            at.turn("mention", [over("mention")], "Look at @dot.png and @notes.md please.")
        with at.step("pasted image"):
            at.terminal.paste(str(studio.project / "dot.png"))
            at.turn("pasted", [over("pasted")], " what is it?")
        with at.step("pasted text"):
            at.terminal.paste("line\n" * 40)
            at.turn("text", [over("text")], " and this?")
        for words in ("/cost", "/model sonnet", "/rename new-name", "/context", "/help", "/no-such-command"):
            with at.step(words):
                at.command(words)
                if re.search(r"(?i)esc to (cancel|exit|close|dismiss)|enter to|switch model", at.terminal.screen()):
                    at.terminal.press("Enter" if words.startswith("/model") else "Escape")
                    at.terminal.wait_until_still()
        with at.step("after commands"):
            at.turn("commands", [over("commands")])
        with at.step("elsewhere"):
            write_files(studio.project, {"notes.md": "# Notes\n\nchanged by another\n"})
            at.turn("elsewhere", [over("elsewhere")])
        with at.step("clear"):
            at.command("/clear")
            at.turn("cleared", [over("cleared")])
    with desk(studio, "--continue", ALLOW_ALL) as at:
        with at.step("continued"):
            at.turn("continued", [over("continued")])
        with at.step("leave"):
            at.command("/exit")


def terminal_stops(studio: Studio) -> None:
    """Interrupts in a stream, in a tool and before an answer; prompts queued meanwhile; a rewind."""
    write_files(studio.project, {"wait.py": WAITER})
    with desk(studio, *ALLOWED) as at:
        with at.step("interrupted stream"):
            at.prompt("stream", [Say([text("First part."), text("Second part."), text("Third part.")], pause=1.0)])
            at.terminal.wait_for("First part")
            at.interrupt()
        with at.step("interrupted tool"):
            second = tool("Bash", command="echo second", description="Second")
            at.prompt("tool", [say(text("Running."), waiting("never"), second), over("tool")])
            at.wait_for_file(studio.project / "never.runs")
            at.interrupt()
        with at.step("interrupted wait"):
            at.prompt("slow", [Say([text("Too late.")], delay=15)])
            at.terminal.wait_for(re.compile(r"(?i)esc to interrupt|…"))
            at.terminal.press("Escape")
            at.terminal.wait_until_still()
        with at.step("after interrupts"):
            at.turn("after", [over("after")])
        with at.step("queued in a tool"):
            at.prompt("busy", [say(waiting("go")), say(tool("Bash", command="echo two", description="Two")), over("busy")])
            at.wait_for_file(studio.project / "go.runs")
            at.prompt("queued", [over("queued")], "First in the queue.")
            at.prompt("queued-too", [over("queued-too")], "Second in the queue.")
            (studio.project / "go").touch()
            at.ended("queued-too", "busy")
        with at.step("queued in a text"):
            at.prompt("text", [Say([text(_last("text"))], delay=4)])
            at.prompt("queued-text", [over("queued-text")], "Queued in a text.")
            at.ended("queued-text")
        for scene in ("before", "rewound"):
            with at.step(scene):
                write = tool("Write", file_path=str(studio.project / f"{scene}.txt"), content="x\n")
                at.prompt(scene, [say(write), over(scene)])
                at.choose("1")
                at.ended(scene)
        with at.step("rewind"):
            at.terminal.press("Escape", "Escape")
            at.terminal.wait_for(re.compile(r"(?i)rewind|restore|jump to|previous message"), 5)
            at.terminal.press("Up", "Enter")
            at.terminal.wait_until_still()
            at.terminal.press("Enter")
            at.terminal.wait_until_still()
            at.terminal.press("C-e", "C-u", "C-a", "C-k")
            at.turn("again", [over("again")], "Once more, otherwise.")


def terminal_asks(studio: Studio) -> None:
    """Permission dialogs that are denied, allowed and answered in words; questions; plans."""
    question = {"question": "Which colour?", "header": "Colour", "multiSelect": False}
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cool"}]
    ask = tool("AskUserQuestion", questions=[{**question, "options": options}])
    with desk(studio, "--permission-mode", "default") as at:
        with at.step("denied"):
            at.prompt("denied", [say(tool("Bash", command="touch denied.txt", description="Touch")), over("denied")])
            at.terminal.wait_for(_DIALOG, _PATIENCE)
            at.terminal.wait_until_still()
            at.interrupt()
        with at.step("allowed"):
            at.prompt("allowed", [say(tool("Bash", command="touch allowed.txt", description="Touch")), over("allowed")])
            at.choose("1")
            at.ended("allowed")
        with at.step("denied in words"):
            command = tool("Bash", command="python3 code/one.py", description="Run")
            at.prompt("words", [say(command), over("words")])
            at.terminal.wait_for(_DIALOG, _PATIENCE)
            at.terminal.wait_until_still()
            refusal = re.search(r"(\d)\. No", at.terminal.screen())
            at.terminal.press(*["Down"] * (int(refusal[1]) - 1 if refusal else 2), "Tab")
            at.submit("use another name")
            at.terminal.wait_for_line("use another name", 5)
            at.terminal.wait_until_still()
        with at.step("allowed for good"):
            write = tool("Write", file_path=str(studio.project / "w.txt"), content="w\n")
            at.prompt("for-good", [say(write), over("for-good")])
            at.choose("2")
            at.ended("for-good")
        with at.step("answered"):
            at.prompt("answered", [say(ask), over("answered")])
            at.terminal.wait_for(re.compile(r"Which colour[\s\S]*Blue"), 8)
            at.terminal.press("Down", "Enter")
            at.terminal.wait_until_still()
            if "Submit answers" in at.terminal.screen():
                at.terminal.press("Enter")
            at.ended("answered")
        with at.step("not answered"):
            at.prompt("unanswered", [say(ask), over("unanswered")])
            at.terminal.wait_for(re.compile(r"Which colour[\s\S]*Blue[\s\S]*(?i:esc)"), 8)
            at.interrupt()
    with desk(studio, "--permission-mode", "plan") as at:
        for scene, key in (("rejected", "Escape"), ("approved", "1")):
            with at.step(f"plan {scene}"):
                leave = tool("ExitPlanMode", plan=f"# The plan\n1. be {scene}")
                at.prompt(scene, [_write_plan, say(leave), over(scene)])
                if key == "Escape":
                    at.terminal.wait_for(_DIALOG, _PATIENCE)
                    at.terminal.wait_until_still()
                    at.interrupt()
                else:
                    at.choose(key)
                    # Some releases carry a plan out in a session of its own, which no scene belongs to.
                    at.ended(scene, no_scene=True)


def _write_plan(body: Json) -> Say:
    """Write the plan where a release wants it: in a file that it names, or (older ones) in the call."""
    named = _PLAN_FILE.findall(json.dumps(body["messages"]))
    if named:
        return say(text("Planning."), tool("Write", file_path=named[-1], content="# The plan\n1. do it\n"))
    return say(text("Planning."), tool("Glob", pattern="*.md"))


def terminal_work(studio: Studio) -> None:
    """Shells and agents in the background, hooks, a command, a skill; compaction, by hand and because it is long."""
    furnish_project(studio.project)
    hook_settings(studio)
    write_files(studio.project, {"wait.py": WAITER})
    count = say(tool("Bash", command="wc -l notes.md", description="Count"))
    studio.scene("sub", [count, say(text("Sub over."))])
    studio.scene("sub-background", [count, say(text("Sub in the background over."))])
    with desk(studio, *ALLOWED) as at:
        with at.step("hooks"):
            calls = [say(tool("Bash", command=f"echo {word}", description="Echo")) for word in ("fine", "forbidden", "failing")]
            at.turn("hooks", [*calls, over("hooks"), say(text("Gone on."))])
            at.terminal.wait_for_line("Gone on.")
        write_files(studio.project, {"no-block": ""})
        with at.step("shell in the background"):
            shell = tool("Bash", command="python3 wait.py done", description="Background", run_in_background=True)
            at.turn("shell", [say(shell), over("shell")])
            (studio.project / "done").touch()
            at.terminal.wait_for_line("-notification>", 8)
            at.terminal.wait_until_still()
        with at.step("agent"):
            at.turn("agent", [lambda body: say(agent_call(body, "sub")), over("agent")])
        with at.step("agent in the background"):
            at.turn("launch", [lambda body: say(agent_call(body, "sub-background", background=True)), over("launch")])
            at.terminal.wait_for_line("Sub in the background over.", 10)
            at.terminal.wait_until_still()
        for command, scene in (("/greet", "greeted"), ("/demo-skill", "skilled")):
            with at.step(command):
                studio.scene(scene, [over(scene)])
                at.command(f"{command} {cue(scene)}")
                at.ended(scene)
        with at.step("skill"):
            at.turn("skill", [say(tool("Skill", skill="demo-skill", args="x", command="demo-skill")), over("skill")])
        with at.step("compact"):
            at.command("/compact keep the numbers")
            at.terminal.wait_for_line("compact_boundary", 20)
            at.terminal.wait_until_still()
        for window in (190_000, 990_000):
            with at.step(f"long at {window}"):
                full = Say([text(_last(f"full-{window}"))], usage={"cache_read_input_tokens": window})
                at.turn(f"full-{window}", [full])
                at.prompt(f"next-{window}", [over(f"next-{window}")])
                # Some releases put the new prompt into the summary too.
                at.ended(f"next-{window}", no_scene=True)


def terminal_fork(studio: Studio) -> None:
    """A sub-agent that starts with the conversation so far; releases that know no such kind say so in a result."""
    furnish_project(studio.project)
    studio.scene("forked-agent", [say(text("Fork over."))])
    with desk(studio, *ALLOWED) as at:
        with at.step("before"):
            at.turn("before", [over("before")])
        with at.step("fork"):
            at.turn("fork", [lambda body: say(agent_call(body, "forked-agent", "fork")), over("fork")])
            at.terminal.wait_until_still()


def terminal_images(studio: Studio) -> None:
    """An image that is pasted by its path while a tool runs."""
    write_files(studio.project, {"wait.py": WAITER})
    image = studio.project / "dot.png"
    image.write_bytes(PNG)
    with desk(studio, *ALLOWED) as at, at.step("queued in a tool"):
        at.prompt("busy", [say(waiting("go")), say(tool("Bash", command="echo two", description="Two")), over("busy")])
        at.wait_for_file(studio.project / "go.runs")
        at.terminal.type("What is in ")
        at.terminal.paste(str(image))
        at.submit(" then?")
        (studio.project / "go").touch()
        at.ended("busy", no_scene=True)


SCENARIOS = (
    Scenario("terminal-talk", terminal_talk),
    Scenario("terminal-stops", terminal_stops),
    Scenario("terminal-asks", terminal_asks),
    Scenario("terminal-work", terminal_work),
    Scenario("terminal-fork", terminal_fork),
    Scenario("terminal-images", terminal_images),
)
