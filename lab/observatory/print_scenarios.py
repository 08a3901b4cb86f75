"""The scenarios in print mode: each is a few starts of a client, and says nothing of what the client must write.

In: a studio. Out: sessions in its home. What a release does not know (a tool, an option) ends in a note of the studio.
"""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Sequence

from lab.observatory.project import PNG, furnish_project, write_files
from lab.observatory.scenes import (
    Fail,
    Say,
    Step,
    cue,
    found_in_results,
    redacted,
    say,
    text,
    think,
    tool,
)
from lab.observatory.schemas import smallest_value
from lab.observatory.studio import ALLOW_ALL, Scenario, Studio
from lab.observatory.tool_calls import call_steps, deferred_tools, listed_tools
from lab.observatory.web_page import WebPage
from stenograph.testing.scripted_api import Json

#: Documented switches for tools that some releases do not list by themselves.
MORE_TOOLS = {
    "CLAUDE_CODE_ENABLE_TASKS": "1",
    "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1",
    "ENABLE_LSP_TOOL": "1",
    "ENABLE_TOOL_SEARCH": "false",
}


def agent_call(body: Json, scene: str, kind: str = "general-purpose", background: bool = False) -> Json:
    """A call of the tool that starts a sub-agent, by the name a release has for it; in front where that can be chosen."""
    listed = listed_tools(body)
    name = "Agent" if "Agent" in listed else "Task"
    given: Json = {"description": "Helper", "prompt": cue(scene), "subagent_type": kind}
    if "run_in_background" in listed.get(name, {}).get("properties", {}):
        given["run_in_background"] = background
    return {"type": "tool_use", "name": name, "input": given}


def plain(studio: Studio) -> None:
    """Plain turns; then the session resumed, forked and continued."""
    first = studio.run(
        studio.scene("plain", [say(think("Simple enough."), text("Plain answer."))], "Hello."),
        "--dangerously-skip-permissions",
    )
    session = str(first.get("session_id", ""))
    calls = [say(text("Looking."), tool("Bash", command="echo again", description="Again")), say(text("Done."))]
    studio.run(studio.scene("resumed", calls, "Once more."), "--resume", session, ALLOW_ALL)
    studio.run(studio.scene("forked", calls, "Elsewhere."), "--resume", session, "--fork-session", ALLOW_ALL)
    studio.run(studio.scene("continued", calls, "Still here."), "--continue", ALLOW_ALL)
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()}}
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "A document."}}
    with studio.talk(ALLOW_ALL, "--replay-user-messages") as talk:
        with studio.step("list content"):
            talk.tell([{"type": "text", "text": studio.scene("listed", [say(text("Seen."))])}, image])
        with studio.step("document"):
            talk.tell([{"type": "text", "text": studio.scene("document", [say(text("Read."))])}, document])
        with studio.step("redacted thinking"):
            talk.tell(studio.scene("redacted", [say(redacted(), think("Openly."), text("Thought."))]))
        with studio.step("mention"):
            talk.tell(studio.scene("mention", [say(text("Looked."))], "Look at @notes.md and @dot.png and @code please."))
        for command in ("/cost", "/context", "/no-such-command", "/model sonnet", "/init " + cue("listed")):
            with studio.step(command.partition(" ")[0]):
                talk.tell(command, timeout=10)


def tools(studio: Studio) -> None:
    """Every tool a release lists, with success and failure; then those it lists when asked to."""
    played: set[str] = set()

    def scene(body: Json) -> Sequence[Step]:
        names = {*listed_tools(body), *deferred_tools(body)} - played
        steps = call_steps(body, studio.project, names)
        if not played:
            steps += [
                say(think("Two at once."), text("Both."), *(tool("Bash", command=f"echo {n}", description="Echo") for n in "ab")),
                say(tool("Bash", command="exit 1", description="Fail"), tool("Bash", command="echo ok", description="Echo")),
                say(tool("NoSuchTool", x=1)),
                say(tool("Bash", description="No command")),
                say(tool("Read", file_path=[1])),
            ]
        played.update(names)
        return [*steps, say(text("All done."))]

    furnish_project(studio.project)
    studio.run(studio.scene("tools", scene, "Try every tool."), ALLOW_ALL, timeout=90)
    studio.run(studio.scene("more-tools", scene, "Try the others."), ALLOW_ALL, timeout=60, environment=MORE_TOOLS)


