"""The hand-made sessions by which the releases are told apart in which a habit changed: one a habit, as single-minded as can be.

What the clients answered is in tests/fixtures/golden-messages/boundaries.json, made by scripts/find_boundaries.py.
"""

from __future__ import annotations

#: Names of tests/messages/hard_cases.py.
CASES = (
    "parallel_calls_each_with_its_result",
    "two_branches_the_later_written_is_older",
    "last_prompt_selects_the_older_branch",
    "dangling_parent",
    "unknown_type_inside_the_chain",
    "preserved_segment",
    "ends_in_a_call",
    "ends_in_a_result",
    "one_of_two_calls_of_a_line_without_result",
    "null_line",
    "two_objects_on_one_line",
    "last_record_without_timestamp",
    "thinking_of_another_model",
    "response_of_only_thinking",
    "unknown_attachment_with_rendered_text",
    "local_command_system_lines",
    "progress_inside_the_chain",
    "ends_in_text_and_a_call_in_one_line",
    "image_in_a_prompt",
    "preserved_messages",
    "explicit_last_prompt_cuts",
    "result_without_call_after_an_answer",
    "result_without_call_first",
    "two_results_for_one_call",
    "answer_as_a_string",
    "three_prompts_in_a_row",
    "tool_named_task",
    "extra_keys_on_calls_and_results",
    "text_after_a_call_in_one_response",
    "ends_in_a_system_line_after_a_prompt",
    "ends_in_an_attachment_after_a_prompt",
    "ends_in_a_local_command",
    "whitespace_answer",
    "whitespace_text_beside_a_call",
    "whitespace_prompt",
    "empty_answer",
    "error_result_with_blocks",
    "results_of_every_form",
    "merge_does_not_reach_over_a_prompt",
    "same_call_id_in_two_responses",
    "lone_surrogate_escape",
    "call_with_an_older_input_shape",
    "lone_boundary_after_the_end",
    "no_timestamps",
    "last_model_is_old",
    "parent_cycle",
)

#: Those in which it matters which model is called: no release's default is theirs.
MODEL_CASES = ("last_model_is_old",)
