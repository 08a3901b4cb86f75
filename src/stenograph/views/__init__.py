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
    from stenograph.views.exporting import StepsExport, export_text
    from stenograph.views.markdown import render_markdown
    from stenograph.views.masking import mask_page
    from stenograph.views.pages.archive import (
        ArchiveInstallPage,
        ArchivePage,
        archive_page,
        expiring_page,
        hook_page,
        keep_page,
        timer_page,
    )
    from stenograph.views.pages.blame import blame_page
    from stenograph.views.pages.changing import (
        PurgePage,
        RemovalsPage,
        clone_page,
        purge_page,
        removal_page,
        removals_page,
        rename_page,
        tag_page,
    )
    from stenograph.views.pages.check import CheckPage, ResumabilityPage, check_page
    from stenograph.views.pages.comparison import comparison_page
    from stenograph.views.pages.doctor import (
        CompletionPage,
        DemoCopyPage,
        DoctorPage,
        Installation,
        ProblemPage,
        TerminalPage,
        TracingPage,
        doctor_page,
        problem,
    )
    from stenograph.views.pages.edit import EditPage, edit_page, edit_state
    from stenograph.views.pages.error import ErrorPage
    from stenograph.views.pages.export import ExportPage
    from stenograph.views.pages.files import FilesPage, files_page
    from stenograph.views.pages.history import history_page
    from stenograph.views.pages.home import Drawn, HomeQuery, LivePage, ViewerHomePage, home_page, tape_letters
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
    from stenograph.views.pages.page import Document, FileSizePage, FindingPage, Page
    from stenograph.views.pages.picker import PickerPage, picker_page, preview_page
    from stenograph.views.pages.record_schema import release_schema_page, schema_diff_page, schema_page
    from stenograph.views.pages.records import RecordPage, RecordsPage, record_page, records_page
    from stenograph.views.pages.restore import restore_page
    from stenograph.views.pages.search import SearchPage, search_page
    from stenograph.views.pages.secret import SecretPage
    from stenograph.views.pages.session import Piece, SessionPage, opened_pieces, session_page, session_pieces
    from stenograph.views.pages.sessions import (
        OVERVIEW_ROWS,
        OverviewPage,
        SessionsPage,
        overview_page,
        session_row,
        sessions_page,
    )
    from stenograph.views.pages.stats import StatsPage, WastePage, stats_page, waste_page
    from stenograph.views.pages.summary import SummaryPage, summary_page
    from stenograph.views.pages.timeline import TimelinePage
    from stenograph.views.pages.timeline_tools import tool_step
    from stenograph.views.pages.timeline_turns import Timeline, find_step, timeline_preview
    from stenograph.views.pages.trace import backfill_page, settings_change_page, trace_page, trace_status_page, trace_test_page
    from stenograph.views.pages.transcript import (
        Body,
        Checklist,
        Fact,
        NotePart,
        Output,
        Patch,
        PromptPart,
        TextPart,
        ToolPart,
        TurnPage,
    )
    from stenograph.views.pages.turn_parts import turn_pages
    from stenograph.views.pages.turns import StepsPage, TurnsPage, steps_page, turns_page
    from stenograph.views.pages.undo import EditsPage, UndoPage, edits_page, originals_page, undo_page, undo_plan_page
    from stenograph.views.pages.updates import UpdatePage, UpdateReader
    from stenograph.views.pages.usage import ReconciliationPage, UsagePage, reconciliation_page, usage_page
    from stenograph.views.pages.viewer import ViewerPage
    from stenograph.views.schema import documents, field_docs, json_schema, schema_components
    from stenograph.views.terminal.archive import (
        render_archive,
        render_archive_install,
        render_expiring,
        render_keep,
        render_restore,
    )
    from stenograph.views.terminal.blame import render_blame
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
    from stenograph.views.terminal.doctor import render_demo_copy, render_doctor, render_report
    from stenograph.views.terminal.edit import render_edit, render_edit_result
    from stenograph.views.terminal.export import render_exported
    from stenograph.views.terminal.files import render_files
    from stenograph.views.terminal.history import render_history
    from stenograph.views.terminal.inventory import render_inventory
    from stenograph.views.terminal.markdown import markdown_lines
    from stenograph.views.terminal.messages import render_explained, render_lost, render_messages, render_resume
    from stenograph.views.terminal.options import BAD, CARE, COMMAND, GOOD, OTHER, PROSE, QUIET, TOOL, YOU, RenderOptions
    from stenograph.views.terminal.picker import render_choices, render_count, render_picker
    from stenograph.views.terminal.record_schema import render_release_schema, render_schema, render_schema_diff
    from stenograph.views.terminal.search import render_search
    from stenograph.views.terminal.sessions import is_shown_as, left_out_lines, render_overview, render_sessions
    from stenograph.views.terminal.stats import PART_NAMES, list_turns, list_waste, render_stats, render_waste
    from stenograph.views.terminal.statusline import status_line
    from stenograph.views.terminal.trace import (
        render_backfill,
        render_settings_change,
        render_settings_diff,
        render_trace,
        render_trace_status,
        render_trace_test,
    )
    from stenograph.views.terminal.transcript import render_part, render_session
    from stenograph.views.terminal.turns import render_steps, render_turns
    from stenograph.views.terminal.updates import UpdateRenderer
    from stenograph.views.terminal.usage import render_reconciliation, render_usage, usage_csv
    from stenograph.views.text import (
        count_of,
        cut,
        dollars,
        duration,
        fine_money,
        harmless,
        local_time,
        money,
        one_line,
        plain,
        quoted,
        short_model,
        short_path,
        table,
        thousands,
        when,
        width,
        will_delete,
        wrap,
    )
    from stenograph.views.tools import ToolFacts, tool_part, tool_title