def deferred(studio: Studio) -> None:
    """Tools that are only named until they are searched for, where a release has that and an address of ours turns it off."""

    def scene(body: Json) -> Sequence[Step]:
        if "ToolSearch" not in listed_tools(body):
            return [say(text("Nothing is deferred."))]
        keyword = say(tool("ToolSearch", query="notebook", max_results=2))
        missing = say(tool("ToolSearch", query="select:NoSuchTool", max_results=2))
        return [keyword, missing, *call_steps(body, studio.project, ["WebFetch"]), say(text("Searched."))]

    studio.run(studio.scene("deferred", scene, "Search."), ALLOW_ALL, environment={"ENABLE_TOOL_SEARCH": "true"})


def fetch(studio: Studio) -> None:
    """A page that is there, one that is not, and one that has moved to another host."""
    with WebPage(studio.home) as page:
        trusted = {"NODE_EXTRA_CA_CERTS": str(page.certificate)}

        def scene(body: Json) -> Sequence[Step]:
            search = (
                [say(tool("ToolSearch", query="select:WebFetch", max_results=2))] if "ToolSearch" in listed_tools(body) else []
            )
            calls = [
                say(tool("WebFetch", url=f"{page.url}/{name}", prompt="What is it?")) for name in ("", "missing", "elsewhere")
            ]
            return [*search, *calls, say(text("Fetched."))]

        studio.run(studio.scene("fetch", scene, "Fetch it."), ALLOW_ALL, environment=trusted)


def pull_request(studio: Studio) -> None:
    """A command that looks as if it opened a pull request: clients go by its words and by the address that it prints."""
    command = "echo https://github.com/user/project/pull/7 # gh pr create"
    calls = [say(tool("Bash", command=command, description="Open a pull request")), say(text("Opened."))]
    studio.run(studio.scene("pull-request", calls, "Open a pull request."), ALLOW_ALL)


def modes(studio: Studio) -> None:
    """Tools that change how a session goes on: plan mode, questions, worktrees, wake-ups, workflows."""
    question = {"question": "Which colour?", "header": "Colour", "multiSelect": False}
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cool"}]
    workflow = "export const meta = {name: 'one', description: 'One', phases: [{title: 'Only'}]}\nreturn await agent('Do it.')"
    inputs: dict[str, list[Json]] = {
        "AskUserQuestion": [{"questions": [{**question, "options": options}]}],
        "EnterPlanMode": [{}],
        "ExitPlanMode": [{"plan": "# The plan\n1. do it"}],
        "EnterWorktree": [{"name": "side"}],
        "ExitWorktree": [{"action": "keep"}],
        "ScheduleWakeup": [{"stop": True}],
        "Workflow": [{"script": workflow}],
    }

    def scene(body: Json) -> Sequence[Step]:
        names = {*listed_tools(body), *deferred_tools(body)}
        steps: list[Step] = []
        if "ToolSearch" in names:
            wanted = ",".join(name for name in inputs if name in names)
            steps.append(say(tool("ToolSearch", query=f"select:{wanted}", max_results=9)))
        for name, calls in inputs.items():
            if name in names:
                steps += [say({"type": "tool_use", "name": name, "input": call}) for call in calls]
        return [*steps, say(text("Modes over."))]

    studio.run(studio.scene("modes", scene, "Change the mode."), ALLOW_ALL, timeout=40)
    write = [say(tool("Write", file_path=str(studio.project / "w.txt"), content="w\n")), say(text("Planned."))]
    studio.run(studio.scene("plan", write, "Plan it."), "--permission-mode", "plan", timeout=30)


