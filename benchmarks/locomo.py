"""`python -m benchmarks.locomo DATA`: evidence recall of the history section on LoCoMo, through the API.

Imports the ten conversations, asks every question through AssembleContext under three ceilings, and reads out of the
traces which turns were in the prompt: once of a gateway without a model, once of one with the embedder `minilm`. Writes
`benchmarks/out/locomo.json`. Ends with 0 when it could measure.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from google.protobuf.timestamp_pb2 import Timestamp

from benchmarks.figures import OUT, Figure, publish
from benchmarks.locomo_data import DatedSession, Dialogue, Question, WrongDataError, read_dialogues
from benchmarks.progress import counter, say
from benchmarks.recall import Found, at_least
from benchmarks.recall import figures as recall_figures
from gateway.client import CallError, Client, connect
from gateway.demo.process import GatewayFailed, running_gateway
from muniment.v1 import context_pb2, history_pb2, policy_service_pb2, trace_pb2, types_pb2

TENANT: Final = "locomo"


class System(NamedTuple):
    """One way of searching. `bars` are percent by ceiling; names of its figures begin with `prefix`."""

    prefix: str
    embedder: str
    bars: Mapping[int, float]

    @property
    def has_vectors(self) -> bool:
        """Whether it searches by vectors too."""
        return self.embedder != "none"


SYSTEMS: Final = (
    # BM25 with neighbours and session boost, without a model.
    System("", "none", {512: 74.1, 1_024: 80.4, 2_048: 86.1}),
    # BM25 and MiniLM fused by standard scores, with neighbours and session boost.
    System("hybrid_", "minilm", {512: 77.8, 1_024: 83.9, 2_048: 89.3}),
)

_CONCURRENT: Final = 4
_ATTEMPTS: Final = 50
_EMBEDDING_SECONDS: Final = 1800.0
_POLL_SECONDS: Final = 0.5
_TIMEOUT: Final = 60.0
_ANY: Final = 512
"""The ceiling of the policy where it makes no difference."""
_POLICY: Final = """\
policy_id: {name}
sections:
  - history: {{}}
    budget: {{ceiling_tokens: {tokens}}}
  - question: {{}}
"""


class NotEmbeddedError(RuntimeError):
    """Excerpts or questions did not get their vectors in time."""


class ExcerptTurns:
    """Which turn an excerpt is of: asked once per excerpt, since excerpts never change."""

    def __init__(self, client: Client) -> None:
        self._client, self._known = client, dict[str, str]()

    def of(self, trace: trace_pb2.Trace) -> frozenset[str]:
        """The turns whose excerpts are in the prompt of a trace."""
        placed = [
            c
            for c in trace.candidates
            if c.section == types_pb2.SECTION_KIND_HISTORY and c.outcome == trace_pb2.OUTCOME_INCLUDED
        ]
        return frozenset(self._turn(trace.name, candidate) for candidate in placed)

    def _turn(self, trace: str, candidate: trace_pb2.Candidate) -> str:
        excerpt = candidate.source.excerpt
        if excerpt not in self._known:
            request = trace_pb2.ExplainItemRequest(trace=trace, item_id=candidate.item_id)
            answer = self._client.call(self._client.traces.ExplainItem, request)
            observed = (s for s in answer.steps if s.kind == trace_pb2.DescentStep.KIND_OBSERVED)
            self._known[excerpt] = next(observed).reference
        return self._known[excerpt]


def measure(client: Client, dialogues: Sequence[Dialogue], system: System) -> list[Figure]:
    """All figures of a system."""
    for tokens in system.bars:
        _register(client, tokens)
    excerpts = {dialogue.user_id: _import(client, dialogue) for dialogue in dialogues}
    if system.has_vectors:
        for dialogue in dialogues:
            _await_vectors(client, dialogue.user_id, excerpts[dialogue.user_id])
    asking, figures, late = _Asking(client, ExcerptTurns(client), system), list[Figure](), 0
    for tokens, bar in system.bars.items():
        say(f"a ceiling of {tokens} tokens, embedder {system.embedder}")
        answered = asking.all(dialogues, tokens)
        late += sum(one.late for one in answered)
        figures += recall_figures(tokens, [one.found for one in answered], at_least(bar), system.prefix)
    # How often a question had to be asked again: the machine was busy, and its vector came too late.
    return [*figures, Figure(f"{system.prefix}late", late, "answers")] if system.has_vectors else figures


def _counts(dialogues: Sequence[Dialogue]) -> list[Figure]:
    turns = sum(len(session.turns) for dialogue in dialogues for session in dialogue.sessions)
    asked = [q for dialogue in dialogues for q in dialogue.questions if q.evidence]
    answerable = sum(q.category in range(1, 5) for q in asked)
    return [
        Figure("turns", turns, "turns"),
        Figure("answerable_questions", answerable, "questions"),
        Figure("adversarial_questions", len(asked) - answerable, "questions"),
    ]


def _register(client: Client, tokens: int) -> None:
    yaml = _POLICY.format(name=_policy(tokens), tokens=tokens).encode()
    request = policy_service_pb2.RegisterPolicyRevisionRequest(tenant_id=TENANT, yaml=yaml)
    name = client.call(client.policies.RegisterPolicyRevision, request).revision.name
    activate = policy_service_pb2.ActivatePolicyRevisionRequest(name=name)
    client.call(client.policies.ActivatePolicyRevision, activate)


def _policy(tokens: int) -> str:
    return f"history-{tokens}"


def _import(client: Client, dialogue: Dialogue) -> int:
    """Import a dialogue; gives the number of its excerpts."""
    request = history_pb2.ImportHistoryRequest(
        user=types_pb2.UserRef(tenant_id=TENANT, user_id=dialogue.user_id),
        sessions=[_past_session(session) for session in dialogue.sessions],
        policy=_policy(_ANY),
    )
    answer = client.call(client.history.ImportHistory, request, _TIMEOUT)
    say(f"  {dialogue.user_id}: {answer.session_count} sessions, {answer.turn_count} turns")
    return answer.excerpt_count


def _await_vectors(client: Client, user_id: str, excerpts: int) -> None:
    """Until all excerpts of a user have a vector, which come in the background."""
    question = Question("vectors", "How many?", 0, frozenset(), frozenset())
    request = context_pb2.ExplainContextRequest(request=_request(user_id, question, _ANY))
    ends = time.monotonic() + _EMBEDDING_SECONDS
    while True:
        embedded = client.call(client.context.ExplainContext, request).trace.history.embedded_count
        if embedded == excerpts:
            return
        if time.monotonic() > ends:
            raise NotEmbeddedError(f"{user_id}: {embedded} of {excerpts} excerpts have a vector")
        time.sleep(_POLL_SECONDS)


def _past_session(session: DatedSession) -> history_pb2.PastSession:
    start = Timestamp()
    start.FromDatetime(session.start_time)
    turns = [
        types_pb2.Turn(
            turn_id=turn.turn_id, role=types_pb2.ROLE_USER, speaker=turn.speaker,
            contents=[types_pb2.Content(text=turn.text)],
        )
        for turn in session.turns
    ]  # fmt: skip
    return history_pb2.PastSession(session_id=session.session_id, start_time=start, turns=turns)


class _Answered(NamedTuple):
    """What a prompt held, and how many before it went without the question's vector."""

    found: Found
    late: int


