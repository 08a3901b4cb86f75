"""What a plan means for the bill: tokens that every later call saves, and what it costs once to fill the prompt cache again.

The context of the last call is what the API counted, system prompt, tools and thinking included. Of what an edit takes of it,
tool results are measured by how much the prompt grew when they came; the rest is estimated from characters, at the rate that this
session's own context grew by. Predicting earlier turns of public sessions and requests of real clients this way is within a tenth
(docs/usage.md); characters alone give a quarter to a half of the truth. No endpoint is asked.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from msgspec import Struct

from stenograph.analysis import CallContext, Resident, context_of, prompt_images, shape_of, standing_notes, tools_found
from stenograph.errors import UsageError
from stenograph.pricing import Basis, price_usage
from stenograph.records import IMAGES, Usage
from stenograph.releases import release_numbers
from stenograph.surgery.verify import Messages, ReleaseOutcome
from stenograph.surgery.working import WorkingFile
from stenograph.turns import ApiCall

CHARACTERS_A_TOKEN = 4
TOKENS_AN_IMAGE = 1_600
#: Tokens as counted for each that characters suggest: the median of public sessions, and what is plausible.
TYPICAL_RATE = 1.5
_RATES = (0.5, 4.0)
_PLANNING = frozenset({"EnterPlanMode", "ExitPlanMode"})
_REMINDER = "<system-reminder>"
_TAGS = re.compile(r"</?system-reminder>")
_FIVE_MINUTES, _HOUR = timedelta(minutes=5), timedelta(hours=1)


class Outlook(Struct, frozen=True):
    model: str
    #: Counted by the API where `is_measured`.
    tokens_before: int
    #: Estimated.
    tokens_after: int
    #: From the first changed message on.
    tokens_to_cache: int
    #: USD, with the prompt read from the cache: what it costs each later call as it is, and what the edit saves of that.
    cost_a_call: Decimal
    saved_a_call: Decimal
    cache_cost: Decimal
    is_listed: bool
    #: Whether the figures rest on the usage of the last call; otherwise on characters alone.
    is_measured: bool
    #: Whether the prompt cache has expired since the last call: the next one fills it anyway, edited or not.
    is_cache_expired: bool = False

    @property
    def cost_once(self) -> Decimal:
        """USD that the edit itself costs: nothing where the next call would fill the cache anyway."""
        return Decimal(0) if self.is_cache_expired else self.cache_cost


def look_ahead(outcomes: Sequence[ReleaseOutcome], working: WorkingFile, now: datetime | None = None) -> Outlook:
    outcome = _as_recorded(outcomes, working.session.release)
    calls = [call for turn in working.session.turns for call in turn.calls if not call.is_synthetic]
    model = next((call.model for call in reversed(calls) if call.model), "")
    session, residents = working.session, list[Resident]()
    contexts = list(context_of(session.turns, session.compactions, shape_of(session.graph.records), residents))
    rates = _result_rates(residents, outcome.before)
    coming_back = frozenset(map(_untagged, standing_notes(working.session.graph.records)))
    was, will_be = _Sizes(outcome.before, rates, coming_back), _Sizes(outcome.after, rates, coming_back)
    fixed = _fixed_part(working, calls)
    # A compaction after it made a new context, which nobody counted.
    last = next((call for call in reversed(calls) if call.tokens.prompt and call.nodes[-1] > working.last_compaction), None)
    if last is None:
        rate, before = TYPICAL_RATE, fixed + was.at(TYPICAL_RATE)
    else:
        before = last.tokens.prompt + last.tokens.output - _unrecorded_plan_mode(contexts)
        rate = min(max((before - fixed - was.measured) / was.other, _RATES[0]), _RATES[1]) if was.other else TYPICAL_RATE
    after = max(0, before - was.at(rate) + will_be.at(rate))
    same = 0
    for one, other in zip(outcome.before, outcome.after, strict=False):
        if one != other:
            break
        same += 1
    to_cache = _Sizes(outcome.after[same:], rates, coming_back).at(rate) if outcome.before != outcome.after else 0
    whole = price_usage(Usage(input_tokens=0, output_tokens=0, cache_read_input_tokens=before), model)
    read = price_usage(Usage(input_tokens=0, output_tokens=0, cache_read_input_tokens=max(0, before - after)), model)
    write = price_usage(Usage(input_tokens=0, output_tokens=0, cache_creation_input_tokens=to_cache), model)
    is_expired = _is_expired(calls, now or datetime.now(UTC))
    return Outlook(
        model=model,
        tokens_before=before,
        tokens_after=after,
        tokens_to_cache=to_cache,
        cost_a_call=whole.usd,
        saved_a_call=read.usd,
        cache_cost=write.usd,
        is_listed=read.basis is Basis.LIST,
        is_measured=last is not None,
        is_cache_expired=is_expired,
    )


def _as_recorded(outcomes: Sequence[ReleaseOutcome], release: str | None) -> ReleaseOutcome:
    """What the release that counted the last call would send, or the nearest one that was proved; the newest, if that one would
    lose most of the session, which then was not so when it was counted."""
    ordered = sorted(outcomes, key=lambda each: release_numbers(each.release))
    try:
        wanted = release_numbers(release or "")
    except UsageError:
        return ordered[-1]
    nearest = next((each for each in reversed(ordered) if release_numbers(each.release) <= wanted), ordered[0])
    return ordered[-1] if nearest.refused or 2 * len(nearest.before) < len(ordered[-1].before) else nearest


def _unrecorded_plan_mode(contexts: Sequence[CallContext]) -> int:
    """Tokens of instructions for plan mode in the last prompt that no line tells of: a resume does not send them."""
    found = 0
    for one, other in itertools.pairwise(contexts):
        if any(tool.name in _PLANNING for tool in other.turn.tool_calls):
            found += max(0, other.parts["unknown"] - one.parts["unknown"])
    return min(found, contexts[-1].parts["unknown"]) if contexts else 0  # what a compaction dropped is not in the last prompt


def _result_rates(residents: Sequence[Resident], messages: Messages) -> dict[str, float]:
    """By tool call: tokens of its result, as the prompts grew by it, for each that its characters suggest."""
    suggested = {
        block["tool_use_id"]: _estimate(block) + TOKENS_AN_IMAGE * _images(block)
        for message in messages
        for block in message["content"]
        if isinstance(block, dict) and block.get("type") == "tool_result"
    }
    rates = {}
    for each in residents:
        # Clients may clear an old result: then it is as long as it was recorded.
        size = max(suggested.get(each.tool.id, 0), _estimate(each.tool.result))
        if size and each.tokens:
            rate = (each.tokens + each.unknown) / size
            # Of tools that were searched for a result has only the names.
            rates[each.tool.id] = rate if tools_found(each.tool) else min(max(rate, _RATES[0]), _RATES[1])
    return rates


class _Sizes:
    """Messages in tokens: results by what they were measured at, the rest by characters, for a rate to be found.

    Without what the client says of itself and the project: if that leaves, it comes back with the next prompt.
    """

    def __init__(self, messages: Messages, rates: dict[str, float], coming_back: frozenset[str]) -> None:
        self.measured, self.other = 0.0, 0
        for message in messages:
            for block in message["content"]:
                if message["role"] == "system" or _is_note(block):
                    self.other += _estimate(_without(block["text"], coming_back))
                    continue
                rate = rates.get(block.get("tool_use_id", "")) if isinstance(block, dict) else None
                if rate is None:
                    self.measured += TOKENS_AN_IMAGE * _images(block)
                    self.other += _estimate(block)
                else:
                    self.measured += rate * (_estimate(block) + TOKENS_AN_IMAGE * _images(block))

    def at(self, rate: float) -> int:
        return round(self.measured + rate * self.other)


def _is_expired(calls: list[ApiCall], now: datetime) -> bool:
    """Whether the cache of the last call is gone: after five minutes, or an hour where a call of the session asked for that."""
    ended = next((call.ended for call in reversed(calls) if call.ended), None)
    lifetime = _HOUR if any(call.tokens.cache_write_1h for call in calls) else _FIVE_MINUTES
    return ended is not None and now - ended >= lifetime


def _fixed_part(working: WorkingFile, calls: list[ApiCall]) -> int:
    """What is sent beside the conversation (system prompt, tools, memory): the first call's context without its prompt."""
    first = next((call.tokens.prompt for call in calls if call.tokens.prompt), 0)
    turns = working.session.turns
    return max(0, first - _estimate(turns[0].prompt) - prompt_images(turns[0]) * TOKENS_AN_IMAGE) if turns else 0


def _without(note: str, others: frozenset[str]) -> str:
    """A note without others: clients join those that come together."""
    words = _untagged(note)
    if words in others:
        return ""
    for other in others:
        words = words.replace(other, "")
    return words


def _untagged(note: str) -> str:
    return _TAGS.sub("", note).strip()


def _is_note(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and block["text"].lstrip().startswith(_REMINDER)


def _estimate(value: Any) -> int:
    """Tokens of the texts in a message, by their characters."""
    if isinstance(value, dict):
        members = () if value.get("type") in IMAGES else value.items()
        return sum(_estimate(each) for key, each in members if key not in ("type", "id", "tool_use_id"))
    if isinstance(value, list):
        return sum(_estimate(each) for each in value)
    return -(-len(value) // CHARACTERS_A_TOKEN) if isinstance(value, str) else 0


def _images(value: Any) -> int:
    """How many images and documents a message has."""
    if isinstance(value, list):
        return sum(map(_images, value))
    if not isinstance(value, dict):
        return 0
    return 1 if value.get("type") in IMAGES else _images(value.get("content"))
