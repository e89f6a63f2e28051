"""Plays a conversation: what was before goes in at once, the last session turn by turn."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from gateway.client.client import Client
from gateway.client.conversations.records import Conversation, PolicySource, TurnStep, Wait
from muniment.v1.context_pb2 import AssembleContextRequest, AssembleContextResponse
from muniment.v1.errors_pb2 import Diagnostic
from muniment.v1.fact_pb2 import FactResult, RecordFactsRequest
from muniment.v1.history_pb2 import ImportHistoryRequest, ImportHistoryResponse, PastSession
from muniment.v1.policy_service_pb2 import ActivatePolicyRevisionRequest, RegisterPolicyRevisionRequest
from muniment.v1.prefix_pb2 import PrefixRevision
from muniment.v1.session_pb2 import RecordTurnsRequest
from muniment.v1.types_pb2 import PromptFormat, Role, SessionRef, Turn, UserRef

FACTS_PER_CALL = 256
IMPORT_BYTES = 2 << 20
"""How much of an archive goes in one call; the server takes 4 MiB."""

ALL_FORMATS = (
    PromptFormat.PROMPT_FORMAT_TEXT,
    PromptFormat.PROMPT_FORMAT_OPENAI_CHAT,
    PromptFormat.PROMPT_FORMAT_ANTHROPIC_MESSAGES,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a turn of the live session brought."""

    turn: Turn
    response: AssembleContextResponse
    seconds: float


@dataclass(frozen=True, slots=True)
class Played:
    """All that was done. `answers` are those of the USER and TOOL turns, in order."""

    policy: str = ""
    warnings: tuple[Diagnostic, ...] = ()
    prefixes: tuple[PrefixRevision, ...] = ()
    verdicts: tuple[FactResult, ...] = ()
    imported: ImportHistoryResponse = field(default_factory=ImportHistoryResponse)
    answers: tuple[Answer, ...] = ()


Progress = Callable[[str, int, int], None]
"""Called with the stage, how much of it is done, and how much there is."""


class Player:
    """Plays one conversation through a client, stage by stage. Every method raises `CallError`."""

    def __init__(
        self, client: Client, conversation: Conversation, progress: Progress = lambda *_: None
    ) -> None:
        self._client = client
        self._conversation = conversation
        self._progress = progress
        header = conversation.header
        self._user = UserRef(tenant_id=header.tenant, user_id=header.user)
        self._policy = ""

    def play(self) -> Played:
        """Everything, in order."""
        policy, warnings = self._activate()
        self._policy = policy
        played = Played(policy=policy, warnings=warnings, prefixes=tuple(self._register_prefixes()))
        played = replace(played, verdicts=tuple(self._record_facts()), imported=self._import())
        return replace(played, answers=tuple(self._live()))

    def _activate(self) -> tuple[str, tuple[Diagnostic, ...]]:
        """The policy to name in each call, and warnings of its check. A source becomes the revision in force."""
        header = self._conversation.header
        if not isinstance(header.policy, PolicySource):
            return header.policy, ()
        policies = self._client.policies
        register = RegisterPolicyRevisionRequest(tenant_id=header.tenant, yaml=header.policy.yaml)
        answer = self._client.call(policies.RegisterPolicyRevision, register)
        activate = ActivatePolicyRevisionRequest(name=answer.revision.name)
        self._client.call(policies.ActivatePolicyRevision, activate)
        return answer.revision.name, tuple(answer.diagnostics)

    def _register_prefixes(self) -> Iterator[PrefixRevision]:
        for request in self._conversation.prefixes:
            yield self._client.call(self._client.prefixes.RegisterPrefixRevision, request).revision

    def _record_facts(self) -> Iterator[FactResult]:
        facts = self._conversation.facts
        for start in range(0, len(facts), FACTS_PER_CALL):
            request = RecordFactsRequest(
                user=self._user, facts=facts[start : start + FACTS_PER_CALL], policy=self._policy
            )
            yield from self._client.call(self._client.facts.RecordFacts, request).results
            self._progress("facts", min(start + FACTS_PER_CALL, len(facts)), len(facts))

    def _import(self) -> ImportHistoryResponse:
        return import_sessions(
            self._client, self._user, self._conversation.past, self._policy, self._progress
        )

    def _live(self) -> Iterator[Answer]:
        steps = self._conversation.live.steps
        for done, step in enumerate(steps, 1):
            if isinstance(step, Wait):
                time.sleep(max(0.0, (step.until - datetime.now(UTC)).total_seconds()))
            elif step.turn.role == Role.ROLE_ASSISTANT:
                request = RecordTurnsRequest(session=self._session(), turns=[step.turn], policy=self._policy)
                self._client.call(self._client.sessions.RecordTurns, request)
            else:
                yield self._assemble(step)
            self._progress("turns", done, len(steps))

    def _assemble(self, step: TurnStep) -> Answer:
        header = self._conversation.header
        request = AssembleContextRequest(
            session=self._session(),
            turn=step.turn,
            material=step.material,
            policy=self._policy,
            model=header.model,
            budget=header.budget,
            formats=ALL_FORMATS,
            time_zone=header.time_zone,
        )
        start = time.perf_counter()
        response = self._client.call(self._client.context.AssembleContext, request)
        return Answer(step.turn, response, time.perf_counter() - start)

    def _session(self) -> SessionRef:
        return SessionRef(
            tenant_id=self._user.tenant_id,
            user_id=self._user.user_id,
            session_id=self._conversation.live.session_id,
        )


def import_sessions(
    client: Client,
    user: UserRef,
    sessions: tuple[PastSession, ...],
    policy: str,
    progress: Progress,
    validate_only: bool = False,
) -> ImportHistoryResponse:
    """Archive past sessions in calls of bounded size; the counts of all of them."""
    total = ImportHistoryResponse()
    for batch in _batches(sessions):
        request = ImportHistoryRequest(user=user, sessions=batch, policy=policy, validate_only=validate_only)
        answer = client.call(client.history.ImportHistory, request)
        for name in ("session_count", "turn_count", "skipped_turn_count", "excerpt_count", "duplicate_count"):
            setattr(total, name, getattr(total, name) + getattr(answer, name))
        progress("sessions", total.session_count, len(sessions))
    return total


def _batches(sessions: tuple[PastSession, ...]) -> Iterator[list[PastSession]]:
    batch: list[PastSession] = []
    size = 0
    for session in sessions:
        if batch and (size + session.ByteSize() > IMPORT_BYTES or len(batch) == 1000):
            yield batch
            batch, size = [], 0
        batch.append(session)
        size += session.ByteSize()
    if batch:
        yield batch