def agents(studio: Studio) -> None:
    """Sub-agents: in front, two at once, failing, nested, in the background, spoken to again."""
    furnish_project(studio.project)
    look = say(think("I look."), tool("Read", file_path=str(studio.project / "notes.md")))
    count = say(tool("Bash", command="wc -l notes.md", description="Count"))
    studio.scene("sub", [look, count, say(text("Counted."))])
    studio.scene("sub-quick", [say(text("Quick."))])
    studio.scene("sub-fails", [Fail(400, "invalid_request_error", say(text("No.")), times=99)])
    studio.scene("sub-background", [count, say(text("Background over."))])

    call = agent_call
    studio.stage.add("sub-nests", [lambda body: say(call(body, "sub-quick")), say(text("Nested."))])

    def after_background(_: Json) -> Say:
        studio.stage.wait_for_end("sub-background")
        return say(tool("Bash", command="true", description="Wait"))

    def look_up(body: Json) -> Say:
        agent = found_in_results(body, r"agentId: (\w+)", "none")[-1]
        listed = listed_tools(body)
        if "SendMessage" in listed or "SendMessage" in deferred_tools(body):
            return say(tool("SendMessage", to=agent, message=cue("sub-quick"), summary="More"))
        if "AgentOutputTool" in listed:
            return say(tool("AgentOutputTool", agentId=agent, block=True))
        if "TaskOutput" in listed:
            return say(tool("TaskOutput", task_id=agent, block=True, timeout=5000))
        return say(text("Nothing to look up."), tool("Bash", command="true", description="Nothing"))

    def scene(body: Json) -> Sequence[Step]:
        search: list[Step] = [say(tool("ToolSearch", query="select:SendMessage", max_results=3))]
        return [
            *(search if "ToolSearch" in listed_tools(body) else []),
            lambda body: say(text("One."), call(body, "sub")),
            lambda body: say(call(body, "sub-quick"), call(body, "sub-quick", "helper")),
            lambda body: say(call(body, "sub-quick", "no-such-agent")),
            lambda body: say(call(body, "sub-fails")),
            lambda body: say(call(body, "sub-nests")),
            lambda body: say(call(body, "sub-background", background=True)),
            after_background,
            look_up,
            say(text("Agents over.")),
        ]

    with studio.talk(ALLOW_ALL) as talk:
        with studio.step("agents"):
            talk.tell(studio.scene("agents", scene, "Use helpers."), timeout=60)
        with studio.step("after agents"):
            talk.tell(studio.scene("after-agents", [say(text("Still there."))]))


def errors(studio: Studio) -> None:
    """Failures of the API that pass, failures that stay, and every reason to stop."""
    passing = {
        "overloaded": Fail(529, "overloaded_error", say(text("Through."))),
        "limited": Fail(429, "rate_limit_error", say(text("Through."))),
        "broken": Fail(500, "api_error", say(text("Through."))),
    }
    lasting = {
        "refused": Fail(400, "invalid_request_error", say(), times=99),
        "too-long": Fail(400, "invalid_request_error", say(), 99, "prompt is too long: 210000 tokens > 200000 maximum"),
        "too-large": Fail(413, "request_too_large", say(), times=99),
        "unknown-model": Fail(404, "not_found_error", say(), times=99),
        "key": Fail(401, "authentication_error", say(), times=99),
        "forbidden": Fail(403, "permission_error", say(), times=99),
        "down": Fail(500, "api_error", say(), times=99),
    }
    words = [text("A part of it.")]
    odd = {
        "max-tokens": Say(words, stop_reason="max_tokens"),
        "refusal": Say(words, stop_reason="refusal"),
        "window": Say(words, stop_reason="model_context_window_exceeded"),
        "sequence": Say(words, stop_reason="stop_sequence"),
        "mid-stream": Say([text("Half a"), text("word")], overloaded_after=4),
        "empty": Say([]),
    }
    with studio.talk(ALLOW_ALL, environment={"CLAUDE_CODE_MAX_RETRIES": "2"}) as talk:
        scenes: dict[str, Say | Fail] = {**passing, **odd, **lasting}
        for name, step in scenes.items():
            with studio.step(name):
                talk.tell(studio.scene(name, [step, say(text("After it."))]), timeout=20)
        with studio.step("pause"):
            paused: list[Step] = [Say([text("Paused.")], stop_reason="pause_turn"), say(text("Resumed."))]
            talk.tell(studio.scene("pause", paused))
        with studio.step("model"):
            call = tool("Bash", command="true", description="Nothing")
            talk.tell(studio.scene("cut-call", [Say([text("Calling."), call], stop_reason="max_tokens"), say(text("Over."))]))


