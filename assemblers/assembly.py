"""What goes into one assembly and what comes out of it: the types around the pure function `assemble`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assemblers.policy.model import PolicyRevision
from assemblers.records import (
    Content,
    Degradation,
    Material,
    Outcome,
    PrefixRevision,
    Reason,
    Role,
    SectionKind,
    SectionStatus,
    Slots,
    Turn,
)
from assemblers.tokens import Exactness, ModelTokens

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bytes1 = npt.NDArray[np.uint8]


class PromptFormat(StrEnum):
    """The renderings that a caller may ask for beside the neutral messages."""

    TEXT = "TEXT"
    OPENAI_CHAT = "OPENAI_CHAT"
    ANTHROPIC_MESSAGES = "ANTHROPIC_MESSAGES"


class SourceKind(StrEnum):
    """What kind of thing a span of the prompt comes from."""

    TURN = "TURN"
    FACT = "FACT"
    EXCERPT = "EXCERPT"
    ARCHIVED_SESSION = "ARCHIVED_SESSION"
    SLOT = "SLOT"
    PREFIX_REVISION = "PREFIX_REVISION"
    POLICY_TEXT = "POLICY_TEXT"
    MATERIAL = "MATERIAL"


# What a prompt has many of are named tuples: one is made four times faster than a frozen dataclass.
class Source(NamedTuple):
    """An item's origin. `ref` is the id within its kind: a fact's or excerpt's number, a turn id, a policy field path.

    `observe_time` is when the content was seen at its origin, None for texts of the policy and the prefix.
    """

    kind: SourceKind
    ref: str
    observe_time: datetime | None = None


class Span(NamedTuple):
    """A run of bytes of a part that belongs to one item. Offset and length count UTF-8 bytes of the part's text."""

    offset: int
    length: int
    item_id: str
    source: Source


class Part(NamedTuple):
    """A piece of a message made by one section. `text` is what is counted and what the spans cover.

    For a tool call `text` is the tool's name and after it the arguments' JSON, for a result the name and the result's
    JSON; each of the two is counted on its own (`assemblers.tokens`). `tokens` are raw ones, without the frame of the
    message, call or result.
    """

    section: SectionKind
    content: Content
    text: str
    spans: tuple[Span, ...]
    tokens: int


class Message(NamedTuple):
    """A provider-neutral message: its text is its parts joined without a separator."""

    role: Role
    parts: tuple[Part, ...]


class Breakpoint(NamedTuple):
    """A place up to which a provider may cache: after part `part` of message `message`."""

    message: int
    part: int
    section: SectionKind
    ttl_class: str


class SectionReport(NamedTuple):
    """A section's line in the budget report. Tokens are of the model, items are whole or absent.

    `used` is what the ceiling bounds: the items. Headings, labels and the frames of messages are in the prompt's `used`
    only. `ceiling` is the limit where the policy sets none.
    """

    section: SectionKind
    status: SectionStatus
    floor: int
    ceiling: int
    used: int
    included: int
    dropped: int
    note: str = ""


class BudgetReport(NamedTuple):
    """The promise and how it was kept: `used` is at most `limit`, and equals an independent recount."""

    limit: int
    used: int
    exactness: Exactness
    tokenizer: str
    factor_permille: int
    sections: tuple[SectionReport, ...]


# Not frozen, which would triple the cost of making one; nobody changes one.
@dataclass(slots=True)
class CandidateBlock:
    """The candidates of one section and their fates, in columns (an object for each would cost ten times more).

    Row i is item `item_prefix + str(refs[i])`. `outcomes` and `reasons` index `tuple(Outcome)` and `tuple(Reason)`,
    `fields` indexes `policy_fields` (entry 0 is ""). `offsets`/`lengths` are the bytes it fills in part `part` of
    message `message`, -1 where it fills none. Scores are quantised integers by leg name (millionths).
    """

    section: SectionKind
    source_kind: SourceKind
    item_prefix: str
    refs: tuple[str, ...] | Int32s
    outcomes: Bytes1
    reasons: Bytes1
    fields: Bytes1
    policy_fields: tuple[str, ...]
    tokens: Int32s
    offsets: Int32s
    lengths: Int32s
    message: int
    part: int
    scores: Mapping[str, Int64s]

    def __len__(self) -> int:
        return len(self.refs)


