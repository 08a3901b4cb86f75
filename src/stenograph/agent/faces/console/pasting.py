"""Large pastes and images stand in the input as a short mark; what they stand for goes along when the prompt is sent."""

from __future__ import annotations

import re
from pathlib import Path

#: Of a paste; more is folded.
_LINES, _CHARACTERS = 5, 800
_MARK = re.compile(r"\[(Pasted text|Image) #(\d+)[^\]]*\]")
IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}


class Pastes:
    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self.images: dict[int, Path] = {}
        self._count = 0

    def insert(self, text: str, cwd: Path) -> str:
        """What stands in the input for a pasted text."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if (image := image_at(text, cwd)) is not None:
            return self.image(image)
        lines = text.count("\n")
        if lines < _LINES and len(text) < _CHARACTERS:
            return text
        self._count += 1
        self._texts[self._count] = text
        more = f" +{lines:,} lines" if lines else f" +{len(text):,} characters"
        return f"[Pasted text #{self._count}{more}]"

    def image(self, path: Path) -> str:
        self._count += 1
        self.images[self._count] = path
        return f"[Image #{self._count}]"

    def whole(self, text: str) -> str:
        """The text with every folded paste in its place."""

        def unfold(found: re.Match[str]) -> str:
            return self._texts.get(int(found[2]), found[0]) if found[1] == "Pasted text" else found[0]

        return _MARK.sub(unfold, text)

    def images_in(self, text: str) -> list[Path]:
        found = (self.images.get(int(mark[2])) for mark in _MARK.finditer(text) if mark[1] == "Image")
        return [path for path in found if path is not None]


def image_at(text: str, cwd: Path) -> Path | None:
    """The image that a pasted or dropped path names."""
    name = text.strip().strip("'\"").replace("\\ ", " ").removeprefix("file://")
    if not name or "\n" in name or len(name) > 1000 or Path(name).suffix.lower() not in IMAGES:
        return None
    path = Path(name).expanduser()
    path = path if path.is_absolute() else cwd / path
    try:
        return path if path.is_file() else None
    except OSError:
        return None
