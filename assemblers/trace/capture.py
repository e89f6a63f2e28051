"""Makes the trace of an assembly: both sides, as the bytes that are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from assemblers.assembly import Assembly, Conditions, TurnInput
from assemblers.ranking import INDEX_FORMAT
from assemblers.records import Material, SessionRef, Slots
from assemblers.tokens import ModelTokens
from assemblers.trace.codec import encode_record
from assemblers.trace.commitments import (
    Commitments,
    commitment,
    evidence,
    session_pseudonym,
    turn_pseudonym,
    user_pseudonym,
)
from assemblers.trace.content_codec import encode_content
from assemblers.trace.record import (
    RECORD_FORMAT,
    RENDERER_VERSION,
    Asked,
    CodedDegradation,
    Counting,
    Seals,
    Timing,
    TraceContent,
    TraceRecord,
    Versions,
)


class TraceIdentity(NamedTuple):
    """Whose trace it is. `pseudonym` is the user's secret one; `salt` is 16 fresh random bytes."""

    trace_id: str
    session: SessionRef
    pseudonym: str
    salt: bytes


class TracedInputs(NamedTuple):
    """What an assembly was given beside its conditions. `facts` and `excerpts` are those of every candidate
    at least; a caller keeps them with what it prepares once for many calls."""

    turn: TurnInput
    material: tuple[Material, ...]
    slots: Slots
    facts: Commitments
    excerpts: Commitments
    asked: Asked


class CapturedTrace(NamedTuple):
    """A trace's bytes: the record goes into the chain, the content beside it."""

    record: bytes
    content: bytes


def versions_of(engine: str, libraries: Mapping[str, str]) -> Versions:
    """The versions to record, made once per process: Muniment's own, and those of numpy, regex and
    snowballstemmer by name."""
    return Versions(engine, RENDERER_VERSION, INDEX_FORMAT, libraries)


@lru_cache(maxsize=256)
def counting_of(tokens: ModelTokens) -> Counting:
    """How a model's tokens are counted, as recorded."""
    return Counting(tokens.counter.id, tokens.factor_permille, tokens.exactness, tokens.frames)


def capture(
    identity: TraceIdentity,
    conditions: Conditions,
    inputs: TracedInputs,
    assembly: Assembly,
    versions: Versions,
    timings: Sequence[Timing] = (),
) -> CapturedTrace:
    """Both sides of the trace of `assembly`. Pure: chance (id, salt) and clock (timings) are inputs.

    Raises `KeyError` for a candidate that `inputs` does not hold.
    """
    content = encode_content(_content(identity, inputs, assembly))
    seals = Seals(
        prompt_seal(identity.salt, assembly.prompt.prompt_sha256),
        commitment(identity.salt, content),
        evidence(assembly.blocks, inputs.facts, inputs.excerpts),
    )
    record = _record(identity, conditions, inputs.turn, assembly, versions, tuple(timings), seals)
    return CapturedTrace(encode_record(record), content)


def prompt_seal(salt: bytes, prompt_sha256: str) -> bytes:
    """The salted digest of a prompt's digest."""
    return commitment(salt, prompt_sha256.encode())


def _content(identity: TraceIdentity, inputs: TracedInputs, assembly: Assembly) -> TraceContent:
    history, prompt = assembly.history, assembly.prompt
    return TraceContent(
        salt=identity.salt,
        session_id=identity.session.session_id,
        turn=inputs.turn,
        asked=inputs.asked,
        material=inputs.material,
        slots_before=inputs.slots,
        slots_after=assembly.slots,
        query_terms=history.query_terms if history else (),
        query_vector=history.query_vector if history else b"",
        refs=tuple([block.refs for block in assembly.blocks if isinstance(block.refs, tuple)]),
        prompt_sha256=prompt.prompt_sha256,
        section_sha256=prompt.section_sha256,
        notes={line.section: line.note for line in prompt.budget.sections if line.note},
        degradations=assembly.degradations,
        warnings=assembly.warnings,
    )


def _record(
    identity: TraceIdentity,
    conditions: Conditions,
    turn: TurnInput,
    assembly: Assembly,
    versions: Versions,
    timings: tuple[Timing, ...],
    seals: Seals,
) -> TraceRecord:
    session, prefix = identity.session, assembly.prompt.prefix
    return TraceRecord(
        format=RECORD_FORMAT,
        trace_id=identity.trace_id,
        tenant_id=session.tenant_id,
        user=user_pseudonym(identity.pseudonym),
        session=session_pseudonym(identity.pseudonym, session.session_id),
        turn=turn_pseudonym(identity.pseudonym, session.session_id, turn.turn.turn_id),
        policy=conditions.policy.name,
        prefix=prefix.name if prefix else "",
        versions=versions,
        counting=counting_of(conditions.tokens),
        now=conditions.now,
        zone=str(conditions.zone),
        max_breakpoints=conditions.max_breakpoints,
        formats=conditions.formats,
        budget=assembly.prompt.budget,
        blocks=assembly.blocks,
        history=assembly.history,
        degradations=tuple([CodedDegradation(d.section, d.status, d.reason) for d in assembly.degradations]),
        timings=timings,
        seals=seals,
    )