HOOK = """
import json, pathlib, sys
event, asked = sys.argv[1], json.load(sys.stdin)
words = json.dumps(asked)
def out(**more): print(json.dumps({"hookSpecificOutput": {"hookEventName": event, **more}}))
if event == "PreToolUse" and "forbidden" in words:
    sys.stderr.write("blocked"); sys.exit(2)
elif event == "PreToolUse" and "denied" in words:
    out(permissionDecision="deny", permissionDecisionReason="denied")
elif event == "PreToolUse" and "failing" in words:
    sys.stderr.write("failing"); sys.exit(1)
elif event == "PostToolUse" and "silent" not in words:
    out(additionalContext="post-context")
elif event == "UserPromptSubmit" and "stopped-prompt" in words:
    print(json.dumps({"decision": "block", "reason": "stopped"}))
elif event in ("UserPromptSubmit", "SessionStart") and "systematic" in words:
    print(json.dumps({"systemMessage": "hook-message", "suppressOutput": True}))
elif event in ("UserPromptSubmit", "SessionStart"):
    print("context-of-" + event)
elif event == "Stop" and not asked.get("stop_hook_active") and not pathlib.Path(__file__).with_name("no-block").exists():
    sys.stderr.write("go-on"); sys.exit(2)
elif event == "Stop" and "halt" in words:
    print(json.dumps({"continue": False, "stopReason": "halted"}))
"""
HOOK_EVENTS: tuple[str, ...] = (
    *("PreToolUse", "PostToolUse", "Notification", "UserPromptSubmit", "SessionStart", "SessionEnd", "Stop"),
    *("SubagentStop", "PreCompact"),
)
#: A release that does not know a hook's event may throw all settings away, so these are for those that do.
LATER_HOOK_EVENTS = ("SubagentStart", "PermissionRequest", "PostToolUseFailure", "PostCompact", "TaskCompleted", "ConfigChange")


def hook_settings(studio: Studio) -> None:
    """Write a hook for every event, and the settings that name them."""
    write_files(studio.project, {"hook.py": HOOK})
    known = HOOK_EVENTS + (LATER_HOOK_EVENTS if studio.version >= (2, 1, 91) else ())
    program = studio.project / "hook.py"
    hooks = {
        event: [{"matcher": "*", "hooks": [{"type": "command", "command": f"python3 {program} {event}"}]}] for event in known
    }
    studio.settings(hooks=hooks)


def hooks(studio: Studio) -> None:
    """Hooks that add context, block, deny, fail, and make a turn go on."""
    hook_settings(studio)
    studio.scene("sub", [say(text("Helped."))])

    def helper(body: Json) -> Say:
        return say(agent_call(body, "sub"))

    shell = [say(tool("Bash", command=f"echo {word}", description="Echo")) for word in ("fine", "forbidden", "denied", "failing")]
    failed = say(tool("Bash", command="exit 4 # silent", description="Fail"))
    with studio.talk(ALLOW_ALL) as talk:
        with studio.step("hooks"):
            talk.tell(studio.scene("hooks", [*shell, failed, helper, say(text("One.")), say(text("Two."))]), timeout=40)
        with studio.step("blocked prompt"):
            talk.tell(studio.scene("blocked", [say(text("Never."))], "This is a stopped-prompt."), timeout=10)
        with studio.step("system message"):
            talk.tell(studio.scene("systematic", [say(text("Told."))], "This is systematic."), timeout=15)
        with studio.step("compact"):
            talk.tell("/compact", timeout=20)


