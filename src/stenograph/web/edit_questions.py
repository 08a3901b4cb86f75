"""What changes a session, and what shows a secret. Without `--allow-edits` edits are planned and refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stenograph.views import SecretPage, mask_page
from stenograph.web.errors import RequestError
from stenograph.web.parameters import EditBody, NoQuery, RevealBody, UndoBody
from stenograph.web.shelf import Shelf

if TYPE_CHECKING:
    from stenograph.archive import Archive
    from stenograph.views import EditPage, EditsPage, UndoPage

EDITS_ARE_OFF = "the viewer was started without --allow-edits"


class EditQuestions(Shelf):
    def reveal(self, body: RevealBody) -> SecretPage:
        """Raises RequestError."""
        secret = self.masker.secret_of(body.placeholder)
        if secret is None:
            raise RequestError(404, "secret-not-found", "this secret was not shown since the viewer started; reload the page")
        return SecretPage(body.placeholder, secret)

    def edits(self, session_id: str, _: NoQuery) -> EditsPage:
        """Raises SessionNotFoundError."""
        from stenograph.archive import find_edits
        from stenograph.views import edits_page

        archive = self._archive()
        found = find_edits(archive, str(self.file(session_id).path), self.homes, only_homes=True)
        return mask_page(edits_page(archive, found), self.masker.mask)

    def edit(self, session_id: str, body: EditBody) -> EditPage:
        """Raises SessionNotFoundError, UsageError, DiskError, RequestError."""
        from stenograph.surgery import attempt, make_plan, refuse_idle_selectors
        from stenograph.views import edit_page, edit_state

        archive = self._archive(writes=body.apply)
        path = self._own_path(session_id)
        refuse_idle_selectors(body.edits)
        plan = make_plan(path, body.edits, prune=body.prune)
        if body.apply and body.state is not None and body.state != edit_state(plan):
            raise RequestError(409, "session-changed", "the session changed after the plan was made; nothing was written")
        attempted = attempt(plan, archive, is_applied=body.apply, active_seconds=self.config.active_seconds)
        self.answers.clear()
        refusal = None if self._can_edit else EDITS_ARE_OFF
        return mask_page(edit_page(plan, attempted, self.command, previewing=True, refusal=refusal), self.masker.mask)

    def undo(self, session_id: str, body: UndoBody) -> UndoPage:
        """Raises SessionNotFoundError, UsageError, DiskError, RequestError."""
        from stenograph.archive import find_edits, undo_edit
        from stenograph.views import undo_page

        archive = self._archive(writes=True)
        found = find_edits(archive, str(self._own_path(session_id)), self.homes, only_homes=True)
        if body.entry is not None and all(edit.number != body.entry for edit in found):
            raise RequestError(404, "edit-not-found", "the session has no edit with this number")
        undone = undo_edit(archive, found, body.entry, active_seconds=self.config.active_seconds)
        self.answers.clear()
        if undone is None:
            raise RequestError(404, "edit-not-found", "the session has no edit to undo")
        return mask_page(undo_page(undone, self.command), self.masker.mask)

    def is_editable(self, session_id: str) -> bool:
        """Whether its page offers edits. Raises SessionNotFoundError."""
        try:
            self._own_path(session_id)
        except RequestError:
            return False
        return self._can_edit

    def _own_path(self, session_id: str) -> Path:
        """The file of a session, to be written. Raises SessionNotFoundError, RequestError."""
        path = self.file(session_id).path
        if not self.boundary.contains(path):
            command = self.command("restore", session_id)
            raise RequestError(409, "archived", f"only the archive has this session; restore it first: {command}")
        if path.is_symlink():
            raise RequestError(409, "linked", "this session's file is a link; edit the session that it leads to")
        return path

    def _archive(self, *, writes: bool = False) -> Archive:
        from stenograph.archive import Archive

        if writes and not self._can_edit:
            raise RequestError(403, "read-only", EDITS_ARE_OFF)
        return Archive(self._archive_folder)
