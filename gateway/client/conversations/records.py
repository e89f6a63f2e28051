"""A conversation that was read: requests that are ready to be sent, with every date resolved."""

from dataclasses import dataclass
from datetime import datetime

from muniment.v1.context_pb2 import Material
from muniment.v1.fact_pb2 import Fact
from muniment.v1.history_pb2 import PastSession
from muniment.v1.prefix_pb2 import RegisterPrefixRevisionRequest
from muniment.v1.types_pb2 import Budget, ModelProfile, Turn


@dataclass(frozen=True, slots=True)
class PolicySource:
    """A policy to register and activate. `file` is where its YAML stands, for diagnostics."""

    file: str
    yaml: bytes


@dataclass(frozen=True, slots=True)
class TurnStep:
    """A turn of the live session, with the material that was brought for it."""

    turn: Turn
    material: tuple[Material, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """Go on at this instant, so that something can expire."""

    until: datetime


@dataclass(frozen=True, slots=True)
class LiveSession:
    """The last session, which is played turn by turn."""

    session_id: str
    steps: tuple[TurnStep | Wait, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """What the first line says. `policy` is a source to register, the name of a policy there is, or nothing."""

    title: str
    tenant: str
    user: str
    time_zone: str
    policy: PolicySource | str
    model: ModelProfile | None
    budget: Budget | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A whole conversation. `now` is the instant from which its offsets were counted."""

    file: str
    now: datetime
    header: Header
    prefixes: tuple[RegisterPrefixRevisionRequest, ...]
    facts: tuple[Fact, ...]
    past: tuple[PastSession, ...]
    live: LiveSession

    @property
    def past_turns(self) -> int:
        """How many turns the past sessions have."""
        return sum(len(session.turns) for session in self.past)

    @property
    def live_turns(self) -> int:
        """How many turns the live session has."""
        return sum(isinstance(step, TurnStep) for step in self.live.steps)
