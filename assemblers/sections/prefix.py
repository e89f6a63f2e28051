"""The prefix: a system text and tools that are the same for every user, session, turn and clock of a tenant."""

from __future__ import annotations

from dataclasses import dataclass

from assemblers.assembly import CandidateBlock, Part, Source, SourceKind
from assemblers.decisions import required_block
from assemblers.digests import prefix_digest, text_digest
from assemblers.memo import IdentityMemo
from assemblers.records import PrefixRevision, SectionKind
from assemblers.sections.pieces import make_part, piece
from assemblers.tokens import TokenCounter, count_tool


@dataclass(frozen=True, slots=True)
class PreparedPrefix:
    """A prefix rendered and counted. `part` is None where it has no text; `tokens` are raw, with the tools', without
    frames."""

    part: Part | None
    tokens: int
    sha256: str
    section_sha256: str
    block: CandidateBlock


_PREPARED: IdentityMemo[PreparedPrefix] = IdentityMemo(most=64)


def prepare_prefix(prefix: PrefixRevision, counter: TokenCounter) -> PreparedPrefix:
    """The prefix as the first message's part, and its tools' tokens; remembered, since few come with every call."""
    return _PREPARED.get((prefix, counter), (), lambda: _prepare(prefix, counter))


def _prepare(prefix: PrefixRevision, counter: TokenCounter) -> PreparedPrefix:
    source = Source(SourceKind.PREFIX_REVISION, prefix.name)
    counts = [count_tool(counter, tool.definition_json) for tool in prefix.tools]
    ids = [f"tool/{tool.name}" for tool in prefix.tools]
    part, tokens = None, sum(counts)
    if prefix.text:
        text = piece(counter, prefix.text, "prefix", source)
        part = make_part(SectionKind.PREFIX, (text,), text.tokens)
        tokens += text.tokens
        ids, counts = ["prefix", *ids], [text.tokens, *counts]
    placed = part.spans if part is not None else ()
    kind = SourceKind.PREFIX_REVISION
    block = required_block(SectionKind.PREFIX, kind, tuple(ids), counts, placed, 0, 0)
    return PreparedPrefix(part, tokens, prefix_digest(prefix), text_digest(prefix.text), block)
