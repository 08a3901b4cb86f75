"""Which ids are a family's own, and where they are replaced."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenograph.errors import UsageError
from stenograph.surgery.ids import IdRenewal, OwnIds

SESSION = "5e550000-0000-4000-8000-000000000001"
NEW = "c10e0000-0000-4000-8000-00000000c10e"
ONE = "11111111-aaaa-4aaa-8aaa-000000000001"
TWO = "22222222-bbbb-4bbb-8bbb-000000000002"
OTHER = "99999999-cccc-4ccc-8ccc-000000000009"
AGENT = "a1d29ca1ec38d5109"


def line(**members: Any) -> bytes:
    return json.dumps(members, separators=(",", ":")).encode()


def renewal_of(*lines: bytes, agents: tuple[str, ...] = (), session: str = SESSION, taken: tuple[str, ...] = ()) -> IdRenewal:
    own = OwnIds(session)
    for one in lines:
        own.read(one)
    for agent in agents:
        own.add_agent(agent)
    return IdRenewal(own, NEW, taken=taken)


@pytest.mark.parametrize(
    "made_by",
    [
        line(type="user", uuid=ONE),
        line(type="user", uuid=TWO, parentUuid=ONE),
        line(type="user", promptId=ONE),
        line(type="file-history-snapshot", messageId=ONE, snapshot={"messageId": ONE}),
        line(type="api-request", id=ONE),
        line(type="queue-operation", commandUuid=ONE),
        line(type="system", compactMetadata={"preservedMessages": {"uuids": [TWO, ONE]}}),
        line(type="a-kind-of-tomorrow", theirId=ONE),
        line(type="progress", data={"message": {"uuid": ONE}}),
        json.dumps({"type": "user", "uuid": ONE}).encode(),
        b'{"type":"user","uuid":"%b","message":{"content":"a torn li' % ONE.encode(),
    ],
    ids=["record", "parent", "prompt", "snapshot", "request", "queue", "list", "unknown", "progress", "spaces", "torn"],
)
def test_an_id_that_a_line_makes_is_renewed_where_it_is_one_and_not_where_it_is_talked_about(made_by: bytes) -> None:
    renewal = renewal_of(made_by)
    assert ONE.encode() not in renewal.renew(made_by)
    assert renewal.name(ONE) != ONE
    named = line(type="last-prompt", leafUuid=ONE, lastPrompt=ONE)
    assert json.loads(renewal.renew(named)) == {"type": "last-prompt", "leafUuid": renewal.name(ONE), "lastPrompt": ONE}
    said = line(
        type="user",
        message={"content": [{"type": "tool_use", "input": {"uuid": ONE, "command": f"see /x/{ONE}/y and {ONE}."}}]},
        toolUseResult={"stdout": ONE, "uuid": ONE},
        content=f'{{"uuid":"{ONE}"}}',
    )
    assert renewal.renew(said) == said


@pytest.mark.parametrize(
    "members",
    [
        {"message": {"id": ONE, "content": []}},
        {"message": {"content": [{"type": "tool_use", "input": {"uuid": ONE, "sessionId": ONE}}]}},
        {"toolUseResult": {"id": ONE, "uuid": ONE}},
        {"requestId": ONE},
        {"toolUseID": ONE, "parentToolUseID": ONE},
        {"attachment": {"content": ONE}},
        {"customTitle": ONE},
        {"cwd": f"/home/user/{ONE}"},
        {"forkedFrom": {"sessionId": ONE, "messageUuid": ONE}},
    ],
)
def test_what_is_said_answered_or_the_apis_makes_no_id(members: dict[str, Any]) -> None:
    one = line(type="assistant", uuid=TWO, **members)
    changed = json.loads(renewal_of(one).renew(one))
    assert {key: changed[key] for key in members} == members
    assert changed["uuid"] != TWO


def test_an_attachment_names_messages_and_makes_none() -> None:
    """A queued prompt names the line that it came from, which may be in another session's file."""
    attached = line(type="attachment", uuid=TWO, attachment={"type": "queued_command", "source_uuid": ONE})
    assert json.loads(renewal_of(attached).renew(attached))["attachment"]["source_uuid"] == ONE
    renewal = renewal_of(attached, line(type="user", uuid=ONE))
    assert json.loads(renewal.renew(attached))["attachment"]["source_uuid"] == renewal.name(ONE) != ONE


