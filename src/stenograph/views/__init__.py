"""One frozen page value per question, rendered to a terminal or encoded as JSON.

In: library values. Out: pages (`views.pages`), their lines for a terminal (`views.terminal`), their JSON and its schema. Knows
nothing of commands, pagers and options.

Names are imported when first used: who wants `stenograph.views.text` alone gets nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stenograph._exports import lazy_exports

if TYPE_CHECKING:
    from stenograph.views.encode import encode_long, encode_page, page_text
    from stenograph.views.masking import mask_page
    from stenograph.views.pages.changing import clone_page, purge_page, removal_page, removals_page, rename_page, tag_page
    from stenograph.views.pages.check import CheckPage, check_page
    from stenograph.views.pages.comparison import comparison_page
    from stenograph.views.pages.doctor import (
        CompletionPage,
        DoctorPage,
        Installation,
        ProblemPage,
        TerminalPage,
        TracingPage,
        doctor_page,
        problem,
    )
    from stenograph.views.pages.edit import EditPage, edit_page
    from stenograph.views.pages.error import ErrorPage
    from stenograph.views.pages.files import FilesPage, files_page
    from stenograph.views.pages.history import history_page
    from stenograph.views.pages.inventory import inventory_page
    from stenograph.views.pages.messages import (
        LostPage,
        MessagesPage,
        ResumePage,
        explained_page,
        lost_page,
        message_pages,
        messages_page,
        resume_page,
    )
    from stenograph.views.pages.page import Document, FindingPage, Page
    from stenograph.views.pages.record_schema import release_schema_page, schema_diff_page, schema_page
    from stenograph.views.pages.records import RecordPage, RecordsPage, record_page, records_page
    from stenograph.views.pages.search import SearchPage, search_page
    from stenograph.views.pages.secret import SecretPage
    from stenograph.views.pages.session import SessionPage, session_page, session_pieces
    from stenograph.views.pages.sessions import OverviewPage, SessionsPage, overview_page, session_row, sessions_page
    from stenograph.views.pages.summary import SummaryPage, summary_page
    from stenograph.views.pages.trace import backfill_page, settings_change_page, trace_page, trace_status_page, trace_test_page
    from stenograph.views.pages.turn_parts import turn_pages
    from stenograph.views.pages.turns import StepsPage, TurnsPage, steps_page, turns_page
    from stenograph.views.pages.undo import EditsPage, UndoPage, edits_page, originals_page, undo_page
    from stenograph.views.pages.updates import UpdatePage, UpdateReader
    from stenograph.views.pages.viewer import ViewerPage
    from stenograph.views.schema import documents, field_docs, json_schema, schema_components
    from stenograph.views.terminal.changing import (
        render_clone,
        render_edits,
        render_originals,
        render_purge,
        render_removals,
        render_rename,
        render_tag,
        render_undo,
    )
    from stenograph.views.terminal.check import render_check
    from stenograph.views.terminal.comparison import render_comparison, render_unified
    from stenograph.views.terminal.doctor import render_doctor
    from stenograph.views.terminal.edit import render_edit
    from stenograph.views.terminal.files import render_files
    from stenograph.views.terminal.history import render_history
    from stenograph.views.terminal.inventory import render_inventory
    from stenograph.views.terminal.messages import render_explained, render_lost, render_messages, render_resume
    from stenograph.views.terminal.options import RenderOptions
    from stenograph.views.terminal.record_schema import render_release_schema, render_schema, render_schema_diff
    from stenograph.views.terminal.search import render_search
    from stenograph.views.terminal.sessions import is_shown_as, left_out_lines, render_overview, render_sessions
    from stenograph.views.terminal.trace import (
        render_backfill,
        render_settings_change,
        render_settings_diff,
        render_trace,
        render_trace_status,
        render_trace_test,
    )
    from stenograph.views.terminal.transcript import render_session
    from stenograph.views.terminal.turns import render_steps, render_turns
    from stenograph.views.terminal.updates import UpdateRenderer
    from stenograph.views.text import count_of, harmless, local_time, plain, quoted, short_path

_MODULES = {
    "schema_components": "schema",
    "field_docs": "schema",
    "summary_page": "pages.summary",
    "SummaryPage": "pages.summary",
    "SecretPage": "pages.secret",
    "Page": "pages.page",
    "UpdatePage": "pages.updates",
    "UndoPage": "pages.undo",
    "EditsPage": "pages.undo",
    "EditPage": "pages.edit",
    "TurnsPage": "pages.turns",
    "StepsPage": "pages.turns",
    "SearchPage": "pages.search",
    "OverviewPage": "pages.sessions",
    "ResumePage": "pages.messages",
    "MessagesPage": "pages.messages",
    "LostPage": "pages.messages",
    "FilesPage": "pages.files",
    "CheckPage": "pages.check",
    "CompletionPage": "pages.doctor",
    "DoctorPage": "pages.doctor",
    "Document": "pages.page",
    "ErrorPage": "pages.error",
    "FindingPage": "pages.page",
    "Installation": "pages.doctor",
    "ProblemPage": "pages.doctor",
    "RenderOptions": "terminal.options",
    "SessionPage": "pages.session",
    "SessionsPage": "pages.sessions",
    "TerminalPage": "pages.doctor",
    "TracingPage": "pages.doctor",
    "UpdateReader": "pages.updates",
    "UpdateRenderer": "terminal.updates",
    "ViewerPage": "pages.viewer",
    "backfill_page": "pages.trace",
    "check_page": "pages.check",
    "clone_page": "pages.changing",
    "comparison_page": "pages.comparison",
    "count_of": "text",
    "doctor_page": "pages.doctor",
    "documents": "schema",
    "edit_page": "pages.edit",
    "edits_page": "pages.undo",
    "encode_long": "encode",
    "encode_page": "encode",
    "explained_page": "pages.messages",
    "files_page": "pages.files",
    "harmless": "text",
    "history_page": "pages.history",
    "inventory_page": "pages.inventory",
    "is_shown_as": "terminal.sessions",
    "json_schema": "schema",
    "left_out_lines": "terminal.sessions",
    "local_time": "text",
    "lost_page": "pages.messages",
    "mask_page": "masking",
    "message_pages": "pages.messages",
    "messages_page": "pages.messages",
    "originals_page": "pages.undo",
    "overview_page": "pages.sessions",
    "page_text": "encode",
    "plain": "text",
    "problem": "pages.doctor",
    "purge_page": "pages.changing",
    "quoted": "text",
    "RecordPage": "pages.records",
    "RecordsPage": "pages.records",
    "record_page": "pages.records",
    "records_page": "pages.records",
    "release_schema_page": "pages.record_schema",
    "removal_page": "pages.changing",
    "removals_page": "pages.changing",
    "rename_page": "pages.changing",
    "render_backfill": "terminal.trace",
    "render_check": "terminal.check",
    "render_clone": "terminal.changing",
    "render_comparison": "terminal.comparison",
    "render_doctor": "terminal.doctor",
    "render_edit": "terminal.edit",
    "render_edits": "terminal.changing",
    "render_explained": "terminal.messages",
    "render_files": "terminal.files",
    "render_history": "terminal.history",
    "render_inventory": "terminal.inventory",
    "render_lost": "terminal.messages",
    "render_messages": "terminal.messages",
    "render_originals": "terminal.changing",
    "render_overview": "terminal.sessions",
    "render_purge": "terminal.changing",
    "render_release_schema": "terminal.record_schema",
    "render_removals": "terminal.changing",
    "render_rename": "terminal.changing",
    "render_resume": "terminal.messages",
    "render_schema": "terminal.record_schema",
    "render_schema_diff": "terminal.record_schema",
    "render_search": "terminal.search",
    "render_session": "terminal.transcript",
    "render_sessions": "terminal.sessions",
    "render_settings_change": "terminal.trace",
    "render_settings_diff": "terminal.trace",
    "render_steps": "terminal.turns",
    "render_tag": "terminal.changing",
    "render_trace": "terminal.trace",
    "render_trace_status": "terminal.trace",
    "render_trace_test": "terminal.trace",
    "render_turns": "terminal.turns",
    "render_undo": "terminal.changing",
    "render_unified": "terminal.comparison",
    "resume_page": "pages.messages",
    "schema_diff_page": "pages.record_schema",
    "schema_page": "pages.record_schema",
    "search_page": "pages.search",
    "session_page": "pages.session",
    "session_pieces": "pages.session",
    "session_row": "pages.sessions",
    "sessions_page": "pages.sessions",
    "settings_change_page": "pages.trace",
    "short_path": "text",
    "steps_page": "pages.turns",
    "tag_page": "pages.changing",
    "trace_page": "pages.trace",
    "trace_status_page": "pages.trace",
    "trace_test_page": "pages.trace",
    "turn_pages": "pages.turn_parts",
    "turns_page": "pages.turns",
    "undo_page": "pages.undo",
}

__all__ = [
    "CheckPage",
    "CompletionPage",
    "DoctorPage",
    "Document",
    "EditPage",
    "EditsPage",
    "ErrorPage",
    "FilesPage",
    "FindingPage",
    "Installation",
    "LostPage",
    "MessagesPage",
    "OverviewPage",
    "Page",
    "ProblemPage",
    "RecordPage",
    "RecordsPage",
    "RenderOptions",
    "ResumePage",
    "SearchPage",
    "SecretPage",
    "SessionPage",
    "SessionsPage",
    "StepsPage",
    "SummaryPage",
    "TerminalPage",
    "TracingPage",
    "TurnsPage",
    "UndoPage",
    "UpdatePage",
    "UpdateReader",
    "UpdateRenderer",
    "ViewerPage",
    "backfill_page",
    "check_page",
    "clone_page",
    "comparison_page",
    "count_of",
    "doctor_page",
    "documents",
    "edit_page",
    "edits_page",
    "encode_long",
    "encode_page",
    "explained_page",
    "field_docs",
    "files_page",
    "harmless",
    "history_page",
    "inventory_page",
    "is_shown_as",
    "json_schema",
    "left_out_lines",
    "local_time",
    "lost_page",
    "mask_page",
    "message_pages",
    "messages_page",
    "originals_page",
    "overview_page",
    "page_text",
    "plain",
    "problem",
    "purge_page",
    "quoted",
    "record_page",
    "records_page",
    "release_schema_page",
    "removal_page",
    "removals_page",
    "rename_page",
    "render_backfill",
    "render_check",
    "render_clone",
    "render_comparison",
    "render_doctor",
    "render_edit",
    "render_edits",
    "render_explained",
    "render_files",
    "render_history",
    "render_inventory",
    "render_lost",
    "render_messages",
    "render_originals",
    "render_overview",
    "render_purge",
    "render_release_schema",
    "render_removals",
    "render_rename",
    "render_resume",
    "render_schema",
    "render_schema_diff",
    "render_search",
    "render_session",
    "render_sessions",
    "render_settings_change",
    "render_settings_diff",
    "render_steps",
    "render_tag",
    "render_trace",
    "render_trace_status",
    "render_trace_test",
    "render_turns",
    "render_undo",
    "render_unified",
    "resume_page",
    "schema_components",
    "schema_diff_page",
    "schema_page",
    "search_page",
    "session_page",
    "session_pieces",
    "session_row",
    "sessions_page",
    "settings_change_page",
    "short_path",
    "steps_page",
    "summary_page",
    "tag_page",
    "trace_page",
    "trace_status_page",
    "trace_test_page",
    "turn_pages",
    "turns_page",
    "undo_page",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