STOPPING_HOOK = """
import json, sys
event, asked = sys.argv[1], json.load(sys.stdin)
if "stop-at-" + event + "." in json.dumps(asked):
    print(json.dumps({"continue": False, "stopReason": "enough"}))
"""


def stopped(studio: Studio) -> None:
    """Hooks that end a turn: before and after a call, where it would end, and in a sub-agent."""
    write_files(studio.project, {"hook.py": STOPPING_HOOK})
    program = studio.project / "hook.py"
    events = ("PreToolUse", "PostToolUse", "Stop", "SubagentStop")
    studio.settings(
        hooks={event: [{"hooks": [{"type": "command", "command": f"python3 {program} {event}"}]}] for event in events}
    )
    studio.scene("sub", [say(text("stop-at-SubagentStop."))])

    def helper(body: Json) -> Say:
        return say(agent_call(body, "sub"))

    scenes: dict[str, Sequence[Step]] = {
        **{
            event: [say(tool("Bash", command=f"echo stop-at-{event}.", description="Stop")), say(text("Never."))]
            for event in events[:2]
        },
        "Stop": [say(text("stop-at-Stop."))],
        "SubagentStop": [helper, say(text("Over."))],
    }
    with studio.talk(ALLOW_ALL) as talk:
        for event, steps in scenes.items():
            with studio.step(event):
                talk.tell(studio.scene(event, steps), timeout=20)


def servers(studio: Studio) -> None:
    """Tools of an MCP server that are listed whole, which an address of ours decides otherwise."""
    furnish_project(studio.project)
    steps = [say(tool("mcp__probe__echo", words="hello")), say(text("Echoed."))]
    config = str(studio.project / "mcp.json")
    listed = {"ENABLE_TOOL_SEARCH": "false"}
    studio.run(studio.scene("servers", steps, "Echo."), ALLOW_ALL, "--mcp-config", config, environment=listed)


def permissions(studio: Studio) -> None:
    """Calls that nobody allows, a rule denies, or a program that asks is told no and yes."""
    touch = say(tool("Bash", command="touch touched.txt", description="Touch"))
    write = say(tool("Write", file_path=str(studio.project / "w.txt"), content="w\n"))
    fetch = say(tool("WebFetch", url="https://example.com/", prompt="What?"))
    read = say(tool("Read", file_path=str(studio.project / "secret.txt")))
    write_files(studio.project, {"secret.txt": "secret\n"})
    studio.settings(permissions={"deny": ["Read(./secret.txt)", "WebFetch"]})
    studio.run(studio.scene("denied", [touch, write, fetch, read, say(text("Denied."))]), "--permission-mode", "default")
    asked = [touch, write, touch, say(text("Asked."))]
    with studio.talk("--permission-mode", "default", "--permission-prompt-tool", "stdio") as talk, studio.step("asked"):
        prompt = studio.scene("asked", asked)
        talk.send({"type": "user", "message": {"role": "user", "content": prompt}})
        answers: list[Json] = [
            {"behavior": "deny", "message": "not now"},
            {"behavior": "allow", "updatedInput": {"file_path": str(studio.project / "w2.txt"), "content": "w2\n"}},
            {"behavior": "deny", "message": "stop here", "interrupt": True},
        ]
        for answer in answers:
            request = talk.wait_for("control_request", 15)
            reply = {"subtype": "success", "request_id": request["request_id"], "response": answer}
            talk.send({"type": "control_response", "response": reply})
        talk.wait_for("result", 15)


