"""What the interactive scenarios made three releases do (the fixtures' README says what was typed).

Accidents of the recording are named where they show.
"""

from __future__ import annotations

from tests.turns.expected.notation import (
    Agent,
    Elsewhere,
    Played,
    Recorded,
    failed,
    interrupted,
    notified,
    ok,
    unscripted,
)

RELEASES = ("2.0.76", "2.1.45", "2.1.325")

REJECTED = failed("The user doesn't want to proceed with this tool use.")
STOPPED = failed("The user doesn't want to take this action right now. STOP")
# 2.1.325 says so where older releases say nothing.
SILENCE = {"2.0.76": ok(""), "2.1.45": ok(""), "2.1.325": ok("(Bash completed with no output)")}
PASTED = "line\n" * 30 + " and this?"


def expected(scenario: str, release: str) -> tuple[Recorded, ...]:
    """One for each session file of the scenario, in the order they were begun."""
    new = release == "2.1.325"
    match scenario:
        case "basic":
            return (_basic(release),)
        case "bangrename":
            shell, commands = "!ls; echo oops >&2", ("/rename my-new-name", "/context")
            if new:  # the model answers to shell input
                return (
                    _recorded(Played("Plain turn."), unscripted(shell, kind="bash", local=commands), Played("After rename.")),
                )
            return (_recorded(Played("Plain turn.", local=(shell, *commands)), Played("After rename.")),)
        case "interrupt":
            return (_interrupt(release),)
        case "toolint":
            results = (REJECTED, REJECTED) if new else (failed("[Request interrupted by user for tool use]"), STOPPED)
            return (_recorded(interrupted("Run long.", *results, steps=1), Played("Carry on.")),)
        case "queue":
            absorbed = ("QUEUED ALPHA please", "QUEUED BETA please")
            busy = Played("Busy with tools.", (SILENCE[release], SILENCE[release]), interjections=absorbed)
            return (_recorded(busy, Played("Pure text busy."), unscripted("QUEUED GAMMA while thinking")),)
        case "rewind":
            left = Elsewhere(1, (Played("Second Q."), Played("Third Q.")))
            return (Recorded((Played("First Q."), Played("Second Q EDITED.")), (left,)),)
        case "clear":
            return (_recorded(Played("Before clear.")), Recorded((Played("After clear."),), local_before=("/clear",)))
        case "compact":
            by_hand = Played("Q two.", local=("/compact keep the numbers",), compactions=("manual",))
            return (_recorded(Played("Q one."), by_hand, Played("Q three.")),)
        case "autocompact":
            # In 2.0.76 and 2.1.45 the summary swallowed the script: the stand-in had its own words for that.
            said = None if new else ("Scripted run",)
            last = Played("Q next.", said=said, compactions=("auto",))
            return (_recorded(Played("Q one."), Played("Q big.", input_tokens=5), last),)
        case "plan":
            return (_plan(release),)
        case "perm":
            return (_perm(release),)
        case "ask":
            answered = Played("Ask me.", (ok('"Which colour?"="Blue"'),))
            return (_recorded(answered, interrupted("Ask again.", REJECTED, steps=1)),)
        case "bg":
            return (_background(release),)
        case "hooks":
            return (_hooks(release),)
        case "stophook":
            # The hook sends the model back once: two answers to one prompt.
            return (_recorded(Played("Stop hook blocks.", hooks=frozenset({"Stop"}))),)
        case _:
            mark = "[Image #1] " if new else ""
            pasted_path = Played(f"{mark}what is it?", kind="image")
            return (_recorded(Played("Look at @dot.png"), pasted_path, Played(PASTED)),)


def _recorded(*turns: Played) -> Recorded:
    return Recorded(turns)


def _basic(release: str) -> Recorded:
    after = Played("After commands.")
    if release == "2.0.76":  # typed too fast: `!ls` went out as a prompt
        commands = ("/cost", "/model sonnet", "/rename my-new-name")
        return _recorded(Played("Plain turn."), unscripted("!ls"), Played("After bang.", local=commands), after)
    if release == "2.1.45":
        commands = ("/cost", "/model sonnet", "/rename my-new-name")
        return _recorded(Played("Plain turn.", local=("!ls",)), Played("After bang.", local=commands), after)
    # The model answers to shell input; /cost is not written down; the model dialog swallowed /rename.
    shell = unscripted("!ls", kind="bash")
    return _recorded(Played("Plain turn."), shell, Played("After bang.", local=("/model sonnet",)), after)