_MODULES = {
    "encode": "encode_long encode_page page_text",
    "exporting": "StepsExport export_text",
    "markdown": "render_markdown",
    "masking": "mask_page",
    "pages.archive": "ArchiveInstallPage ArchivePage archive_page expiring_page hook_page keep_page timer_page",
    "pages.changing": "PurgePage RemovalsPage clone_page purge_page removal_page removals_page rename_page tag_page",
    "pages.check": "CheckPage ResumabilityPage check_page",
    "pages.comparison": "comparison_page",
    "pages.doctor": (
        "CompletionPage DemoCopyPage DoctorPage Installation ProblemPage TerminalPage TracingPage doctor_page problem"
    ),
    "pages.edit": "EditPage edit_page edit_state",
    "pages.error": "ErrorPage",
    "pages.export": "ExportPage",
    "pages.files": "FilesPage files_page",
    "pages.history": "history_page",
    "pages.blame": "blame_page",
    "pages.home": "Drawn HomeQuery LivePage ViewerHomePage home_page tape_letters",
    "pages.inventory": "inventory_page",
    "pages.messages": "LostPage MessagesPage ResumePage explained_page lost_page message_pages messages_page resume_page",
    "pages.page": "Document FileSizePage FindingPage Page",
    "pages.picker": "PickerPage picker_page preview_page",
    "pages.record_schema": "release_schema_page schema_diff_page schema_page",
    "pages.records": "RecordPage RecordsPage record_page records_page",
    "pages.restore": "restore_page",
    "pages.search": "SearchPage search_page",
    "pages.secret": "SecretPage",
    "pages.session": "Piece SessionPage opened_pieces session_page session_pieces",
    "pages.sessions": "OVERVIEW_ROWS OverviewPage SessionsPage overview_page session_row sessions_page",
    "pages.stats": "StatsPage WastePage stats_page waste_page",
    "pages.summary": "SummaryPage summary_page",
    "pages.timeline": "TimelinePage",
    "pages.timeline_tools": "tool_step",
    "pages.timeline_turns": "Timeline find_step timeline_preview",
    "pages.trace": "backfill_page settings_change_page trace_page trace_status_page trace_test_page",
    "pages.transcript": "Body Checklist Fact NotePart Output Patch PromptPart TextPart ToolPart TurnPage",
    "pages.turn_parts": "turn_pages",
    "pages.turns": "StepsPage TurnsPage steps_page turns_page",
    "pages.undo": "EditsPage UndoPage edits_page originals_page undo_page undo_plan_page",
    "pages.updates": "UpdatePage UpdateReader",
    "pages.usage": "ReconciliationPage UsagePage reconciliation_page usage_page",
    "pages.viewer": "ViewerPage",
    "schema": "documents field_docs json_schema schema_components",
    "terminal.archive": "render_archive render_archive_install render_expiring render_keep render_restore",
    "terminal.changing": (
        "render_clone render_edits render_originals render_purge render_removals render_rename render_tag render_undo"
    ),
    "terminal.check": "render_check",
    "terminal.comparison": "render_comparison render_unified",
    "terminal.doctor": "render_demo_copy render_doctor render_report",
    "terminal.edit": "render_edit render_edit_result",
    "terminal.export": "render_exported",
    "terminal.files": "render_files",
    "terminal.history": "render_history",
    "terminal.blame": "render_blame",
    "terminal.inventory": "render_inventory",
    "terminal.markdown": "markdown_lines",
    "terminal.messages": "render_explained render_lost render_messages render_resume",
    "terminal.options": "BAD CARE COMMAND GOOD OTHER PROSE QUIET TOOL YOU RenderOptions",
    "terminal.picker": "render_choices render_count render_picker",
    "terminal.record_schema": "render_release_schema render_schema render_schema_diff",
    "terminal.search": "render_search",
    "terminal.sessions": "is_shown_as left_out_lines render_overview render_sessions",
    "terminal.stats": "PART_NAMES list_turns list_waste render_stats render_waste",
    "terminal.trace": (
        "render_backfill render_settings_change render_settings_diff render_trace render_trace_status render_trace_test"
    ),
    "terminal.transcript": "render_part render_session",
    "terminal.turns": "render_steps render_turns",
    "terminal.updates": "UpdateRenderer",
    "terminal.statusline": "status_line",
    "terminal.usage": "render_reconciliation render_usage usage_csv",
    "text": (
        "count_of cut dollars duration fine_money harmless local_time money one_line plain quoted short_model short_path"
        " table thousands when width will_delete wrap"
    ),
    "tools": "ToolFacts tool_part tool_title",
}

