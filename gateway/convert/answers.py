"""The answer of AssembleContext: as a message, and as the same in bytes for the hot path."""

from functools import lru_cache

from assemblers.assembly import Assembly, Prompt
from assemblers.records import RecentQuestion, SessionRef, Slots, UserRef
from gateway.consistency import encode_token
from gateway.convert import wire
from gateway.convert.encoded_prompt import PromptEncoder
from gateway.convert.prompt import degradations_to, prompt_to
from gateway.convert.types import slots_to
from gateway.names import trace_name
from gateway.usecases.work import Answer
from muniment.v1 import context_pb2, types_pb2
from storage.ports import Epochs

_PROMPT, _POLICY, _TRACE, _SLOTS, _READ_TOKEN = (
    wire.key(context_pb2.AssembleContextResponse, field)
    for field in ("prompt", "policy_revision", "trace", "slots", "read_token")
)
_TOKEN = wire.key(types_pb2.ConsistencyToken, "token")
_QUESTIONS = wire.key(types_pb2.Slots, "recent_questions")
_TURN_ID, _TEXT = (wire.key(types_pb2.RecentQuestion, field) for field in ("turn_id", "text"))


def answer_to(answer: Answer) -> context_pb2.AssembleContextResponse:
    """The message of an answer without its trace."""
    assembly = answer.assembly
    return context_pb2.AssembleContextResponse(
        prompt=prompt_to(assembly, _user(answer.session)),
        policy_revision=answer.policy,
        slots=slots_to(assembly.slots),
        degradations=degradations_to(assembly.degradations),
        warnings=assembly.warnings,
        read_token=None
        if answer.seen is None
        else types_pb2.ConsistencyToken(token=encode_token(answer.seen)),
    )


class AnswerEncoder:
    """Encodes answers with their traces. One instance serves all users."""

    def __init__(self) -> None:
        self._prompts = PromptEncoder()

    def prompt(self, answer: Answer) -> bytes:
        """The encoded `Prompt` of an answer."""
        return self._prompts.encode(answer.assembly, _user(answer.session))

    def encode(self, answer: Answer, prompt: bytes | None = None) -> bytes:
        """The encoded `AssembleContextResponse`; `prompt` is its prompt where that is encoded already."""
        session, assembly = answer.session, answer.assembly
        return b"".join(
            (
                wire.delimited(_PROMPT, self.prompt(answer) if prompt is None else prompt),
                wire.text(_POLICY, answer.policy),
                wire.text(_TRACE, trace_name(session.tenant_id, answer.trace_id)),
                wire.delimited(_SLOTS, _slots(assembly.slots)),
                _words(assembly) if assembly.degradations or assembly.warnings else b"",
                b"" if answer.seen is None else _read_token(answer.seen),
            )
        )


class EarlyPrompt:
    """The prompt of one call, encoded while its trace is on its way to the ledger: then the call waits anyway."""

    def __init__(self, encoder: AnswerEncoder) -> None:
        self._encoder = encoder
        self._prompt: Prompt | None = None
        self._encoded = b""

    def prepare(self, answer: Answer) -> None:
        """Encode the prompt of an answer that may still get other slots or warnings, or become another's."""
        self._prompt, self._encoded = answer.assembly.prompt, self._encoder.prompt(answer)

    def encode(self, answer: Answer) -> bytes:
        """The encoded answer."""
        early = answer.assembly.prompt is self._prompt
        return self._encoder.encode(answer, self._encoded if early else None)


def _user(session: SessionRef) -> UserRef:
    return UserRef(session.tenant_id, session.user_id)


def _slots(slots: Slots) -> bytes:
    """Questions come with every answer, the others seldom change and are seldom there at all."""
    if slots.focus is not None or slots.filters or slots.answer_format:
        return slots_to(slots).SerializeToString()
    return b"".join(map(_question, slots.recent_questions))


def _question(question: RecentQuestion) -> bytes:
    return wire.delimited(_QUESTIONS, wire.text(_TURN_ID, question.turn_id) + wire.text(_TEXT, question.text))


@lru_cache(maxsize=4096)
def _read_token(seen: Epochs) -> bytes:
    return wire.delimited(_READ_TOKEN, wire.text(_TOKEN, encode_token(seen)))


def _words(assembly: Assembly) -> bytes:
    return context_pb2.AssembleContextResponse(
        degradations=degradations_to(assembly.degradations), warnings=assembly.warnings
    ).SerializeToString()