def test_what_is_said_is_left_alone_though_the_same_words_make_an_id_before_it() -> None:
    one = line(type="file-history-snapshot", snapshot={"uuid": ONE}, message={"uuid": ONE})
    renewal = renewal_of(one)
    changed = json.loads(renewal.renew(one))
    assert changed["snapshot"]["uuid"] == renewal.name(ONE) != ONE
    assert changed["message"]["uuid"] == ONE


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": "), (" , ", " : ")])
def test_the_apis_own_id_stays_wherever_in_a_line_it_is_and_those_behind_it_are_renewed(separators: tuple[str, str]) -> None:
    members = {"type": "assistant", "cwd": "/home/user/" + "long/" * 20, "requestId": ONE, "uuid": TWO}
    one = json.dumps(members, separators=separators).encode()
    renewal = renewal_of(one)
    assert json.loads(renewal.renew(one)) == {**members, "uuid": renewal.name(TWO)}
    assert renewal.name(TWO) != TWO


def test_a_summary_of_another_session_still_names_it() -> None:
    summary = line(type="summary", summary="x", leafUuid=OTHER)
    assert renewal_of(line(type="user", uuid=ONE), summary).renew(summary) == summary


def test_a_summary_of_this_session_names_the_new_message() -> None:
    summary = line(type="summary", summary="x", leafUuid=ONE)
    renewal = renewal_of(summary, line(type="user", uuid=ONE))
    assert json.loads(renewal.renew(summary))["leafUuid"] == renewal.name(ONE)
    assert renewal.name(ONE) != ONE


def test_the_line_that_resets_the_last_prompt_stays_as_it_is() -> None:
    zero = line(type="last-prompt", leafUuid="00000000-0000-0000-0000-000000000000", explicit=True)
    assert renewal_of(zero).renew(zero) == zero


def test_new_ids_keep_the_form_of_the_old_ones() -> None:
    upper, seventh = ONE.upper(), "019c5287-57ca-7a28-a967-2bc7241a1f8a"
    renewal = renewal_of(line(uuid=upper), line(uuid=seventh), agents=(AGENT, "5e6bb6c5", "acompact-70d8e7"))
    assert renewal.name(upper).isupper()
    assert (renewal.name(seventh)[14], renewal.name(seventh)[19]) == ("7", "a")
    assert renewal.name("acompact-70d8e7").startswith("acompact-")
    for agent in (AGENT, "5e6bb6c5", "acompact-70d8e7"):
        assert renewal.name(agent) != agent
        assert len(renewal.name(agent)) == len(agent)
    assert renewal.name(AGENT)[0] == "a"


def test_the_session_gets_the_id_that_was_asked_for_and_the_same_clone_comes_again() -> None:
    one = line(type="user", uuid=ONE, sessionId=SESSION)
    assert json.loads(renewal_of(one).renew(one))["sessionId"] == NEW
    assert renewal_of(one).renew(one) == renewal_of(one).renew(one)


def test_an_agent_is_found_in_texts_but_not_inside_other_words() -> None:
    renewal = renewal_of(agents=(AGENT, "5e6bb6c5"))
    text = f"agentId: {AGENT} (x) /tasks/{AGENT}.output agent-5e6bb6c5.jsonl <task-id>{AGENT}</task-id>".encode()
    assert AGENT.encode() not in renewal.renew(text)
    assert b"5e6bb6c5" not in renewal.renew(text)
    others = f"x{AGENT} {AGENT}0 {AGENT}_ 5e6bb6c5-1111-4111-8111-111111111111 0x5e6bb6c5".encode()
    assert renewal.renew(others) == others


@pytest.mark.parametrize("length", [7, 17])
@pytest.mark.parametrize("count", [1, 5, 6, 40])
def test_agents_are_found_however_many_there_are(count: int, length: int) -> None:
    agents = tuple(f"a{number:0{length - 1}x}" for number in range(0xABC, 0xABC + count))
    renewal = renewal_of(agents=agents)
    text = " ".join(f"agentId: {agent}, /tasks/{agent}.output" for agent in agents).encode()
    changed = renewal.renew(text)
    assert [agent for agent in agents if agent.encode() in changed] == []
    assert len(changed) == len(text)
    others = " ".join(f"x{agent} {agent}0 {agent}_" for agent in agents).encode()
    assert renewal.renew(others) == others


def test_an_agent_of_digits_alone_does_not_change_a_number() -> None:
    # 12585951 is an agent of a recorded session of 2.0.42.
    renewal = renewal_of(agents=("12585951",))
    one = line(agentId="12585951", tokens=12585951, text="of 12585951 bytes, see agent-12585951.jsonl")
    changed = renewal.renew(one)
    assert b'"agentId":"12585951"' not in changed
    assert b"agent-12585951" not in changed
    assert b'"tokens":12585951,' in changed
    assert b"of 12585951 bytes" in changed


