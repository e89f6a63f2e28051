"""Replays a trace: from what was recorded back to the inputs of its assembly, and a comparison of the
prompts."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Final

import numpy as np

from assemblers.assemble import assemble
from assemblers.assembly import (
    REASONS,
    Assembly,
    CandidateBlock,
    Conditions,
    HistorySummary,
    SourceKind,
    TurnInput,
)
from assemblers.policy.model import PolicyRevision
from assemblers.ranking import Fusion, Legs, Ranking, Vectors
from assemblers.records import (
    Degradation,
    Excerpt,
    Fact,
    FactState,
    Material,
    PrefixRevision,
    Reason,
    SectionKind,
    Slots,
)
from assemblers.sections.archive import prepare_archive
from assemblers.sections.facts import PreparedFacts, prepare_facts
from assemblers.sections.history import HistoryInput
from assemblers.tokens import ModelTokens, TokenCounter
from assemblers.trace.candidates import find_block, item_ids, numbers, with_refs
from assemblers.trace.commitments import Commitments, commitment, evidence
from assemblers.trace.errors import ContentErased, UnknownRenderer, WrongSurroundings
from assemblers.trace.record import RENDERER_VERSION, TraceContent, TraceRecord

RENDERERS: Final = {RENDERER_VERSION: assemble}
"""The renderers that this release carries, by version. A former one stays until no retained trace names
it."""

_NO_SCORES: Final = np.zeros(0, np.int64)

_STATE: Final[Mapping[Reason, FactState]] = {
    Reason.SUPERSEDED: FactState.SUPERSEDED,
    Reason.INVALIDATED: FactState.INVALIDATED,
    Reason.ERASED: FactState.DELETED,
}
"""The states that a fact's reason tells of: its state is judged before anything else, so that all other
reasons are those of current facts."""

_REFUSED: Final = frozenset(_STATE) | {
    Reason.EXPIRED,
    Reason.KEY_NOT_ALLOWED,
    Reason.LOW_CONFIDENCE,
    Reason.BELOW_THRESHOLD,
}
"""Reasons that keep a candidate from the budget: without it the prompt is the same."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a record names and does not hold, looked up by those names.

    `facts` and `excerpts` are by number, the user's own; deleted ones are missing or have the state DELETED. `vectors`
    are those of the excerpts in their order as of now; a replay needs none.
    """

    policy: PolicyRevision
    prefix: PrefixRevision | None
    counter: TokenCounter
    zone: tzinfo
    facts: Mapping[int, Fact]
    excerpts: Mapping[int, Excerpt]
    vectors: Vectors | None = None


@dataclass(frozen=True, slots=True)
class ReplayInputs:
    """The arguments of `assemble` as they were, in its order."""

    conditions: Conditions
    turn: TurnInput
    prefix: PrefixRevision | None
    facts: PreparedFacts | None
    history: HistoryInput | None
    material: tuple[Material, ...]
    slots: Slots
    degradations: tuple[Degradation, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether a replayed prompt equals the recorded one. `section` and `item_id` name the first difference
    known: of the sections in byte order by their digests, of the items by their fate and place; empty where
    identical."""

    recorded_sha256: str
    replayed_sha256: str
    section: SectionKind | None = None
    item_id: str = ""

    @property
    def identical(self) -> bool:
        """Whether every byte is the same."""
        return self.recorded_sha256 == self.replayed_sha256


def content_matches(record: TraceRecord, content: TraceContent, content_bytes: bytes) -> bool:
    """Whether the content is the one that the chained record commits to."""
    return hmac.compare_digest(record.seals.content, commitment(content.salt, content_bytes))


def evidence_matches(record: TraceRecord, given: Surroundings) -> bool:
    """Whether the facts and excerpts are still those that the chained record commits to; deleted ones keep
    their commitments, and one that is missing altogether does not match."""
    try:
        facts = Commitments({number: fact.commitment for number, fact in given.facts.items()})
        excerpts = Commitments({number: excerpt.commitment for number, excerpt in given.excerpts.items()})
        return hmac.compare_digest(record.seals.evidence, evidence(record.blocks, facts, excerpts))
    except (KeyError, ValueError):
        return False


def replay(record: TraceRecord, content: TraceContent, surroundings: Surroundings) -> Assembly:
    """The recorded assembly once more, by the renderer of its time. Raises what `replay_inputs` does."""
    again = replay_inputs(record, content, surroundings)
    return RENDERERS[record.versions.renderer](
        again.conditions, again.turn, again.prefix, again.facts, again.history, again.material, again.slots,
        again.degradations,
    )  # fmt: skip


def replay_inputs(record: TraceRecord, content: TraceContent, surroundings: Surroundings) -> ReplayInputs:
    """The inputs of the recorded assembly.

    Raises `ContentErased` for a fact or excerpt that is gone, `UnknownRenderer` for a rendering that this
    release does not carry, and `WrongSurroundings` where something else was looked up than the record names.
    """
    if record.versions.renderer not in RENDERERS:
        raise UnknownRenderer(record.versions.renderer)
    _check_names(record, surroundings)
    conditions = _conditions(record, surroundings)
    facts = find_block(record, SourceKind.FACT)
    return ReplayInputs(
        conditions=conditions,
        turn=content.turn,
        prefix=surroundings.prefix,
        facts=None if facts is None else _prepared(conditions, _facts(facts, surroundings.facts)),
        history=_history(record, content, surroundings),
        material=content.material,
        slots=content.slots_before,
        degradations=content.degradations,
    )


