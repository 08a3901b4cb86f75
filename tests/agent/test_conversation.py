"""The messages of a conversation, as lines become messages: against what a resume of the same lines sends."""

from __future__ import annotations

from stenograph.agent.engine.conversation import Conversation, blocks_of, text_block


def result(use: str) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": use, "content": "done"}


def test_neighbours_of_the_user_are_one_message_with_results_first_and_a_newline_between_texts() -> None:
    # Rule 29, as 2.1.325 sends it.
    conversation = Conversation()
    conversation.add_user([text_block("one")])
    conversation.add_user([text_block("two")])
    conversation.add_user([result("toolu_1")])
    (message,) = conversation.messages
    assert message == {"role": "user", "content": [result("toolu_1"), text_block("one\n"), text_block("two")]}


def test_a_response_of_thinking_alone_is_not_sent_back() -> None:
    # Rule 32.
    conversation = Conversation()
    conversation.add_user([text_block("one")])
    conversation.add_answer([{"type": "thinking", "thinking": "hm", "signature": "s"}])
    conversation.add_user([text_block("two")])
    assert [message["role"] for message in conversation.messages] == ["user"]


def test_thinking_beside_words_is_sent_back_with_its_signature() -> None:
    conversation = Conversation()
    conversation.add_user([text_block("one")])
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}, text_block("said")]
    conversation.add_answer(blocks)
    assert conversation.messages[-1] == {"role": "assistant", "content": blocks}


def test_what_was_sent_is_never_changed_in_its_place() -> None:
    conversation = Conversation()
    conversation.add_user([text_block("one")])
    sent = conversation.messages[0]
    kept = {"role": "user", "content": [text_block("one")]}
    conversation.add_user([text_block("two")])
    assert sent == kept
    assert conversation.messages[0] != kept


def test_a_resumed_end_has_its_newline_already() -> None:
    conversation = Conversation([{"role": "user", "content": [text_block("one\n")]}])
    conversation.add_user([text_block("two")])
    assert conversation.messages == [{"role": "user", "content": [text_block("one\n"), text_block("two")]}]


def test_after_a_compaction_the_summary_alone_is_sent() -> None:
    conversation = Conversation()
    conversation.add_user([text_block("one")])
    conversation.add_answer([text_block("said")])
    conversation.begin_anew("In short.")
    conversation.add_user([text_block("two")])
    assert conversation.messages == [{"role": "user", "content": [text_block("In short.\n"), text_block("two")]}]


def test_words_and_blocks_are_both_content() -> None:
    assert blocks_of("words") == [text_block("words")] == blocks_of([text_block("words")])


def test_blank_texts_are_not_sent_back() -> None:
    """Rule 46: clients leave them out on resume, and the API refuses them."""
    conversation = Conversation()
    call = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}
    conversation.add_answer([text_block(""), call, text_block(" \n")])
    conversation.add_answer([text_block("  ")])
    assert conversation.messages == [{"role": "assistant", "content": [call]}]