@dataclass(frozen=True, slots=True)
class HistorySummary:
    """What the trace holds of the archive beyond the listed candidates. Scores are millionths.

    `archive_end_no` is one past the highest excerpt number under that epoch: what has it or more was archived later.
    Where vectors had a say: `embedder` is the id of their space, `floor_permille` the cosine from which an excerpt
    could be shown by its vector alone, `embedded` how many had one, and `query_vector` the question's, packed.
    """

    matched: int
    cutoff_micros: int
    archive_epoch: int
    query_terms: tuple[str, ...]
    archive_end_no: int = 0
    embedder: str = ""
    floor_permille: int = 0
    embedded: int = 0
    query_vector: bytes = b""


@dataclass(frozen=True, slots=True)
class TurnInput:
    """The turn being answered. In a tool loop `turn` is the newest input (role TOOL), `question` the latest user text
    and `open_turns` the assistant's calls and the tools' results since then, the newest turn included."""

    turn: Turn
    question: str
    question_turn_id: str
    question_time: datetime
    open_turns: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class Conditions:
    """The outer conditions of an assembly: policy, clock, time zone, model and the budget, all of them inputs.

    `limit` is in the model's tokens; `max_breakpoints` what the provider allows after the caller's own marks.
    """

    policy: PolicyRevision
    now: datetime
    zone: tzinfo
    tokens: ModelTokens
    limit: int
    formats: tuple[PromptFormat, ...] = ()
    max_breakpoints: int = 4


@dataclass(frozen=True, slots=True)
class RenderedPart:
    """Where a part or a tool stands in a rendering, so that each of its spans can be found there.

    `index` is the part of message `message`; of a tool, whose `message` is None, its place among the prefix's tools.
    `pointer` is the JSON Pointer (RFC 6901) of the string that holds the part's text, or of the object that a call,
    a result or a tool became; "" for TEXT, whose body is one string. `offset` is the part's first byte within that
    string, in UTF-8 bytes of its decoded form; 0 for an object.
    """

    message: int | None
    index: int
    pointer: str
    offset: int


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt in one format. Parts without anything visible are in no body, and so not in `parts` either.

    `notes` say in words where the format made something else of a message, such as another role.
    """

    body: bytes
    parts: tuple[RenderedPart, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """The finished prompt. Digests are SHA-256 in hex; `rendered` holds each requested format."""

    messages: tuple[Message, ...]
    prefix: PrefixRevision | None
    budget: BudgetReport
    breakpoints: tuple[Breakpoint, ...]
    prefix_sha256: str
    section_sha256: Mapping[SectionKind, str]
    prompt_sha256: str
    rendered: Mapping[PromptFormat, Rendered]


@dataclass(frozen=True, slots=True)
class Assembly:
    """A prompt with the fate of every candidate, and the slots as they are after this turn."""

    prompt: Prompt
    blocks: tuple[CandidateBlock, ...]
    history: HistorySummary | None
    slots: Slots
    degradations: tuple[Degradation, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Need:
    """What a required part or floor needs, in the model's tokens."""

    section: SectionKind
    tokens: int
    what: str


class BudgetTooSmall(Exception):
    """Prefix, question and floors do not fit the limit. Carries the needs per section, in byte order, all above 0."""

    def __init__(self, limit: int, needs: tuple[Need, ...]) -> None:
        self.limit = limit
        self.needs = needs
        total = sum(n.tokens for n in needs)
        super().__init__(f"the required sections need {total} tokens, the limit is {limit}")


OUTCOMES = tuple(Outcome)
REASONS = tuple(Reason)

__all__ = [
    "OUTCOMES",
    "REASONS",
    "Assembly",
    "Breakpoint",
    "BudgetReport",
    "BudgetTooSmall",
    "CandidateBlock",
    "Conditions",
    "HistorySummary",
    "Material",
    "Message",
    "Need",
    "Part",
    "Prompt",
    "PromptFormat",
    "Rendered",
    "RenderedPart",
    "SectionReport",
    "Source",
    "SourceKind",
    "Span",
    "TurnInput",
]
