"""What a real client sends when it resumes a session, as the counting API counts it.

In: an open studio with a counting stage, and the bytes of a session file. Out: the tokens of the first request, without the new
prompt, and without what a client says about files that it takes for changed. Knows nothing of what was edited.
"""

from __future__ import annotations

import uuid

from lab.counting import count, count_request
from lab.observatory.scenes import say, text
from lab.observatory.studio import ALLOW_ALL, Studio
from stenograph.disk.projects import project_folder_name
from stenograph.testing.scripted_api import Json

_CHANGED = "was modified, either by the user or by a linter"


def count_resumed(studio: Studio, session: bytes) -> int | None:
    """None: the client sent nothing."""
    name = str(uuid.uuid4())
    folder = studio.home / ".claude" / "projects" / project_folder_name(str(studio.project))
    (folder / f"{name}.jsonl").write_bytes(session)
    scene = f"resumed-{name}"
    prompt = studio.scene(scene, [say(text("Yes."))], "Go on.")
    seen = len(studio.stage.answered)
    studio.run(prompt, "--resume", name, ALLOW_ALL, timeout=90)
    (folder / f"{name}.jsonl").unlink()
    for body, _, _ in studio.stage.answered[seen:]:
        words = [block for message in body["messages"] for block in _texts(message["content"]) if scene in block]
        if body.get("tools") and words:
            return count_request(body).total() - count(words[-1]) - sum(map(count, _about_changed_files(body)))
    return None


def _about_changed_files(body: Json) -> list[str]:
    """Older releases take a file for changed whose contents are not as they were read, and say so with the next prompt."""
    texts = [words for message in body["messages"] for words in _texts(message["content"])]
    return [words for words in texts if _CHANGED in words and words.lstrip().startswith("<system-reminder>")]


def _texts(content: str | list[Json]) -> list[str]:
    return [content] if isinstance(content, str) else [block["text"] for block in content if block.get("type") == "text"]
