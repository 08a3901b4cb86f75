"""What a real client sends when it resumes a session, as the counting API counts it.

In: an open studio with a counting stage, and the bytes of a session file. Out: the tokens of the first request, without the new
prompt, and without what a client says about files that it takes for changed. Knows nothing of what was edited.
"""

from __future__ import annotations

import uuid

from lab.counting import count, count_request
from lab.observatory.scenes import say, text
from lab.observatory.studio import ALLOW_ALL, Studio
from lab.terminal import NotSeenError
from stenograph.disk.projects import project_folder_name
from stenograph.testing.scripted_api import Json

_CHANGED = ("was modified, either by the user or by a linter", "changed on disk since you last read it")
#: As the scenarios in the terminal start it.
_IN_TERMINAL = ("--permission-mode", "default", "--allowedTools", "Bash Task Agent Skill Read")
_PATIENCE = 60.0


def count_resumed(
    studio: Studio, session: bytes, *, in_terminal: bool = False, environment: dict[str, str] | None = None
) -> int | None:
    """None: the client sent nothing. A client offers other tools in a terminal than in print mode."""
    name = str(uuid.uuid4())
    folder = studio.home / ".claude" / "projects" / project_folder_name(str(studio.project))
    (folder / f"{name}.jsonl").write_bytes(session)
    scene = f"resumed-{name}"
    prompt = studio.scene(scene, [say(text("Yes."))], "Go on.")
    seen = len(studio.stage.answered)
    if in_terminal:
        _resume_in_terminal(studio, name, scene, prompt, environment)
    else:
        studio.run(prompt, "--resume", name, ALLOW_ALL, timeout=_PATIENCE, environment=environment)
    (folder / f"{name}.jsonl").unlink()
    for body, _, _ in studio.stage.answered[seen:]:
        words = [block for message in body["messages"] for block in _texts(message["content"]) if scene in block]
        if body.get("tools") and words:
            return count_request(body).total() - count(words[-1]) - sum(map(count, _about_changed_files(body)))
    return None


def _resume_in_terminal(studio: Studio, name: str, scene: str, prompt: str, environment: dict[str, str] | None) -> None:
    with studio.terminal(prompt, "--resume", name, *_IN_TERMINAL, environment=environment) as terminal:
        try:
            terminal.wait_until(lambda: studio.stage.asked_for(scene) or None, "a request", _PATIENCE)
            terminal.wait_until_still()
        except NotSeenError:
            return


def _about_changed_files(body: Json) -> list[str]:
    """A file whose contents are not as they were read is taken for changed, which is said with the next prompt."""
    texts = [words for message in body["messages"] for words in _texts(message["content"])]
    notes = [words for words in texts if words.lstrip().startswith("<system-reminder>")]
    return [words for words in notes if any(change in words for change in _CHANGED)]


def _texts(content: str | list[Json]) -> list[str]:
    return [content] if isinstance(content, str) else [block["text"] for block in content if block.get("type") == "text"]