def test_a_new_agent_never_gets_a_name_that_is_taken() -> None:
    first = renewal_of(agents=("a0f86f7",)).name("a0f86f7")
    assert renewal_of(agents=("a0f86f7",), taken=(first,)).name("a0f86f7") not in (first, "a0f86f7")


def test_an_agent_for_which_no_id_is_free_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IdRenewal, "_digits", lambda *_: "0" * 6)
    assert renewal_of(agents=("a111111",)).name("a111111") == "a000000"
    with pytest.raises(UsageError, match="no free id for subagent a222222"):
        renewal_of(agents=("a111111", "a222222"))


def test_signed_thinking_keeps_its_words_and_unsigned_does_not() -> None:
    """The API refuses thinking that is not what its signature vouches for."""
    thought = {"type": "thinking", "thinking": f"Resume {AGENT} …", "signature": "c2ln"}
    signed = line(type="assistant", uuid=ONE, agentId=AGENT, message={"content": [thought]})
    renewal = renewal_of(signed, agents=(AGENT,))
    changed = json.loads(renewal.renew(signed))
    assert changed["message"]["content"] == [thought]
    assert changed["agentId"] == renewal.name(AGENT)
    unsigned = line(type="assistant", uuid=ONE, message={"content": [{**thought, "signature": ""}]})
    assert AGENT.encode() not in renewal.renew(unsigned)


@pytest.mark.parametrize("separator", ["/", "\\"])
def test_a_path_to_the_sessions_own_folder_leads_to_the_clones(separator: str) -> None:
    own = OwnIds(SESSION)
    renewal = IdRenewal(own, NEW, projects=("-home-user-p", "-home-user-q"))
    old, new = (
        separator.join(("home", project, session, "tool-results", "b1.txt"))
        for project, session in (("-home-user-p", SESSION), ("-home-user-q", NEW))
    )
    one = line(type="user", message={"content": old})
    assert json.loads(renewal.renew(one))["message"]["content"] == new
    assert renewal.renew_text(old.encode()) == new.encode()
    for other in ("scratchpad", "tool-results-of-mine", "tasks"):
        talked = old.replace("tool-results", other).encode()
        assert renewal.renew_text(talked) == talked


def test_ids_of_no_clients_form_are_renewed_where_an_id_stands_and_nowhere_else() -> None:
    first = line(type="user", uuid="u1", parentUuid=None, sessionId="s", version="u1", message={"content": "u1"})
    second = line(type="user", uuid="u2", parentUuid="u1", sessionId="s", message={"id": "u1", "content": [{"id": "u1"}]})
    renewal = renewal_of(first, second, session="s")
    one, two = json.loads(renewal.renew(first)), json.loads(renewal.renew(second))
    assert one["uuid"] == two["parentUuid"] not in ("u1", two["uuid"])
    assert one["sessionId"] == two["sessionId"] == NEW
    assert (one["version"], one["message"]) == ("u1", {"content": "u1"})
    assert two["message"] == {"id": "u1", "content": [{"id": "u1"}]}


_TEXT = st.lists(st.sampled_from([*'ab0-"\\{}[]:, \n', "é", ONE, TWO, AGENT, SESSION]), max_size=30).map("".join)
_VALUE = st.recursive(
    _TEXT | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(message=_VALUE, result=_VALUE)
def test_a_renewed_line_is_the_old_one_but_for_ids(message: object, result: object) -> None:
    one = line(type="user", uuid=ONE, parentUuid=TWO, sessionId=SESSION, agentId=AGENT, message=message, toolUseResult=result)
    renewal = renewal_of(one, agents=(AGENT,))
    changed = renewal.renew(one)
    assert len(changed) == len(one)
    for old in (ONE, TWO, SESSION, AGENT):
        changed = changed.replace(renewal.name(old).encode(), old.encode())
    assert changed == one


def test_a_forked_agents_reference_to_its_context_is_renewed() -> None:
    """As 2.1.325 writes it; the line that the context ends with is one of the session's own."""
    reference = line(type="fork-context-ref", agentId=AGENT, parentSessionId=SESSION, parentLastUuid=ONE, contextLength=18)
    own = line(type="user", uuid=ONE, sessionId=SESSION)
    renewal = renewal_of(own, reference, agents=(AGENT,))
    new = json.loads(renewal.renew(reference))
    assert new["parentSessionId"] == NEW
    assert new["parentLastUuid"] == json.loads(renewal.renew(own))["uuid"] != ONE
    assert new["agentId"] == renewal.name(AGENT) != AGENT
    assert new["contextLength"] == 18
