"""One session to read: its heading, and the turns of one branch with all that happened in them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

from msgspec import structs

from stenograph.pricing import window_of_calls
from stenograph.records import SYNTHETIC, AssistantRecord, ChainedRecord, PrLinkRecord, Record, SummaryRecord
from stenograph.turns import AgentRun, Branch, Session, Tokens, Turn, round_types, runs_below
from stenograph.views.pages.costs import price_of
from stenograph.views.pages.page import Document, Page, TokensPage, tokens_page, utc
from stenograph.views.pages.tapes import turn_letters
from stenograph.views.pages.transcript import AgentPart, NotePart, TurnPage
from stenograph.views.pages.turn_parts import agent_part, aside_parts, turn_page

if TYPE_CHECKING:
    from stenograph.analysis import SessionSpent
    from stenograph.index import StoredSession, StoredTurn


class BranchPage(Page, frozen=True):
    """One way that the conversation went."""

    number: int
    """From 1."""
    current: bool
    """It is the one that a client resumes."""
    shared: int
    """The last turn that it shares with the branch that is shown; 0 for none."""
    turns: int
    """How many turns it has."""


class SessionHeading(Page, frozen=True):
    """What is known of a session as a whole."""

    id: str
    path: str
    title: str | None
    project: str | None
    """The working directory of its last lines. (Lists show the one that it began in.)"""
    release: str | None
    """Of its last lines."""
    model: str | None
    """Of its last call."""
    git_branch: str | None
    """Of its last lines."""
    slug: str | None
    """The client's own name for the conversation."""
    summary: str | None
    """The last summary that a client wrote in the session's own file."""
    pull_requests: tuple[str, ...]
    """Addresses that the client noted."""
    started: datetime | None
    """When the first turn of the branch began."""
    turns: int
    """Of the branch."""
    agents: int
    """Subagents of all branches, without those that only warmed up."""
    tokens: TokensPage
    """Of all branches and subagents."""
    branch: int
    """The branch that is shown, from 1."""
    branches: tuple[BranchPage, ...]
    continues: tuple[str, ...]
    """Ids of the sessions that it continues."""
    ended: datetime | None
    """When its last turn ended; null if only some turns are shown."""
    status: str
    """Of its last turn; empty if only some turns are shown."""
    usd: float | None
    """What all branches and subagents cost, as in lists; null if no call has a price, or if only some turns are shown."""
    usd_estimated: bool
    """Part of it is estimated, because old releases did not record all output."""
    usd_unpriced: bool
    """Some calls have no price and are not in it."""
    tape: str
    """What happened on the branch, a letter each, as in lists; empty if only some turns are shown, or the file is large."""
    notes: tuple[NotePart, ...]
    """What belongs to no turn; none if only some turns are shown."""
    whole: bool
    """All turns of the branch are shown."""
    context: int | None = None
    """Tokens that the last call of the branch sent; null if no call says, or if only some turns are shown."""
    context_window: int | None = None
    """Tokens that its model takes; null for a model that is not known."""
    copied_usd: float | None = None
    """What calls cost that a resume, fork or clone copied from another session: they count there. Null if the index knows of
    none."""


class SessionPage(Document, frozen=True, tag="session/1"):
    """`steno show`: one session to read."""

    session: SessionHeading
    turns: tuple[TurnPage, ...]
    agents: tuple[AgentPart, ...]
    """Subagents that no tool call here started; none if only some turns are shown."""


#: Of a larger session the heading says neither what it cost nor what happened: it would have to be read to its end first.
_MOST_RECORDS = 20_000

#: A page in the pieces that it is made of, in their order, so that the first can be read while the rest is made.
Piece: TypeAlias = SessionHeading | TurnPage | AgentPart


