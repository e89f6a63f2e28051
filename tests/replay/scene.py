"""A small world for tests of traces: one user with facts and an archive, and a policy with all sections.

Tokens are UTF-8 bytes, which add up whatever the text: so figures can be checked by eye.
"""

from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from assemblers.assemble import assemble
from assemblers.assembly import Assembly, Conditions, PromptFormat, TurnInput
from assemblers.policy.model import (
    FactKey,
    FactRules,
    FactsSection,
    HistorySection,
    MaterialSection,
    Policy,
    PolicyRevision,
    PrefixSection,
    QuestionSection,
    Section,
    SectionBudget,
    SectionSettings,
    SessionSection,
)
from assemblers.ranking import (
    Blend,
    IndexUnit,
    Question,
    RankParams,
    Vectors,
    VectorSpace,
    analyze,
    build_archive,
    build_vectors,
    fixed_point,
    pack_question,
    query_terms,
    rank,
    rank_hybrid,
)
from assemblers.records import (
    Certainty,
    Degradation,
    Excerpt,
    Fact,
    FactKind,
    FactOrigin,
    FactState,
    Filter,
    Focus,
    Material,
    PrefixRevision,
    RecentQuestion,
    Role,
    SectionKind,
    SessionRef,
    Slots,
    Subject,
    Text,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Turn,
    UserRef,
    ValueType,
)
from assemblers.sections.archive import prepare_archive
from assemblers.sections.facts import prepare_facts
from assemblers.sections.history import HistoryInput
from assemblers.tokens import NEUTRAL, Exactness, Frame, ModelTokens
from assemblers.trace.capture import CapturedTrace, TracedInputs, TraceIdentity, capture, versions_of
from assemblers.trace.commitments import Commitments
from assemblers.trace.record import Asked, Timing
from assemblers.trace.replay import Surroundings

NOW = datetime(2026, 11, 29, 9, 30, tzinfo=UTC)
DAY = timedelta(days=1)
USER = UserRef("acme", "ann@example.com")
SESSION = SessionRef("acme", "ann@example.com", "conversation-77")
PSEUDONYM = "5f" * 16
SALT = bytes(range(16))


class ByteCounter:
    """One token for each byte."""

    id = "bytes"

    def count(self, text: str) -> int:
        return len(text.encode())


COUNTER = ByteCounter()
TOKENS = ModelTokens(COUNTER, {NEUTRAL: Frame(3, 4, 2, 2, 2, 2)}, Exactness.EXACT)

PREFIX = PrefixRevision(
    "acme",
    "default",
    "ab" * 32,
    "You help customers.\n",
    (ToolDefinition("get_plan", '{"name":"get_plan"}'),),
    NOW - 90 * DAY,
)


def section(kind: SectionKind, settings: SectionSettings, ceiling: int | None = None) -> Section:
    return Section(kind, settings, SectionBudget(0, ceiling, 100))


def policy(**changes: int | None) -> PolicyRevision:
    """All sections. Keywords set ceilings: `facts=200`."""
    rules = FactRules(
        (
            FactKey("plan", ValueType.TEXT, FactKind.ATTRIBUTE, "to answer by the plan's terms"),
            FactKey("tone", ValueType.TEXT, FactKind.PREFERENCE, "to write as the user likes"),
            FactKey("seats", ValueType.INTEGER, FactKind.ATTRIBUTE, "to price an upgrade"),
            FactKey("trip", ValueType.STATEMENT, FactKind.CONTEXT, "to know when to call"),
            FactKey("hobby", ValueType.TEXT, FactKind.PREFERENCE, "to be friendly"),
        )
    )
    sections = (
        section(SectionKind.PREFIX, PrefixSection()),
        section(SectionKind.FACTS, FactsSection(), changes.get("facts")),
        section(
            SectionKind.HISTORY,
            HistorySection(max_excerpts=changes.get("excerpts") or 40),
            changes.get("history"),
        ),
        section(SectionKind.MATERIAL, MaterialSection(), changes.get("material")),
        section(SectionKind.SESSION, SessionSection(), changes.get("session")),
        section(SectionKind.QUESTION, QuestionSection()),
    )
    return PolicyRevision("acme", "cd" * 32, Policy("support", sections, facts=rules))


