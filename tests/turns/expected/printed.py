"""What the print-mode scenarios made ten releases do (the fixtures' README says what was played)."""

from __future__ import annotations

from tests.turns.expected.notation import Agent, Gave, Played, Recorded, failed, notified, ok

SCENARIOS = ("tools", "fork", "subagents-Task", "subagents-Agent", "errors", "badrequest")
RELEASES = ("1.0.128", "2.0.36", "2.0.42", "2.0.50", "2.0.76", "2.1.29", "2.1.45", "2.1.112", "2.1.200", "2.1.325")

NO_RESPONSE = "No response requested."


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


def expected(scenario: str, release: str) -> Recorded:
    match scenario:
        case "tools":
            return Recorded((_tidy(release), _once_more(then_compacted=True, release=release), _after_compaction()))
        case "fork":
            return Recorded((_tidy(release, forked=True), _once_more(), _once_more()))
        case "errors":
            # Only 2.1.325 writes a line about the 529 that it met.
            retries = 1 if release == "2.1.325" else 0
            silence = "(Bash completed with no output)" if _numbers(release) >= (2, 1, 112) else ""
            return Recorded((Played("Try the flaky thing.", (ok(silence),), retries=retries),))
        case "badrequest":
            return Recorded((Played("Ask for the impossible.", status="failed", steps=0, api_errors=1),))
        case _:
            return _helpers(scenario.removeprefix("subagents-"), release)


def _tidy(release: str, *, forked: bool = False) -> Played:
    numbers = _numbers(release)
    todo_fails = numbers >= (2, 1, 200)
    # Forks of 2.1.29 and 2.1.45 copy one line of ancestors: parallel calls and texts beside it are left behind (rule 30).
    lossy = forked and release in ("2.1.29", "2.1.45")
    results = {
        "Bash ls": ok("notes.md"),
        "Glob": failed("No such tool available: Glob") if todo_fails else ok("notes.md"),
        "Read notes": ok("TODO: write"),
        "Grep": failed("No such tool available: Grep") if todo_fails else ok("TODO: more"),
        "TodoWrite": failed("No such tool available: TodoWrite") if todo_fails else ok("Todos have been modified successfully."),
        "Edit": ok("has been updated"),
        "Write": ok("File created successfully at: /home/user/rec-"),
        "Bash exit 3": failed("err" if numbers < (2, 0, 36) else "Exit code 3"),
        "Read missing": failed("File does not exist."),
        "Read dot.png": ok(""),
        "NoSuchTool": failed("No such tool available: NoSuchTool"),
        # From 2.1.29 on the whole output is in a file beside the session.
        "Bash seq": ok("<persisted-output>" if numbers >= (2, 1, 29) else "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"),
        "TodoWrite again": failed("No such tool available: TodoWrite")
        if todo_fails
        else ok("Todos have been modified successfully."),
    }
    lost = ("Glob", "Read notes", "And done.") if lossy else ()
    return Played("Please tidy the notes.", tuple(gave for name, gave in results.items() if name not in lost), lost=lost)


def _once_more(*, then_compacted: bool = False, release: str = "") -> Played:
    if not then_compacted:
        return Played("And once more.", (ok("DONE: wrote"),))
    # The next process finds a session that ends in a command's output and closes it with words of its own, but not in 2.1.325.
    made_up = () if release == "2.1.325" else (NO_RESPONSE,)
    return Played("And once more.", (ok("DONE: wrote"),), local=("/compact",), compactions=("manual",), made_up=made_up)


def _after_compaction() -> Played:
    return Played("After compaction.", (ok("/home/user/rec-"),))


def _helpers(tool: str, release: str) -> Recorded:
    numbers = _numbers(release)
    words = "Explore with helpers."
    if tool == "Agent" and numbers < (2, 1, 112):
        return Recorded((Played(words, (failed("No such tool available: Agent"),) * 2),))
    counted = (ok("DONE: wrote"), ok("4 notes.md"))
    listed: tuple[Gave, ...] = (failed("No such tool available: Glob") if numbers >= (2, 1, 200) else ok("notes.md"),)
    evidence = "prompt" if release == "1.0.128" else "meta" if numbers >= (2, 1, 200) else "result"
    background = numbers >= (2, 1, 200)
    agents = (
        Agent(0, counted, evidence, background, answer="The notes have a few lines."),
        Agent(1, listed, evidence, background, answer="Second agent finished."),
    )
    if not background:
        results = (ok("The notes have a few lines."), ok("Second agent finished."))
        return Recorded((Played(words, results, agents=agents),))
    # Agents run by themselves, and each tells of its end.
    turn = Played(words, (ok("Async agent launched successfully."),) * 2, agents=agents)
    return Recorded((turn, notified(), notified()))
