"""context.proto: what is asked of the context service, as records, and its answers as messages."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime

from assemblers.assembly import PromptFormat
from assemblers.records import Material, SessionRef
from gateway.consistency import decode_token
from gateway.convert.instants import instant_of
from gateway.convert.prompt import FORMAT_OF
from gateway.convert.types import turn_of
from gateway.errors import InvalidArgument
from gateway.usecases.admission import CLOCK_SKEW
from gateway.usecases.requests import ContextRequest, RequestedBudget, RequestedModel
from muniment.v1 import context_pb2, types_pb2
from storage.ports import Epochs

NO_LIMITS = RequestedBudget()


def request_of(
    message: context_pb2.AssembleContextRequest, now: datetime, new_id: Callable[[], str]
) -> ContextRequest:
    """The request. A missing session or turn id follows from the request id, else from a new id (32 hex digits).

    So a repeat under a request id finds its turn again. Raises InvalidArgument.
    """
    session, session_id = message.session, message.session.session_id
    turn = turn_of(message.turn, now)
    if not (session_id and turn.turn_id):
        basis = message.request_id.replace("-", "").lower() or new_id()
        session_id = session_id or f"session-{basis}"
        turn = replace(turn, turn_id=turn.turn_id or f"turn-{basis}")
    return ContextRequest(
        session=SessionRef(session.tenant_id, session.user_id, session_id),
        turn=turn,
        body_sha256=body_sha256(message),
        material=tuple([_material(i, m, now) for i, m in enumerate(message.material)]),
        policy=message.policy,
        model=model_of(message.model) if message.HasField("model") else None,
        budget=_budget(message.budget) if message.HasField("budget") else NO_LIMITS,
        formats=formats_of(message.formats),
        caller_breakpoints=message.caller_breakpoints,
        time_zone=message.time_zone or "UTC",
        labels=tuple(sorted(message.labels.items())) if message.labels else (),
        request_id=message.request_id,
        seen=_seen(message),
    )


def body_sha256(message: context_pb2.AssembleContextRequest) -> bytes:
    """What makes two requests for one turn the same: everything but the request id, which names the attempt, and what
    the caller had seen by then."""
    if message.request_id or message.HasField("consistency"):
        bare = context_pb2.AssembleContextRequest()
        bare.CopyFrom(message)
        bare.ClearField("request_id")
        bare.ClearField("consistency")
        message = bare
    return hashlib.sha256(message.SerializeToString(deterministic=True)).digest()


def model_of(message: types_pb2.ModelProfile) -> RequestedModel:
    """The model."""
    window = message.context_window_tokens if message.HasField("context_window_tokens") else None
    return RequestedModel(message.provider, message.model, message.tokenizer, window)


def formats_of(numbers: Iterable[types_pb2.PromptFormat.ValueType]) -> tuple[PromptFormat, ...]:
    """The formats, in the order asked for."""
    return tuple([FORMAT_OF[number] for number in numbers])


def _seen(message: context_pb2.AssembleContextRequest) -> Epochs | None:
    if not message.HasField("consistency"):
        return None
    return decode_token("consistency.token", message.consistency.token)


def _budget(message: types_pb2.Budget) -> RequestedBudget:
    return RequestedBudget(
        message.max_input_tokens if message.HasField("max_input_tokens") else None,
        message.reserve_output_tokens if message.HasField("reserve_output_tokens") else None,
    )


def _material(index: int, message: context_pb2.Material, now: datetime) -> Material:
    read_time = instant_of(message.read_time) if message.HasField("read_time") else now
    if read_time > now + CLOCK_SKEW:
        raise InvalidArgument.of(
            f"material[{index}].read_time",
            "lies in the future: give the instant at which the source was read, or leave it out for now",
        )
    return Material(index, message.text, message.title, message.source, read_time, message.document_revision)