def session_page(
    session: Session,
    branch: Branch,
    *,
    wanted: Callable[[Turn], bool] = lambda _: True,
    title: str | None = None,
    agents: bool = True,
    full: bool = False,
    copies: Collection[int] = (),
) -> SessionPage:
    heading, *pieces = session_pieces(session, branch, wanted=wanted, title=title, agents=agents, full=full, copies=copies)
    assert isinstance(heading, SessionHeading)
    return SessionPage(
        session=heading,
        turns=tuple(piece for piece in pieces if isinstance(piece, TurnPage)),
        agents=tuple(piece for piece in pieces if isinstance(piece, AgentPart)),
    )


def session_pieces(
    session: Session,
    branch: Branch,
    *,
    wanted: Callable[[Turn], bool] = lambda _: True,
    title: str | None = None,
    agents: bool = True,
    full: bool = False,
    copies: Collection[int] = (),
) -> Iterator[Piece]:
    """The heading, the turns that are wanted, the subagents that stand in none; with `full` spilled outputs are read.

    `copies`: the keys of calls that count in another session (`index.copied_calls`).
    """
    whole = all(wanted(turn) for turn in branch.turns)
    is_priced = whole and len(session.graph.records) <= _MOST_RECORDS
    spent = _spent(session, copies) if is_priced else None
    yield session_heading(session, branch, title=title, whole=whole, spent=spent)
    seen: set[str] = set()
    rounds = round_types(session)
    for turn in branch.turns:
        if wanted(turn):
            page = turn_page(turn, agents=agents, whole=full, seen=seen)
            yield structs.replace(page, round=rounds[turn.node].value)
    if whole and agents:
        yield from (agent_part(run, whole=full, seen=seen) for run in stray_agents(session))


def opened_pieces(
    opened: StoredSession, *, wanted: Callable[[StoredTurn], bool], agents: bool = True, full: bool = False
) -> Iterator[Piece]:
    """The same for some turns of a session of which nothing else is read: what only all lines tell is left out."""
    turns = opened.branches[0].turns if opened.branches else ()
    own = {turn.opening for turn in turns}
    yield SessionHeading(
        id=opened.id,
        path=str(opened.path),
        title=opened.title,
        project=opened.project,
        release=opened.release,
        model=opened.model,
        git_branch=opened.git_branch,
        slug=opened.slug,
        summary=None,
        pull_requests=(),
        started=next((datetime.fromtimestamp(turn.started, UTC) for turn in turns if turn.started is not None), None),
        turns=len(turns),
        agents=0,
        tokens=tokens_page(Tokens()),
        branch=1,
        branches=tuple(
            BranchPage(
                number=number,
                current=branch.is_current,
                shared=next((turn.number for turn in reversed(branch.turns) if turn.opening in own), 0),
                turns=len(branch.turns),
            )
            for number, branch in enumerate(opened.branches, 1)
        ),
        continues=(),
        ended=None,
        status="",
        usd=None,
        usd_estimated=False,
        usd_unpriced=False,
        tape="",
        notes=(),
        whole=False,
    )
    seen: set[str] = set()
    for turn, kind in opened.read(wanted):
        yield structs.replace(turn_page(turn, agents=agents, whole=full, seen=seen), round=kind.value)


def _spent(session: Session, copies: Collection[int]) -> SessionSpent:
    from stenograph.analysis import session_spent  # some turns are shown without it

    return session_spent(session, copies=copies)


