"""Round types: whether a turn begins a conversation, resumes it after a silence, or only asks for more."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from stenograph.inputs import InputKind
from stenograph.records import AssistantRecord, ChainedRecord, UserRecord, moment

if TYPE_CHECKING:
    from stenograph.graph import Graph
    from stenograph.turns.model import Session, Turn

THRESHOLD_MINUTES = 5.0

#: Prompts that say nothing but "go on"; compared in lower case, without punctuation and without a word of politeness.
CONTINUING = frozenset(
    """
    continue|continue on|go on|go ahead|go|proceed|carry on|keep going|keep on|resume|next|next step|more|
    weiter|mach weiter|weitermachen|fortfahren|fahre fort|nächster schritt|continuer|continuez|vas y|allez y|la suite|suite|
    continúa|continua|continuar|sigue|seguir|adelante|siguiente|continue assim|prossiga|segue|próximo|avanti|vai avanti|prosegui|
    ga door|ga verder|verder|fortsätt|fortsett|fortsæt|jatka|kontynuuj|dalej|pokračuj|folytasd|tovább|
    продолжай|продолжайте|продолжи|продолжить|дальше|далее|продовжуй|далі|devam|devam et|συνέχισε|תמשיך|המשך|
    تابع|استمر|أكمل|जारी रखें|जारी रखो|आगे बढ़ो|tiếp tục|tiếp|lanjut|lanjutkan|teruskan|ต่อ|ทำต่อ|
    继续|繼續|继续吧|接着|接着做|下一步|続けて|続けてください|続き|続ける|次|次へ|계속|계속해|계속해줘|계속하세요|다음
    """.strip()
    .replace("\n    ", "")
    .split("|")
)
_POLITE = re.compile(
    r"^(?:please|pls|ok|okay|yes|bitte|por favor|ja|oui|sí|si|请|請)\s*|\s+(?:please|pls|bitte|por favor|svp|吧)$"
)
_NOT_A_WORD = re.compile(r"[^\w\s]|_")
#: Characters; nothing that only says to go on is longer.
_LONGEST = 40


class RoundType(StrEnum):
    #: Nothing was said before it on its chain.
    NEW_SESSION = "new_session"
    NEW_ROUND = "new_round"
    #: It only says to go on, or a background task reports.
    CONTINUE = "continue"
    #: It comes after a silence.
    RESUME = "resume"


def round_types(session: Session, threshold_minutes: float = THRESHOLD_MINUTES) -> dict[int, RoundType]:
    """The round type of each turn, by the node that opened it."""
    return {turn.node: round_type(turn, _said_before(session.graph, turn), threshold_minutes) for turn in session.all_turns}


def _said_before(graph: Graph, turn: Turn) -> str | None:
    if turn.previous < 0:
        return None
    before = graph.before[turn.node]
    while before >= 0 and not isinstance(graph.records[before], UserRecord | AssistantRecord):
        before = graph.before[before]
    record = graph.records[before] if before >= 0 else None
    return (record.timestamp or "") if isinstance(record, ChainedRecord) else ""


def round_type(turn: Turn, said_before: str | None, threshold_minutes: float = THRESHOLD_MINUTES) -> RoundType:
    """`said_before` is the time of the last line before it on its chain, as written; None where it is the first turn."""
    if said_before is None:
        return RoundType.NEW_SESSION
    if turn.kind is InputKind.NOTIFICATION or says_to_continue(turn.prompt):
        return RoundType.CONTINUE
    last, now = moment(said_before), turn.started
    is_late = last is not None and now is not None and (now - last).total_seconds() > threshold_minutes * 60
    return RoundType.RESUME if is_late else RoundType.NEW_ROUND


def says_to_continue(prompt: str) -> bool:
    """Whether a prompt says nothing but to go on, in any of some languages."""
    if len(prompt) > _LONGEST:
        return False
    words = " ".join(_NOT_A_WORD.sub(" ", prompt.casefold()).split())
    return words in CONTINUING or _POLITE.sub("", words) in CONTINUING
