"""The hooks of settings, run at the points where the engine asks.

What they get, what their answers mean, and what is recorded and sent because of them is as 2.1.325 does it; `tests/agent/hooks`
runs both. Hooks of one event run at the same time, equal commands once; their answers count in the order in which they end, and
the strictest wins.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

import msgspec
from msgspec import Struct

from stenograph.agent.engine.asides import Aside
from stenograph.agent.engine.calls import Call, CallResult
from stenograph.agent.engine.hooks import HookOutcome
from stenograph.agent.engine.options import Compat
from stenograph.agent.hooks.running import BLOCKS, HookRun, run_hook
from stenograph.agent.permissions.live_policy import Behavior, LivePolicy
from stenograph.agent.recording.places import agent_path
from stenograph.agent.tools.base import Workspace
from stenograph.client_settings import HookCommand, Scope
from stenograph.records import Json

_NAMES_OF_ONE = ({"Agent", "Task"}, {"TaskStop", "KillShell", "KillBash"})
#: Seconds.
_CALLBACK_TIMEOUT = 60.0
#: (callback, input, tool use) -> what it answers.
CallHook: TypeAlias = Callable[[str, Json, str | None], Awaitable[Json]]
#: The stricter the later.
_STRICTNESS = (Behavior.ALLOW, Behavior.ASK, Behavior.DENY)


class HookCallbacks(Struct, frozen=True):
    """As SDKs send them."""

    hookCallbackIds: list[str] = []  # noqa: N815 - the protocol's own spelling
    matcher: str | None = None
    #: Seconds.
    timeout: float | None = None


class HookSetting(Struct, kw_only=True):
    """Where hooks run."""

    session_id: str
    #: The session's file.
    path: Path
    workspace: Workspace
    policy: LivePolicy
    #: Without the endpoint's keys.
    environ: Mapping[str, str]
    #: Type names of subagents, by agent id.
    types_by_agent: Mapping[str, str] = {}
    compat: Compat = Compat.NEWEST


class ClientHooks:
    def __init__(self, hooks: Sequence[HookCommand], setting: HookSetting) -> None:
        self._hooks = list(hooks)
        #: Callback ids by the name that their hooks have here.
        self._callbacks: dict[str, str] = {}
        self._call: CallHook | None = None
        self._setting = setting
        #: Of the turn under way.
        self.prompt_id = ""

    def add_callbacks(self, wanted: Mapping[str, list[HookCallbacks]], call: CallHook) -> None:
        """Hooks of the process that started us, by event."""
        self._call = call
        for event, groups in wanted.items():
            for group in groups:
                seconds = group.timeout if group.timeout and group.timeout > 0 else _CALLBACK_TIMEOUT
                for callback in group.hookCallbackIds:
                    name = f"callback {callback}"
                    self._callbacks[name] = callback
                    self._hooks.append(HookCommand(event, group.matcher or "", name, seconds, Scope.FLAG))

    async def _run_callback(self, hook: HookCommand, asked: Json) -> HookRun:
        assert self._call is not None
        try:
            async with asyncio.timeout(hook.timeout):
                answer = await self._call(self._callbacks[hook.command], asked, asked.get("tool_use_id"))
        except TimeoutError:
            return HookRun(hook=hook, exit_code=-1, has_timed_out=True)
        except Exception as error:  # noqa: BLE001 - whatever went wrong there, the turn goes on, as after a failed command
            return HookRun(hook=hook, exit_code=1, stderr=str(error))
        return HookRun(hook=hook, answer=answer)

    async def before_tool(self, call: Call, agent_id: str | None) -> HookOutcome:
        given = {"tool_name": call.name, "tool_input": call.given, "tool_use_id": call.id}
        runs = await self._run("PreToolUse", call.name, given, agent_id)
        said = _Joining("PreToolUse", f"PreToolUse:{call.name}", call.id, joins_context=True)
        for run in runs:
            said.take(run)
            special = run.special("PreToolUse")
            if isinstance(changed := special.get("updatedInput"), dict):
                said.updated_input = changed
            decision = {"approve": "allow", "block": "deny"}.get(run.member("decision")) or special.get("permissionDecision")
            reason = str(special.get("permissionDecisionReason") or run.member("reason"))
            if run.exit_code == BLOCKS:
                said.rule(Behavior.DENY, f"PreToolUse:{call.name} hook error: {run.objection}")
            elif decision == "deny":
                said.rule(Behavior.DENY, f"PreToolUse:{call.name} hook error: {reason}")
            elif decision in ("allow", "ask"):
                said.rule(Behavior(decision), reason)
        return said.outcome()

    async def after_tool(self, result: CallResult, agent_id: str | None) -> HookOutcome:
        call = result.call
        given = {
            "tool_name": call.name,
            "tool_input": call.given,
            "tool_response": result.structured,
            "tool_use_id": call.id,
            "duration_ms": result.duration_ms,
        }
        runs = await self._run("PostToolUse", call.name, given, agent_id)
        said = _Joining("PostToolUse", f"PostToolUse:{call.name}", call.id)
        for run in runs:
            said.take(run)
            if (objection := _objection(run)) is not None:
                said.protest(run, objection)
        return said.outcome()

    async def on_prompt(self, prompt: str) -> HookOutcome:
        runs = await self._run("UserPromptSubmit", "", {"prompt": prompt})
        said = _Joining("UserPromptSubmit", "UserPromptSubmit", f"hook-{uuid4()}")
        for run in runs:
            said.take(run, shows_text=True, records_answers=False)
            if (objection := _objection(run)) is not None:
                said.block(f"UserPromptSubmit operation blocked by hook:\n{objection}\n\nOriginal prompt: {prompt}")
        return said.outcome()

    async def on_stop(self, text: str, *, is_continued: bool, agent_id: str | None) -> HookOutcome:
        event = "Stop" if agent_id is None else "SubagentStop"
        given: Json = {"stop_hook_active": is_continued}
        if agent_id is not None:
            given["agent_transcript_path"] = str(agent_path(self._setting.path, agent_id, self._setting.compat))
        given["last_assistant_message"] = text
        kind = self._setting.types_by_agent.get(agent_id, "") if agent_id else ""
        runs = await self._run(event, kind, given, agent_id)
        said = _Joining(event, event, str(uuid4()))
        errors: list[str] = []
        for run in runs:
            said.take(run)
            if (objection := _objection(run)) is not None:
                said.block(objection)
                said.add_words(f"Stop hook feedback:\n{objection}")
                errors.append(objection)
                if run.exit_code != BLOCKS:
                    said.protest(run, objection)
        if not runs:
            return said.outcome()
        infos = [
            {"command": run.hook.command} | ({} if _objection(run) is not None else {"durationMs": run.duration_ms})
            for run in sorted(runs, key=lambda run: self._hooks.index(run.hook))
        ]
        summary: Json = {
            "hookCount": len(runs),
            "hookInfos": infos,
            "hookErrors": errors,
            "hookAdditionalContext": said.context,
            "preventedContinuation": said.stop_reason is not None,
            "stopReason": said.stop_reason or "",
            "hasOutput": any(run.stdout or run.stderr for run in runs),
            "level": "suggestion",
            "toolUseID": said.tool_use_id,
        }
        return said.outcome(summary)

    async def on_session_start(self, source: str) -> HookOutcome:
        runs = await self._run("SessionStart", source, {"source": source})
        said = _Joining("SessionStart", f"SessionStart:{source}", str(uuid4()), joins_context=True, context_name="SessionStart")
        for run in runs:
            said.take(run, shows_text=True, blocks=False)
        return said.outcome()

    async def on_session_end(self, reason: str) -> HookOutcome:
        await self._run("SessionEnd", reason, {"reason": reason})
        return HookOutcome()

    async def before_compaction(self, trigger: str, instructions: str) -> HookOutcome:
        runs = await self._run("PreCompact", trigger, {"trigger": trigger, "custom_instructions": instructions or None})
        words: list[str] = []
        for run in runs:
            if _objection(run) is not None:
                reason = run.stderr if run.exit_code == BLOCKS else run.member("reason")
                return HookOutcome(is_blocked=True, reason=f"[{run.hook.command}]: {reason}")
            if run.exit_code == 0 and run.answer is None and run.stdout.strip():
                words.append(run.stdout.strip())
        return HookOutcome(context=words)

    async def on_notification(self, message: str, kind: str) -> HookOutcome:
        await self._run("Notification", kind, {"message": message, "notification_type": kind})
        return HookOutcome()

    async def _run(self, event: str, subject: str, given: Json, agent_id: str | None = None) -> list[HookRun]:
        found = [hook for hook in self._hooks if hook.event == event and _matches(hook.matcher, subject)]
        hooks = list({hook.command: hook for hook in reversed(found)}.values())[::-1]
        if not hooks:
            return []
        setting = self._setting
        asked: Json = {"session_id": setting.session_id, "transcript_path": str(setting.path), "cwd": str(setting.workspace.cwd)}
        if self.prompt_id:
            asked["prompt_id"] = self.prompt_id
        if event not in ("SessionStart", "SessionEnd", "PreCompact", "Notification"):
            asked["permission_mode"] = setting.policy.mode.value
        if agent_id is not None:
            asked |= {"agent_id": agent_id, "agent_type": setting.types_by_agent.get(agent_id, "")}
        asked |= {"hook_event_name": event, **given}
        data = msgspec.json.encode(asked) + b"\n"
        cwd = setting.workspace.cwd if setting.workspace.cwd.is_dir() else setting.workspace.project
        environ = {**setting.environ, "CLAUDE_PROJECT_DIR": str(setting.workspace.project)}
        runs = (
            self._run_callback(hook, asked) if hook.command in self._callbacks else run_hook(hook, data, cwd=cwd, environ=environ)
            for hook in hooks
        )
        ended: list[asyncio.Task[HookRun]] = []
        tasks = [asyncio.create_task(run) for run in runs]
        for task in tasks:
            task.add_done_callback(ended.append)
        await asyncio.gather(*tasks)
        return [task.result() for task in ended]


def _matches(matcher: str, subject: str) -> bool:
    """The whole name, by a regular expression (2.1.325)."""
    if matcher in ("", "*") or not subject:
        return True
    names = {subject}.union(*(names for names in _NAMES_OF_ONE if subject in names))
    try:
        pattern = re.compile(matcher)
    except re.error:
        return matcher in names
    return any(pattern.fullmatch(name) for name in names)


def _objection(run: HookRun) -> str | None:
    if run.exit_code == BLOCKS:
        return run.objection
    return run.member("reason") if run.member("decision") == "block" else None


class _Joining:
    """The answers of all hooks of one event."""

    def __init__(self, event: str, name: str, tool_use_id: str, *, joins_context: bool = False, context_name: str = "") -> None:
        """`joins_context`: what all hooks say to the model is one text, at the end."""
        self.tool_use_id = tool_use_id
        self.updated_input: Json | None = None
        self.context: list[str] = []
        self.stop_reason: str | None = None
        self._event, self._name = event, name
        self._joins_context = joins_context
        #: The start of a session has a name of its own there (2.1.325).
        self._context_name = context_name or name
        self._context_id = context_name or tool_use_id
        self._behavior: Behavior | None = None
        self._reason = ""
        self._is_blocked = False
        self._before: list[Aside] = []
        self._notices: list[str] = []

    def take(self, run: HookRun, *, shows_text: bool = False, blocks: bool = True, records_answers: bool = True) -> None:
        """What every event does with an answer. `shows_text`: what is not JSON goes to the model."""
        if run.has_timed_out:
            timeout = round(run.hook.timeout * 1000)
            self._add("hook_cancelled", command=run.hook.command, durationMs=run.duration_ms, timedOut=True, timeoutMs=timeout)
            self._notices.append(f"a {self._event} hook was ended after {run.hook.timeout:g} s")
            return
        if run.exit_code == BLOCKS and blocks:
            return
        facts: Json = {
            "stdout": run.stdout,
            "exitCode": run.exit_code,
            "command": run.hook.command,
            "durationMs": run.duration_ms,
        }
        if run.exit_code:
            words = run.objection if run.exit_code == BLOCKS else f"Failed with non-blocking status code: {run.stderr}"
            self._add("hook_non_blocking_error", stderr=words, **facts)
            self._notices.append(f"a {self._event} hook failed (exit code {run.exit_code})")
            return
        answer = run.answer or {}
        is_denied = run.member("decision") == "block" or run.special(self._event).get("permissionDecision") == "deny"
        if answer.get("continue") is False:
            self.stop_reason = run.member("stopReason")
            if self._event in ("Stop", "SubagentStop"):
                self._before.append(self._stop("Stop", "Stop"))
            is_denied = is_denied or self._event == "PostToolUse"
        if not is_denied and run.stdout.strip() and (run.answer is None or records_answers):
            content = "" if run.answer is not None else run.stdout.strip()
            text = f"{self._name} hook success: {content}" if shows_text and content else ""
            self._add("hook_success", text=text, content=content, stderr=run.stderr, **facts)
        if message := run.member("systemMessage"):
            self._add("hook_system_message", content=message)
            self._notices.append(f"{self._name} says: {message}")
        if isinstance(more := run.special(self._event).get("additionalContext"), str) and more:
            self.context.append(more)
            if not self._joins_context:
                self._before.append(self._said([more]))

    def add_words(self, text: str) -> None:
        """Of the user's side, in a line of their own."""
        self._before.append(Aside(text=text))

    def rule(self, behavior: Behavior, reason: str) -> None:
        if self._behavior is None or _STRICTNESS.index(behavior) >= _STRICTNESS.index(self._behavior):
            self._behavior, self._reason = behavior, reason

    def block(self, reason: str) -> None:
        self._is_blocked = True
        self._reason = self._reason or reason

    def protest(self, run: HookRun, objection: str) -> None:
        text = f'{self._name} hook blocking error from command: "{run.hook.command}": {objection}'
        error = {"blockingError": objection, "command": run.hook.command}
        self._add("hook_blocking_error", text=text, blockingError=error)

    def outcome(self, summary: Json | None = None) -> HookOutcome:
        asides = list(self._before)
        if self.context and self._joins_context:
            asides.append(self._said(self.context))
        behind: list[Aside] = []
        if self.stop_reason is not None and self._event in ("PreToolUse", "PostToolUse"):
            (behind if self._event == "PreToolUse" else asides).append(self._stop(self._name, self._event))
        return HookOutcome(
            behavior=self._behavior,
            reason=self._reason,
            updated_input=self.updated_input,
            is_blocked=self._is_blocked,
            stop_reason=self.stop_reason,
            notices=self._notices,
            asides=asides,
            asides_behind=behind,
            has_context=bool(self.context),
            summary=summary or {},
        )

    def _stop(self, name: str, event: str) -> Aside:
        text = f"{name} hook stopped continuation: {self.stop_reason}"
        return self._aside("hook_stopped_continuation", text, {"message": self.stop_reason, "hookName": name, "hookEvent": event})

    def _said(self, texts: list[str]) -> Aside:
        # A prompt's hooks have an id each (2.1.325).
        own_id = f"hook-{uuid4()}" if self._event == "UserPromptSubmit" else self._context_id
        joined = "\n".join(texts)
        return self._aside(
            "hook_additional_context",
            f"{self._context_name} hook additional context: {joined}",
            {"content": texts, "hookName": self._context_name, "toolUseID": own_id},
        )

    def _add(self, kind: str, text: str = "", **members: object) -> None:
        self._before.append(self._aside(kind, text, members))

    def _aside(self, kind: str, text: str, members: Json) -> Aside:
        named = {"hookName": self._name, "toolUseID": self.tool_use_id, "hookEvent": self._event}
        attachment = {"type": kind, **named, **members}
        return Aside(text=f"<system-reminder>\n{text}\n</system-reminder>" if text else "", attachment=attachment)