def fact(no: int, key: str, value: str | int, **changes: object) -> Fact:
    kind = FactKind.PREFERENCE if key in ("tone", "hobby") else FactKind.ATTRIBUTE
    base = Fact(
        no=no, user=USER, subject=Subject(), key=key, type=ValueType.INTEGER if value == 12 else ValueType.TEXT,
        value=value, kind=kind, origin=FactOrigin.TOOL, source="crm", writer="billing-agent",
        confidence_permille=1000, read_time=NOW - 14 * DAY, write_time=NOW - 14 * DAY, expire_time=NOW + 60 * DAY,
        revision=no, source_turn=f"turn-{no}", commitment=bytes([no]) * 32,
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]  # the keywords are fields of Fact


FACTS = (
    fact(9, "hobby", "chess", confidence_permille=400),
    fact(4, "legacy", "yes"),
    fact(
        1, "plan", "starter", read_time=NOW - 200 * DAY, write_time=NOW - 200 * DAY, state=FactState.SUPERSEDED,
        superseded_by=2,
    ),
    fact(2, "plan", "team"),
    fact(5, "seats", 12),
    fact(6, "tone", "friendly and short"),
    fact(3, "trip", "in Rome", kind=FactKind.CONTEXT, read_time=NOW - 10 * DAY, expire_time=NOW - 3 * DAY),
    fact(
        8, "wifi", "ok", state=FactState.INVALIDATED, invalidated_time=NOW - DAY, invalidation_reason="agent at fault",
    ),
)  # fmt: skip

_TALKS = (
    (
        300,
        ("Our invoice for March was wrong by 20 euros.", "The refund went to the old card.", "Thanks, bye!"),
    ),
    (120, ("We moved to the team plan today.", "Could the invoice name our Berlin office?")),
    (
        20,
        ("The invoice export fails with error E-1177.", "It works again.", "Do you know a good pizza place?"),
    ),
)


def excerpts() -> tuple[Excerpt, ...]:
    found: list[Excerpt] = []
    for number, (days, texts) in enumerate(_TALKS, 1):
        for position, text in enumerate(texts):
            found.append(excerpt(len(found) + 1, number, position, NOW - days * DAY, text))
    return tuple(found)


def excerpt(no: int, session_no: int, position: int, start: datetime, text: str) -> Excerpt:
    session, when = f"talk-{session_no}", start + position * timedelta(minutes=1)
    terms = dict(Counter(analyze(text)))
    return Excerpt(
        no, session_no, position, session, start, f"{session}-{position}", Role.USER, "Ann", text, when, terms,
        bytes([100 + no]) * 32,
    )  # fmt: skip


EXCERPTS = excerpts()

SPACE = VectorSpace("toy@1", 4, floor_permille=300)


def direction(*parts: float) -> NDArray[np.float32]:
    vector: NDArray[np.float32] = (np.array(parts) / np.linalg.norm(parts)).astype(np.float32)
    return vector


ABOUT_MONEY = direction(1, 0.2, 0, 0)
VECTORS = {
    no: direction(*parts)
    for no, parts in enumerate(
        ((1, 0, 0, 0), (0.9, 0.1, 0, 0.1), (0, 0, 1, 0), (0.3, 1, 0, 0), (0.8, 0.3, 0, 0), (0.7, 0, 0.6, 0),
         (0, 0, 0.4, 1), (-1, 0.1, 0.2, 0)),
        1,
    )
}  # fmt: skip
"""Of each excerpt: money, contracts, small talk, things that work."""

SLOTS = Slots(
    Focus("order", "A-17", "Order A-17", Certainty.CONFIRMED, "get_order", "t5"),
    (Filter("region", "EU", Certainty.TENTATIVE, "user", "t6"),),
    "short",
    (RecentQuestion("t6", "Where is my order?"),),
)

MATERIAL = (Material(0, "Refunds take five days.", "Refund rules", "handbook", NOW - 2 * DAY, "r7"),)

QUESTION = TurnInput(
    Turn("t7", Role.USER, (Text("Which invoice was wrong? 🙂"),), NOW),
    "Which invoice was wrong? 🙂",
    "t7",
    NOW,
)

_CALL = Turn("t8", Role.ASSISTANT, (ToolCall("c1", "get_plan", '{"user":"ann"}'),), NOW)
_RESULT = Turn(
    "t9", Role.TOOL, (ToolResult("c1", "get_plan", is_error=False, result_json='{"plan":"team"}'),), NOW
)
TOOL_LOOP = replace(QUESTION, turn=_RESULT, open_turns=(_CALL, _RESULT))

