"""What one trace says: the record, which holds no content and is chained, and the content beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from assemblers.assembly import BudgetReport, CandidateBlock, HistorySummary, PromptFormat, TurnInput
from assemblers.records import Degradation, Material, SectionKind, SectionStatus, Slots
from assemblers.tokens import Exactness, Frame

RECORD_FORMAT: Final = 1
"""Version of the record's bytes: a change of layout is a new one, and former ones stay readable."""

RENDERER_VERSION: Final = 1
"""The renderer that this release records. A change of rendering is a new version."""

SALT_BYTES: Final = 16


# Versions and countings are made once per process and model, and compared by identity: their JSON is cached.


@dataclass(frozen=True, slots=True, eq=False)
class Versions:
    """The software that made the prompt: Muniment's version, the renderer's, ranking's index format, and
    those of the libraries by name."""

    engine: str
    renderer: int
    index_format: int
    libraries: Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Counting:
    """How tokens were counted: vocabulary, factor in permille, exactness, and the frames by format name."""

    tokenizer: str
    factor_permille: int
    exactness: Exactness
    frames: Mapping[str, Frame]


class CodedDegradation(NamedTuple):
    """A degradation without its detail, which lies with the content."""

    section: SectionKind
    status: SectionStatus
    reason: str


class Timing(NamedTuple):
    """How long a stage took, in microseconds."""

    stage: str
    micros: int


class Seals(NamedTuple):
    """What ties the record to content outside of the chain; 32 bytes each, worthless without the salts.

    `prompt`: salted SHA-256 of the prompt's digest. `content`: salted SHA-256 of the content's bytes.
    `evidence`: SHA-256 over the commitments of the candidates among facts and excerpts, in their order.
    """

    prompt: bytes
    content: bytes
    evidence: bytes


# Not frozen, which would triple the cost of making one; nobody changes one.
@dataclass(slots=True)
class TraceRecord:
    """The side of a trace that holds no content.

    `user`, `session` and `turn` are keyed by the user's pseudonym, which is not in the record: without its
    row nobody can link or guess them. Blocks whose refs are texts are encoded without these (they may be ids
    of foreign systems) and decode with empty ones; `assemblers.trace.candidates.with_refs` puts them back
    from the content. `history` decodes without its query terms and vector for the same reason, `budget` without its
    notes.
    """

    format: int
    trace_id: str
    tenant_id: str
    user: str
    session: str
    turn: str
    policy: str
    prefix: str
    versions: Versions
    counting: Counting
    now: datetime
    zone: str
    max_breakpoints: int
    formats: tuple[PromptFormat, ...]
    budget: BudgetReport
    blocks: tuple[CandidateBlock, ...]
    history: HistorySummary | None
    degradations: tuple[CodedDegradation, ...]
    timings: tuple[Timing, ...]
    seals: Seals


class Asked(NamedTuple):
    """What the caller asked for beyond the turn itself. Figures are None where the call did not set them;
    `otel_trace_id` is the hex id of the OpenTelemetry trace of the call, empty without one."""

    policy: str = ""
    provider: str = ""
    model: str = ""
    max_input_tokens: int | None = None
    reserve_output_tokens: int | None = None
    labels: tuple[tuple[str, str], ...] = ()
    otel_trace_id: str = ""


# Not frozen, which would triple the cost of making one; nobody changes one.
@dataclass(slots=True)
class TraceContent:
    """The side that can be erased: everything a replay needs that is not stored elsewhere for good.

    `refs` are those of the blocks with textual refs, in the order of the blocks. Digests are SHA-256 in hex.
    `query_vector` is packed (`assemblers.ranking.pack_question`), empty where no vectors were searched.
    """

    salt: bytes
    session_id: str
    turn: TurnInput
    asked: Asked
    material: tuple[Material, ...]
    slots_before: Slots
    slots_after: Slots
    query_terms: tuple[str, ...]
    refs: tuple[tuple[str, ...], ...]
    prompt_sha256: str
    section_sha256: Mapping[SectionKind, str]
    notes: Mapping[SectionKind, str]
    degradations: tuple[Degradation, ...]
    warnings: tuple[str, ...]
    query_vector: bytes = b""