def _interrupt(release: str) -> Recorded:
    streaming = interrupted("Stream slowly.", steps=1, said=("First part. ",))
    tool = interrupted("Run a long tool.", REJECTED, steps=1)
    unanswered = interrupted("No byte yet.", steps=0)
    if release != "2.1.325":
        return _recorded(streaming, tool, unanswered, Played("Carry on."))
    # Not a word about the third interrupt: the next prompt just hangs off the same record.
    abandoned = Played("No byte yet.", steps=0, status="interrupted")
    return Recorded((streaming, tool, Played("Carry on.")), (Elsewhere(2, (abandoned,)),))


def _plan(release: str) -> Recorded:
    first = Played(
        "Plan it.",
        (ok("TODO: write"), REJECTED),
        status="interrupted",
        steps=2,
        interrupts=1,
        # Nobody set this hook up: it is the client's own.
        hooks=frozenset({"PostToolUse:Read"} if release == "2.1.45" else ()),
    )
    second = Played("Plan it again.", (ok("User has approved exiting plan mode."),))
    if release == "2.1.45":  # accepted a suggestion of the stand-in for the API
        return _recorded(first, second, unscripted('{"isNewTopic": true, "title": "Scripted run"}'))
    return _recorded(first, second)


def _perm(release: str) -> Recorded:
    denied = interrupted("Deny me.", REJECTED, steps=1)
    allowed = Played("Allow me.", (SILENCE[release],))
    if release == "2.0.76":  # the fourth prompt went into the third's feedback field, what was meant as feedback became a prompt
        return _recorded(denied, allowed, Played("Deny with words.", (REJECTED,)), unscripted("use another name"))
    # Refused with words: the model hears them and goes on.
    with_words = Played("Deny with tab words.", (REJECTED, SILENCE[release]))
    return _recorded(denied, allowed, interrupted("Deny with words.", REJECTED, steps=1), with_words)


def _background(release: str) -> Recorded:
    new = release == "2.1.325"
    evidence = "meta" if new else "result"
    work = (ok("subdone"),)
    shell = Played("Background shell.", (ok("Command running in background with ID"),))
    launched = ok("Async agent launched successfully.")
    behind = Agent(0, work, evidence, background=True, answer="Sub agent says FINI.")
    agent = Played("Background agent.", (launched,), agents=(behind,))
    if new:
        # `run_in_background: false` launched it in the background all the same; leaving the client broke its notice off.
        front = Played("Foreground agent.", (launched,), agents=(behind,))
        return _recorded(shell, notified(), agent, notified(), front, notified("interrupted"))
    ahead = Agent(0, work, evidence, background=False, answer="Sub agent says FINI.")
    front = Played("Foreground agent.", (ok("Sub agent says FINI."),), agents=(ahead,))
    # 2.0.76 wrote results whose parent is in no file (contract A12).
    findings = ("dangling-parent", "dangling-parent") if release == "2.0.76" else ()
    return Recorded((shell, notified(), agent, notified(), front), findings=findings)


def _hooks(release: str) -> Recorded:
    tools, prompt, before = {
        # What each release writes of the hooks that ran: about tools, about every turn, before the first.
        "2.0.76": (set(), {"Stop"}, set()),
        "2.1.45": ({"PreToolUse:Bash", "PostToolUse:Bash"}, {"Stop"}, {"SessionStart:startup"}),
        "2.1.325": ({"PostToolUse:Bash"}, {"UserPromptSubmit", "Stop"}, {"SessionStart:startup"}),
    }[release]
    always = frozenset(prompt)
    blocked = failed("PreToolUse:Bash hook error")
    with_hooks = Played("With hooks.", (ok("fine"), blocked), hooks=frozenset(tools | prompt))
    greet = Played("/greet", kind="command", hooks=always)
    # 2.0.76 lets only the model start this skill: the command is refused on the spot.
    refused = ("/demo-skill",) if release == "2.0.76" else ()
    skill = Played("Use the skill.", (ok("Launching skill: demo-skill"),), hooks=always, local=refused)
    turns: tuple[Played, ...] = (with_hooks, greet, skill)
    if release != "2.0.76":
        turns = (*turns, Played("/demo-skill", kind="command", hooks=always))
    return Recorded(turns, hooks_before=frozenset(before))