def compare(record: TraceRecord, content: TraceContent, replayed: Assembly) -> Comparison:
    """Compare a replayed assembly with the recorded one, by the digest of the prompt."""
    recorded, now = content.prompt_sha256, replayed.prompt.prompt_sha256
    if recorded == now:
        return Comparison(recorded, now)
    differing = (
        kind for kind in SectionKind
        if content.section_sha256.get(kind) != replayed.prompt.section_sha256.get(kind)
    )  # fmt: skip
    section = next(differing, None)
    item_id = _first_difference(with_refs(record, content), replayed.blocks)
    return Comparison(recorded, now, section, item_id)


def _check_names(record: TraceRecord, given: Surroundings) -> None:
    names = (
        ("policy", record.policy, given.policy.name),
        ("prefix", record.prefix, given.prefix.name if given.prefix else ""),
        ("tokenizer", record.counting.tokenizer, given.counter.id),
        ("zone", record.zone, str(given.zone)),
    )
    for field, recorded, name in names:
        if recorded != name:
            raise WrongSurroundings(field, recorded, name)


def _conditions(record: TraceRecord, given: Surroundings) -> Conditions:
    tokens = model_tokens(record, given.counter)
    return Conditions(
        given.policy,
        record.now,
        given.zone,
        tokens,
        record.budget.limit,
        record.formats,
        record.max_breakpoints,
    )


def model_tokens(record: TraceRecord, counter: TokenCounter) -> ModelTokens:
    """How tokens were counted then."""
    counting = record.counting
    return ModelTokens(counter, counting.frames, counting.exactness, counting.factor_permille)


def _facts(block: CandidateBlock, known: Mapping[int, Fact]) -> tuple[Fact, ...]:
    found = []
    for number, code in zip(numbers(block), block.reasons.tolist(), strict=True):
        fact, reason = known.get(number), REASONS[code]
        if fact is None or fact.state is FactState.DELETED:
            if reason not in _REFUSED:
                raise ContentErased(f"{block.item_prefix}{number}")
            if fact is not None:
                found.append(fact)
        else:
            found.append(replace(fact, state=_STATE.get(reason, FactState.CURRENT)))
    return tuple(found)


def _prepared(conditions: Conditions, facts: tuple[Fact, ...]) -> PreparedFacts:
    return prepare_facts(conditions.policy, facts, conditions.now, conditions.zone, conditions.tokens)


def _history(record: TraceRecord, content: TraceContent, given: Surroundings) -> HistoryInput | None:
    """The recorded candidates as an archive of their own, ranked as they were."""
    block, summary = find_block(record, SourceKind.EXCERPT), record.history
    if block is None or summary is None:
        return None
    archive = prepare_archive(_excerpts(block, given.excerpts), given.counter)
    scores = [block.scores.get(leg, _NO_SCORES) for leg in ("total", "keyword", "neighbour", "session")]
    ranking = Ranking(
        np.arange(len(block), dtype=np.int32), scores[0], Legs(*scores[1:]), summary.matched,
        summary.cutoff_micros or None, _fusion(block, summary),
    )  # fmt: skip
    return HistoryInput(
        archive,
        ranking,
        content.query_terms,
        summary.archive_epoch,
        summary.archive_end_no,
        content.session_id,
        content.query_vector,
    )


def _fusion(block: CandidateBlock, summary: HistorySummary) -> Fusion | None:
    """What the vectors had to do with it; no embedder is needed to know."""
    if not summary.embedder:
        return None
    cosines = block.scores.get("cosine", _NO_SCORES)
    return Fusion(summary.embedder, summary.floor_permille, summary.embedded, cosines)


def _excerpts(block: CandidateBlock, known: Mapping[int, Excerpt]) -> tuple[Excerpt, ...]:
    missing = next((number for number in numbers(block) if number not in known), None)
    if missing is not None:
        raise ContentErased(f"{block.item_prefix}{missing}")
    return tuple(known[number] for number in numbers(block))


def _first_difference(recorded: Sequence[CandidateBlock], replayed: Sequence[CandidateBlock]) -> str:
    """The first item whose fate or place is another, or that only one of the two has."""
    then = {item_id: fate for block in recorded for item_id, fate in _fates(block).items()}
    now = {item_id: fate for block in replayed for item_id, fate in _fates(block).items()}
    return next((item_id for item_id in (*then, *now) if then.get(item_id) != now.get(item_id)), "")


def _fates(block: CandidateBlock) -> dict[str, tuple[int, ...]]:
    columns = (block.outcomes, block.tokens, block.offsets, block.lengths)
    return dict(zip(item_ids(block), zip(*(column.tolist() for column in columns), strict=True), strict=True))