VERSIONS = versions_of("0.1.0", {"numpy": "2.4.6", "regex": "2026.11.19", "snowballstemmer": "3.1.1"})
TIMINGS = (Timing("gather", 120), Timing("assemble", 480))


@dataclass(frozen=True)
class Scene:
    """One assembly and its trace, with the material that was stored at the time."""

    assembly: Assembly
    captured: CapturedTrace
    surroundings: Surroundings


def play(
    revision: PolicyRevision | None = None,
    turn: TurnInput = QUESTION,
    limit: int = 6000,
    kept: int = 200,
    end_no: int = 9,
    facts: tuple[Fact, ...] | None = FACTS,
    question: str | None = None,
    formats: tuple[PromptFormat, ...] = (),
    degradations: tuple[Degradation, ...] = (),
    current: str = SESSION.session_id,
    vectors: dict[int, NDArray[np.float32]] | None = None,
) -> Scene:
    """Assemble and capture. `kept` is how many ranked excerpts the trace holds, `end_no` where the archive
    ended, `vectors` those of excerpts by number, where they are searched too."""
    revision = revision or policy()
    conditions = Conditions(revision, NOW, UTC, TOKENS, limit, formats)
    terms = tuple(query_terms(turn.question if question is None else question))
    prepared = None if facts is None else prepare_facts(revision, facts, NOW, UTC, TOKENS)
    archived = tuple(e for e in EXCERPTS if e.no < end_no)
    history = _history(revision, archived, terms, kept, end_no, current, vectors)
    assembly = assemble(conditions, turn, PREFIX, prepared, history, MATERIAL, SLOTS, degradations)
    known_facts = Commitments({f.no: f.commitment for f in facts or ()})
    known_excerpts = Commitments({e.no: e.commitment for e in archived})
    asked = Asked(policy="support", labels=(("k", "v"),))
    inputs = TracedInputs(turn, MATERIAL, SLOTS, known_facts, known_excerpts, asked)
    identity = TraceIdentity("11" * 16, replace(SESSION, session_id=current), PSEUDONYM, SALT)
    captured = capture(identity, conditions, inputs, assembly, VERSIONS, TIMINGS)
    return Scene(assembly, captured, surroundings(revision, facts or FACTS, vectors))


def surroundings(
    revision: PolicyRevision,
    facts: tuple[Fact, ...] = FACTS,
    vectors: dict[int, NDArray[np.float32]] | None = None,
) -> Surroundings:
    known_vectors = None if vectors is None else vectors_of(EXCERPTS, vectors)
    known_facts, known_excerpts = {f.no: f for f in facts}, {e.no: e for e in EXCERPTS}
    return Surroundings(revision, PREFIX, COUNTER, UTC, known_facts, known_excerpts, known_vectors)


def vectors_of(
    archived: tuple[Excerpt, ...], known: dict[int, NDArray[np.float32]], space: VectorSpace | None = None
) -> Vectors:
    return build_vectors(space or SPACE, np.array([e.no for e in archived], np.int64), known)


def _history(
    revision: PolicyRevision,
    archived: tuple[Excerpt, ...],
    terms: tuple[str, ...],
    kept: int,
    end_no: int,
    current: str,
    vectors: dict[int, NDArray[np.float32]] | None,
) -> HistoryInput | None:
    settings = revision.policy.settings(HistorySection)
    if settings is None:
        return None
    units = [IndexUnit(e.no, e.session_no - 1, e.position, e.terms) for e in archived]
    params = RankParams(
        near_permille=settings.near_permille, far_permille=settings.far_permille,
        session_permille=settings.session_permille, limit=kept,
    )  # fmt: skip
    archive, prepared = build_archive(units), prepare_archive(archived, COUNTER)
    if vectors is None:
        return HistoryInput(prepared, rank(archive, terms, params), terms, 5, end_no, current)
    blend = Blend(floor_permille=SPACE.floor_permille)
    known, asked = vectors_of(archived, vectors), fixed_point(ABOUT_MONEY)
    ranking = rank_hybrid(archive, known, Question(terms, asked), params, blend)
    return HistoryInput(prepared, ranking, terms, 5, end_no, current, pack_question(asked))