@dataclass(frozen=True, slots=True)
class _Asking:
    """Asks questions of one system."""

    client: Client
    turns: ExcerptTurns
    system: System

    def all(self, dialogues: Sequence[Dialogue], tokens: int) -> list[_Answered]:
        """All questions that have evidence, some at the same time."""
        asked = [(d.user_id, question) for d in dialogues for question in d.questions if question.evidence]
        step = counter("questions", len(asked))

        def one(user_id: str, question: Question) -> _Answered:
            answered = self._one(user_id, question, tokens)
            step()
            return answered

        with ThreadPoolExecutor(_CONCURRENT) as pool:
            return list(pool.map(lambda pair: one(*pair), asked))

    def _one(self, user_id: str, question: Question, tokens: int) -> _Answered:
        """An answer of this system. One that fell back to keywords, as the gateway does on a busy machine, is another
        system's: it is counted and asked for again."""
        for late in range(_ATTEMPTS):
            trace = self._trace(_request(user_id, question, tokens, late))
            if bool(trace.history.embedder) == self.system.has_vectors:
                return _Answered(Found(question, self.turns.of(trace)), late)
        raise NotEmbeddedError(f"{question.question_id}: its vector came too late {_ATTEMPTS} times")

    def _trace(self, request: context_pb2.AssembleContextRequest) -> trace_pb2.Trace:
        answer = self.client.call(self.client.context.AssembleContext, request)
        get = trace_pb2.GetTraceRequest(name=answer.trace)
        return self.client.call(self.client.traces.GetTrace, get).trace


def _request(
    user_id: str, question: Question, tokens: int, attempt: int = 0
) -> context_pb2.AssembleContextRequest:
    """Each question has a session of its own: none must help another."""
    session_id = f"{question.question_id}-{tokens}-{attempt}"
    return context_pb2.AssembleContextRequest(
        session=types_pb2.SessionRef(tenant_id=TENANT, user_id=user_id, session_id=session_id),
        turn=types_pb2.Turn(
            turn_id="question", role=types_pb2.ROLE_USER, contents=[types_pb2.Content(text=question.text)]
        ),
        policy=_policy(tokens),
    )


def _run(dialogues: Sequence[Dialogue]) -> list[Figure]:
    figures = _counts(dialogues)
    for system in SYSTEMS:
        figures += _run_system(dialogues, system)
    return figures


def _run_system(dialogues: Sequence[Dialogue], system: System) -> list[Figure]:
    OUT.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=OUT, prefix="locomo-") as folder,
        running_gateway(
            Path(folder) / "data", Path(folder) / "log", ("--embedder", system.embedder)
        ) as address,
        connect(address) as client,
    ):
        return measure(client, dialogues, system)


def main(arguments: Sequence[str]) -> int:
    """The command. Gives the exit code: 2 where it could not measure."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.locomo", description="See docs/benchmarks.md."
    )
    parser.add_argument("data", nargs="?", type=Path, help="the folder that holds locomo/locomo10.json")
    data: Path | None = parser.parse_args(arguments).data
    if data is None:
        print("skipped: LoCoMo is not part of this repository; name its folder: make bench-locomo DATA=...")
        return 0
    try:
        figures = _run(read_dialogues(data))
    except (WrongDataError, GatewayFailed, CallError, NotEmbeddedError, OSError) as error:
        print(f"could not measure: {error}", file=sys.stderr)
        return 2
    publish(figures, "locomo")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
