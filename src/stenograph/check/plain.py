"""Whether the graph of a file can have anything odd about it, told from its lines as they go by.

Most files have unique uuids, parents that stand above, a last line that is the newest, and a last-prompt on the way to it. Of
these the graph would find nothing, so it needs not be built: this look costs an eighth of that. It only ever decides whether
to look closer; what is found is the graph's to say.
"""

from __future__ import annotations

from typing import Any

_KINDS = frozenset({"user", "assistant", "system", "attachment", "progress"})
#: As clients write times: `2026-01-02T03:04:05.678Z`, which sort as text.
_TIME_LENGTH = 24


def _is_chained(kind: object) -> bool:
    return kind.__class__ is str and kind in _KINDS


class PlainWatch:
    def __init__(self) -> None:
        self._parents: dict[str, str | None] = {}
        self._newest = ""
        self._last: str | None = None
        self._last_is_newest = True
        self._last_prompt: str | None = None
        self._is_odd = False

    def add(self, record: dict[str, Any]) -> None:
        uuid = record.get("uuid")
        if uuid is None:
            if record.get("type") == "last-prompt":
                named = record.get("leafUuid")
                self._last_prompt = named if named.__class__ is str else self._last_prompt
            elif "parentUuid" in record or _is_chained(record.get("type")):
                self._is_odd = True
            return
        parent = record.get("parentUuid")
        is_linked = parent is None or (parent.__class__ is str and parent in self._parents)
        if uuid.__class__ is not str or uuid in self._parents or not is_linked:
            self._is_odd = True
            return
        self._parents[uuid] = parent
        kind = record.get("type")
        if not _is_chained(kind):
            self._is_odd = True
        elif kind != "progress" and not record.get("isSidechain"):
            time = record.get("timestamp")
            if time.__class__ is not str or len(time) != _TIME_LENGTH:
                self._is_odd = True
                return
            self._last = uuid
            self._last_is_newest = time > self._newest
            if self._last_is_newest:
                self._newest = time

    @property
    def is_plain(self) -> bool:
        return not self._is_odd and self._last_is_newest and self._is_on_the_way()

    def _is_on_the_way(self) -> bool:
        """Whether the line that the last-prompt names is an ancestor of the last one."""
        if self._last_prompt is None:
            return True
        node = self._last
        while node is not None and node != self._last_prompt:
            node = self._parents[node]
        return node is not None
