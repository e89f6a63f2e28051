"""What the use cases of the context service are asked, as records. Unset limits are None: 0 differs."""

from dataclasses import dataclass
from typing import NamedTuple

from assemblers.assembly import PromptFormat
from assemblers.records import Material, SessionRef, Turn
from storage.ports import Epochs


@dataclass(frozen=True, slots=True)
class RequestedModel:
    """The model that the caller will send the prompt to."""

    provider: str
    model: str
    tokenizer: str = ""
    context_window_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class RequestedBudget:
    """The caller's limits, in the model's tokens."""

    max_input_tokens: int | None = None
    reserve_output_tokens: int | None = None


# One comes with every call: a named tuple is made four times faster than a frozen dataclass.
class ContextRequest(NamedTuple):
    """One turn to assemble a prompt for.

    `policy` is empty, a policy id, or a resource name of a policy or revision. `body_sha256` identifies the request
    for repeats of the turn and of `request_id` ("": none); `time_zone` is a valid IANA name. `seen` is what the
    caller's consistency token stands for.
    """

    session: SessionRef
    turn: Turn
    body_sha256: bytes
    material: tuple[Material, ...] = ()
    policy: str = ""
    model: RequestedModel | None = None
    budget: RequestedBudget = RequestedBudget()
    formats: tuple[PromptFormat, ...] = ()
    caller_breakpoints: int = 0
    time_zone: str = "UTC"
    labels: tuple[tuple[str, str], ...] = ()
    request_id: str = ""
    seen: Epochs | None = None
