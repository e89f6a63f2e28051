"""Reads the recorded columns: candidates one by one, where somebody asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assemblers.assembly import OUTCOMES, REASONS, CandidateBlock, SourceKind
from assemblers.records import Outcome, Reason, SectionKind
from assemblers.trace.errors import MalformedTrace
from assemblers.trace.record import TraceContent, TraceRecord


@dataclass(frozen=True, slots=True)
class Location:
    """A run of bytes of the prompt: of part `part` of message `message`, or of tool `part` for message -1."""

    message: int
    part: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate and its fate. `ref` is its item id without the first part; `scores` are millionths by leg;
    `tokens` are raw ones; `location` is None where it fills no bytes."""

    item_id: str
    section: SectionKind
    source_kind: SourceKind
    ref: str
    outcome: Outcome
    reason: Reason
    policy_field: str
    scores: Mapping[str, int]
    tokens: int
    location: Location | None

    @property
    def is_in(self) -> bool:
        """Whether the prompt has it, whole or shortened."""
        return self.outcome is not Outcome.EXCLUDED


def with_refs(record: TraceRecord, content: TraceContent) -> tuple[CandidateBlock, ...]:
    """The record's blocks with their textual refs put back. Raises `MalformedTrace` where the two do not
    fit."""
    texts = list(content.refs)
    blocks = tuple(_named(block, texts) for block in record.blocks)
    if texts:
        raise MalformedTrace("the content's refs are not those of the record")
    return blocks


def _named(block: CandidateBlock, texts: list[tuple[str, ...]]) -> CandidateBlock:
    if not isinstance(block.refs, tuple):
        return block
    if not texts or len(texts[0]) != len(block):
        raise MalformedTrace("the content's refs are not those of the record")
    return replace(block, refs=texts.pop(0))


def find_block(record: TraceRecord, kind: SourceKind) -> CandidateBlock | None:
    """The block of candidates of a kind of source that is numbered, or None."""
    found = (b for b in record.blocks if b.source_kind is kind and not isinstance(b.refs, tuple))
    return next(found, None)


def numbers(block: CandidateBlock) -> list[int]:
    """The numbers of a numbered block's candidates; none for a textual one."""
    return [] if isinstance(block.refs, tuple) else block.refs.tolist()


def item_ids(block: CandidateBlock) -> Sequence[str]:
    """The item ids of a block's candidates, in their order."""
    refs = block.refs if isinstance(block.refs, tuple) else block.refs.tolist()
    return [f"{block.item_prefix}{ref}" for ref in refs]


def candidates(blocks: Sequence[CandidateBlock]) -> Iterator[Candidate]:
    """All candidates, in the order of the blocks."""
    for block in blocks:
        yield from (candidate(block, row) for row in range(len(block)))


def candidate(block: CandidateBlock, row: int) -> Candidate:
    """The candidate of a row."""
    item_id, offset = f"{block.item_prefix}{block.refs[row]}", int(block.offsets[row])
    placed = Location(block.message, block.part, offset, int(block.lengths[row])) if offset >= 0 else None
    return Candidate(
        item_id=item_id,
        section=block.section,
        source_kind=block.source_kind,
        ref=item_id.partition("/")[2] or item_id,
        outcome=OUTCOMES[block.outcomes[row]],
        reason=REASONS[block.reasons[row]],
        policy_field=block.policy_fields[block.fields[row]],
        scores={leg: int(column[row]) for leg, column in block.scores.items()},
        tokens=int(block.tokens[row]),
        location=placed,
    )


def find_row(blocks: Sequence[CandidateBlock], item_id: str) -> tuple[CandidateBlock, int] | None:
    """Where the candidate of that item id stands, or None."""
    for block in blocks:
        if item_id.startswith(block.item_prefix):
            ids = item_ids(block)
            if item_id in ids:
                return block, ids.index(item_id)
    return None
