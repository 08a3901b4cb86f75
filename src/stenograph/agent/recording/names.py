"""Names for new sessions and sub-agents."""

from __future__ import annotations

import secrets

from stenograph.agent.engine.options import Compat

_ADJECTIVES = "amber brisk calm clever dapper eager fluffy gentle hidden jolly keen lively mellow nimble quiet rapid silver witty"
_MORE_ADJECTIVES = "crafting dancing drifting gliding humming juggling mapping painting roaming sailing singing weaving"
_SURNAMES = "babbage curie dijkstra erdos euler franklin gauss hopper knuth lamport liskov lovelace noether shannon turing"


def fresh_slug() -> str:
    """Adjective, adjective, surname (seed 003, 12.1)."""
    return "-".join(secrets.choice(words.split()) for words in (_ADJECTIVES, _MORE_ADJECTIVES, _SURNAMES))


def fresh_agent_id(compat: Compat) -> str:
    """Seven hex digits in 2.0, `a` and sixteen later."""
    return secrets.token_hex(4)[:7] if compat is Compat.OLD else f"a{secrets.token_hex(8)}"