__all__ = [
    "BAD",
    "CARE",
    "COMMAND",
    "GOOD",
    "OTHER",
    "OVERVIEW_ROWS",
    "PART_NAMES",
    "PROSE",
    "QUIET",
    "TOOL",
    "YOU",
    "ArchiveInstallPage",
    "ArchivePage",
    "Body",
    "CheckPage",
    "Checklist",
    "CompletionPage",
    "DemoCopyPage",
    "DoctorPage",
    "Document",
    "Drawn",
    "EditPage",
    "EditsPage",
    "ErrorPage",
    "ExportPage",
    "Fact",
    "FileSizePage",
    "FilesPage",
    "FindingPage",
    "HomeQuery",
    "Installation",
    "LivePage",
    "LostPage",
    "MessagesPage",
    "NotePart",
    "Output",
    "OverviewPage",
    "Page",
    "Patch",
    "PickerPage",
    "Piece",
    "ProblemPage",
    "PromptPart",
    "PurgePage",
    "ReconciliationPage",
    "RecordPage",
    "RecordsPage",
    "RemovalsPage",
    "RenderOptions",
    "ResumabilityPage",
    "ResumePage",
    "SearchPage",
    "SecretPage",
    "SessionPage",
    "SessionsPage",
    "StatsPage",
    "StepsExport",
    "StepsPage",
    "SummaryPage",
    "TerminalPage",
    "TextPart",
    "Timeline",
    "TimelinePage",
    "ToolFacts",
    "ToolPart",
    "TracingPage",
    "TurnPage",
    "TurnsPage",
    "UndoPage",
    "UpdatePage",
    "UpdateReader",
    "UpdateRenderer",
    "UsagePage",
    "ViewerHomePage",
    "ViewerPage",
    "WastePage",
    "archive_page",
    "backfill_page",
    "blame_page",
    "check_page",
    "clone_page",
    "comparison_page",
    "count_of",
    "cut",
    "doctor_page",
    "documents",
    "dollars",
    "duration",
    "edit_page",
    "edit_state",
    "edits_page",
    "encode_long",
    "encode_page",
    "expiring_page",
    "explained_page",
    "export_text",
    "field_docs",
    "files_page",
    "find_step",
    "fine_money",
    "harmless",
    "history_page",
    "home_page",
    "hook_page",
    "inventory_page",
    "is_shown_as",
    "json_schema",
    "keep_page",
    "left_out_lines",
    "list_turns",
    "list_waste",
    "local_time",
    "lost_page",
    "markdown_lines",
    "mask_page",
    "message_pages",
    "messages_page",
    "money",
    "one_line",
    "opened_pieces",
    "originals_page",
    "overview_page",
    "page_text",
    "picker_page",
    "plain",
    "preview_page",
    "problem",
    "purge_page",
    "quoted",
    "reconciliation_page",
    "record_page",
    "records_page",
    "release_schema_page",
    "removal_page",
    "removals_page",
    "rename_page",
    "render_archive",
    "render_archive_install",
    "render_backfill",
    "render_blame",
    "render_check",
    "render_choices",
    "render_clone",
    "render_comparison",
    "render_count",
    "render_demo_copy",
    "render_doctor",
    "render_edit",
    "render_edit_result",
    "render_edits",
    "render_expiring",
    "render_explained",
    "render_exported",
    "render_files",
    "render_history",
    "render_inventory",
    "render_keep",
    "render_lost",
    "render_markdown",
    "render_messages",
    "render_originals",
    "render_overview",
    "render_part",
    "render_picker",
    "render_purge",
    "render_reconciliation",
    "render_release_schema",
    "render_removals",
    "render_rename",
    "render_report",
    "render_restore",
    "render_resume",
    "render_schema",
    "render_schema_diff",
    "render_search",
    "render_session",
    "render_sessions",
    "render_settings_change",
    "render_settings_diff",
    "render_stats",
    "render_steps",
    "render_tag",
    "render_trace",
    "render_trace_status",
    "render_trace_test",
    "render_turns",
    "render_undo",
    "render_unified",
    "render_usage",
    "render_waste",
    "restore_page",
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
    "short_model",
    "short_path",
    "stats_page",
    "status_line",
    "steps_page",
    "summary_page",
    "table",
    "tag_page",
    "tape_letters",
    "thousands",
    "timeline_preview",
    "timer_page",
    "tool_part",
    "tool_step",
    "tool_title",
    "trace_page",
    "trace_status_page",
    "trace_test_page",
    "turn_pages",
    "turns_page",
    "undo_page",
    "undo_plan_page",
    "usage_csv",
    "usage_page",
    "waste_page",
    "when",
    "width",
    "will_delete",
    "wrap",
]

__getattr__, __dir__ = lazy_exports(__name__, _MODULES, __all__)
