"""What was typed -> what is sent: a text, or blocks where images go along."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from stenograph.agent.faces.console.mention_rules import MentionRules, mentioned
from stenograph.agent.tools.media import LONGEST_BASE64, SUFFIXES, media_type
from stenograph.errors import UsageError

Content: TypeAlias = str | list[dict[str, Any]]


def content_of(text: str, images: Sequence[Path], cwd: Path, rules: MentionRules) -> Content:
    """Images come before the text, as 2.1.325 sends them. Raises UsageError for one that can't be sent.

    A mentioned one that may not be read stays text: `Mentions` says so. Pasted ones the person has sent already.
    """
    named = [path for _, path in mentioned(text, cwd) if _is_image(path) and not rules.objection(path)]
    paths = [*images, *(path for path in named if path not in images)]
    return [*(_image(path) for path in paths), {"type": "text", "text": text}] if paths else text


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and path.is_file()


def _image(path: Path) -> dict[str, Any]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path.name}: {error.strerror}") from error
    kind = media_type(data)
    if kind is None:
        raise UsageError(f"{path.name} is not an image that the endpoint accepts")
    encoded = base64.b64encode(data).decode()
    if len(encoded) > LONGEST_BASE64:
        raise UsageError(f"{path.name} is too large to be sent")
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": encoded}}
