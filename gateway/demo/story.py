"""Plays a conversation and asks everything that can be asked about its last prompt."""

from collections.abc import Iterator
from dataclasses import dataclass

from gateway.client import Client
from gateway.client.conversations import Conversation, Played, Player
from muniment.v1.context_pb2 import CountTokensRequest
from muniment.v1.prompt_pb2 import Prompt
from muniment.v1.trace_pb2 import (
    Candidate,
    ExplainAbsenceRequest,
    ExplainAbsenceResponse,
    ExplainItemRequest,
    ExplainItemResponse,
    GetTraceRequest,
    Outcome,
    ReplayTraceRequest,
    ReplayTraceResponse,
    Trace,
)
from muniment.v1.types_pb2 import SectionKind

_MOST_ASKED = 16


@dataclass(frozen=True, slots=True)
class Story:
    """All answers. `why` is unset where the prompt holds neither fact nor excerpt.

    `recounted` has the tokens of each text part, counted once more on its own.
    """

    conversation: Conversation
    played: Played
    trace: Trace
    why: ExplainItemResponse | None
    why_not: tuple[ExplainAbsenceResponse, ...]
    replay: ReplayTraceResponse
    recounted: tuple[int, ...]

    @property
    def prompt(self) -> Prompt:
        """The prompt of the last turn."""
        return self.played.answers[-1].response.prompt


def tell(client: Client, conversation: Conversation) -> Story:
    """Play, and ask. Raises `CallError`."""
    played = Player(client, conversation).play()
    name = played.answers[-1].response.trace
    trace = client.call(client.traces.GetTrace, GetTraceRequest(name=name)).trace
    return Story(
        conversation,
        played,
        trace,
        _why(client, trace),
        tuple(_why_not(client, trace)),
        client.call(client.traces.ReplayTrace, ReplayTraceRequest(name=name)),
        _recount(client, conversation, trace, played.answers[-1].response.prompt),
    )


def text_parts(prompt: Prompt) -> Iterator[tuple[str, int]]:
    """Each text part with the tokens that the prompt gives it."""
    for message in prompt.messages:
        for part in message.parts:
            if part.content.HasField("text"):
                yield part.content.text, part.token_count


def _recount(client: Client, conversation: Conversation, trace: Trace, prompt: Prompt) -> tuple[int, ...]:
    texts = [text for text, _ in text_parts(prompt)]
    request = CountTokensRequest(tenant_id=conversation.header.tenant, model=trace.model, texts=texts)
    return tuple(client.call(client.context.CountTokens, request).token_counts)


def _why(client: Client, trace: Trace) -> ExplainItemResponse | None:
    """Of the facts in the prompt the one with the longest line of descent; without facts an excerpt."""
    included = [c for c in trace.candidates if c.outcome != Outcome.OUTCOME_EXCLUDED]
    asked = _of(included, SectionKind.SECTION_KIND_FACTS) or _of(included, SectionKind.SECTION_KIND_HISTORY)
    requests = [ExplainItemRequest(trace=trace.name, item_id=c.item_id) for c in asked[:_MOST_ASKED]]
    answers = [client.call(client.traces.ExplainItem, request) for request in requests]
    return max(answers, key=lambda answer: len(answer.steps), default=None)


def _why_not(client: Client, trace: Trace) -> Iterator[ExplainAbsenceResponse]:
    """One fact for each reason that facts were left out for, and the best excerpt that was left out."""
    excluded = [c for c in trace.candidates if c.outcome == Outcome.OUTCOME_EXCLUDED]
    facts = {c.reason: c for c in reversed(_of(excluded, SectionKind.SECTION_KIND_FACTS))}
    for candidate in sorted(facts.values(), key=lambda c: c.reason):
        yield _absence(client, ExplainAbsenceRequest(trace=trace.name, fact=candidate.source.fact))
    for candidate in _of(excluded, SectionKind.SECTION_KIND_HISTORY)[:1]:
        yield _absence(client, ExplainAbsenceRequest(trace=trace.name, excerpt=candidate.source.excerpt))


def _absence(client: Client, request: ExplainAbsenceRequest) -> ExplainAbsenceResponse:
    return client.call(client.traces.ExplainAbsence, request)


def _of(candidates: list[Candidate], section: "SectionKind.ValueType") -> list[Candidate]:
    return [c for c in candidates if c.section == section]