def session_heading(
    session: Session, branch: Branch, *, title: str | None = None, whole: bool = True, spent: SessionSpent | None = None
) -> SessionHeading:
    # Of some turns it says what the index would say of them.
    is_short = whole and len(session.graph.records) <= _MOST_RECORDS
    context, window = _context(branch) if whole else (None, None)
    price, copied = price_of(spent.total if spent else None), price_of(spent.copied if spent else None)
    return SessionHeading(
        id=session.id,
        path=str(session.path or ""),
        title=title,
        project=last_of(session, "cwd") or None,
        release=last_of(session, "version") or None,
        model=_model(session),
        git_branch=last_of(session, "gitBranch") or None,
        slug=last_of(session, "slug") or None,
        summary=_summary(session),
        pull_requests=_pull_requests(session),
        started=utc(next((turn.started for turn in branch.turns if turn.started), None)),
        turns=len(branch.turns),
        agents=sum(not run.is_warmup for run in session.agents),
        tokens=tokens_page(session.tokens),
        branch=session.branches.index(branch) + 1 if branch in session.branches else 1,
        branches=branch_pages(session, branch),
        continues=tuple(link.session_id for link in session.continues),
        ended=utc(next((turn.ended for turn in reversed(branch.turns) if turn.ended), None)) if whole else None,
        status=(branch.turns[-1].status.value if branch.turns else "done") if whole else "",
        usd=price.usd,
        usd_estimated=price.is_estimated,
        usd_unpriced=price.is_unpriced,
        copied_usd=copied.usd,
        context=context,
        context_window=window,
        tape="".join(map(turn_letters, branch.turns)) if is_short else "",
        notes=aside_parts(session) if whole else (),
        whole=whole,
    )


def _context(branch: Branch) -> tuple[int | None, int | None]:
    """What the last call sent, and how much its model takes."""
    calls = [
        (call.model, sent)
        for turn in branch.turns
        for call in turn.calls
        if not call.is_synthetic and (sent := tokens_page(call.tokens).sent)
    ]
    return (calls[-1][1], window_of_calls(calls)) if calls else (None, None)


def _own_records(session: Session) -> Sequence[Record]:
    return session.graph.records[: session.graph.files[0].last] if session.graph.files else ()


def _model(session: Session) -> str | None:
    """From the lines themselves, so that the heading is there before any turn is built."""
    for record in reversed(_own_records(session)):
        if isinstance(record, AssistantRecord) and record.message and not record.isSidechain:
            model = record.message.model
            if isinstance(model, str) and model and model != SYNTHETIC:
                return model
    return None


def _summary(session: Session) -> str | None:
    own = {record.uuid for record in _own_records(session) if isinstance(record, ChainedRecord)}
    summaries = [record for record in _own_records(session) if isinstance(record, SummaryRecord) and record.leafUuid in own]
    return next((record.summary for record in reversed(summaries) if isinstance(record.summary, str)), None)


def _pull_requests(session: Session) -> tuple[str, ...]:
    links = (record.prUrl for record in _own_records(session) if isinstance(record, PrLinkRecord))
    return tuple(dict.fromkeys(link for link in links if isinstance(link, str) and link))


def branch_pages(session: Session, shown: Branch) -> tuple[BranchPage, ...]:
    own = {turn.node for turn in shown.turns}
    return tuple(
        BranchPage(
            number=number,
            current=branch.is_current,
            shared=next((turn.number for turn in reversed(branch.turns) if turn.node in own), 0),
            turns=len(branch.turns),
        )
        for number, branch in enumerate(session.branches, 1)
    )


def stray_agents(session: Session) -> Iterator[AgentRun]:
    """The subagents that stand in no turn: nothing tells which tool call started them. Warm-ups are left out."""
    placed = {run.agent_id for run in runs_below(run for turn in session.all_turns for run in turn.agent_runs)}
    strays = [run for run in session.agents if run.agent_id not in placed and not run.is_warmup]
    # Those first that nobody started at all: they tell of the runs below them. What is left then is a ring.
    inner = {below.agent_id for run in strays for below in run.agent_runs}
    for run in (*(run for run in strays if run.agent_id not in inner), *(run for run in strays if run.agent_id in inner)):
        if run.agent_id not in placed:
            placed.update(below.agent_id for below in runs_below([run], placed))
            yield run


def last_of(session: Session, name: str) -> str:
    """A member of the session's newest line that has it."""
    for record in reversed(_own_records(session)):
        if isinstance(record, ChainedRecord) and isinstance(value := getattr(record, name, None), str) and value:
            return value
    return ""