def furnished(studio: Studio) -> None:
    """Memory files, a skill, a command, an agent of the project, and an MCP server."""
    furnish_project(studio.project)
    steps = [
        say(tool("Read", file_path=str(studio.project / "code" / "one.py"))),
        say(tool("mcp__probe__echo", words="hello")),
        say(tool("mcp__probe__echo")),
        say(tool("mcp__probe__image")),
        say(tool("ListMcpResourcesTool")),
        say(tool("ReadMcpResourceTool", server="probe", uri="probe://one")),
        say(tool("Skill", skill="demo-skill", args="x", command="demo-skill")),
        say(text("Furnished.")),
    ]

    def scene(body: Json) -> Sequence[Step]:
        names = deferred_tools(body)
        found = say(
            tool("ToolSearch", query="select:" + ",".join(["mcp__probe__echo", "mcp__probe__image", *names]), max_results=20)
        )
        return [*([found] if "ToolSearch" in listed_tools(body) else []), *steps]

    with studio.talk(ALLOW_ALL, "--mcp-config", str(studio.project / "mcp.json")) as talk:
        with studio.step("furnished"):
            talk.tell(studio.scene("furnished", scene, "Look around."))
        studio.scene("greeted", [say(text("Greeted."))])
        for command in (f"/greet {cue('greeted')}", f"/demo-skill {cue('greeted')}"):
            with studio.step(command.partition(" ")[0]):
                studio.stage.spoken.add(command)
                talk.tell(command, timeout=15)
        with studio.step("edited elsewhere"):
            write_files(studio.project, {"code/one.py": "def one():\n    return 3\n"})
            talk.tell(studio.scene("edited", [say(text("Noticed."))]))


def compaction(studio: Studio) -> None:
    """A conversation that is summarised because it is long, and once more by hand."""
    with studio.talk(ALLOW_ALL) as talk:
        with studio.step("begin"):
            calls = [say(tool("Read", file_path=str(studio.project / "notes.md"))), say(text("Read."))]
            talk.tell(studio.scene("begin", calls))
        for window in (190_000, 990_000):
            with studio.step(f"automatic at {window}"):
                full = Say([text("Full.")], usage={"cache_read_input_tokens": window})
                talk.tell(studio.scene(f"full-{window}", [full]))
                talk.tell(studio.scene(f"next-{window}", [say(text("Next."))]), timeout=30)
        with studio.step("by hand"):
            talk.tell("/compact keep the numbers", timeout=30)
        with studio.step("after"):
            talk.tell(studio.scene("after", calls))
    studio.run(studio.scene("continued", [say(text("Gone on."))]), "--continue", ALLOW_ALL)


def structured(studio: Studio) -> None:
    """An answer in a form that a JSON Schema gives, where a release has that."""
    schema = {
        "type": "object",
        "properties": {"colour": {"type": "string"}},
        "required": ["colour"],
        "additionalProperties": False,
    }

    def scene(body: Json) -> Sequence[Step]:
        own = listed_tools(body).get("StructuredOutput")
        if own is None:
            return [say(text(json.dumps({"colour": "red"})))]
        wrong = say(tool("StructuredOutput", shade=1))
        right = say({"type": "tool_use", "name": "StructuredOutput", "input": smallest_value(own)})
        return [wrong, right, say(text("Structured."))]

    studio.run(studio.scene("structured", scene, "Name a colour."), "--json-schema", json.dumps(schema), ALLOW_ALL, timeout=20)


def bare(studio: Studio) -> None:
    """Turns in a folder that is no git repository and holds nothing that a client looks for."""
    for path in studio.project.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    calls = [say(text("Looking."), tool("Bash", command="pwd", description="Where")), say(text("Done."))]
    studio.run(studio.scene("bare", calls, "Where are we?"), ALLOW_ALL)
    studio.run(studio.scene("bare-again", [say(text("Still here."))], "And now?"), "--continue", ALLOW_ALL)


SCENARIOS = (
    Scenario("plain", plain),
    Scenario("tools", tools),
    Scenario("deferred", deferred),
    Scenario("fetch", fetch),
    Scenario("pull-request", pull_request),
    Scenario("modes", modes),
    Scenario("agents", agents),
    Scenario("errors", errors),
    Scenario("hooks", hooks),
    Scenario("stopped", stopped),
    Scenario("servers", servers),
    Scenario("permissions", permissions),
    Scenario("furnished", furnished),
    Scenario("compaction", compaction),
    Scenario("structured", structured),
    Scenario("bare", bare),
)
