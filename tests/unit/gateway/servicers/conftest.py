"""A service without a network: requests pass the pipeline's own checks, and meet a store on a fresh folder."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from assemblers.policy.model import (
    ArchiveRules,
    FactKey,
    FactRules,
    FilterKey,
    HistorySection,
    Policy,
    PolicyRevision,
    Section,
    SlotRules,
    ToolBinding,
)
from assemblers.records import FactKind, FactOrigin, SectionKind, ValueType
from gateway.confirming import StoredEpochs
from gateway.deadline import Deadline
from gateway.errors import GatewayError, NotFound
from gateway.server.call import Call, Method
from gateway.server.idempotency import idempotency
from gateway.server.pipeline import Pipeline
from gateway.server.tenancy import tenancy
from gateway.server.translate import translate
from gateway.server.validation import validation
from gateway.servicers.fact import FactServicer
from gateway.servicers.session import SessionServicer
from gateway.servicers.tokens import WriteTokens
from gateway.usecases.facts import Facts
from gateway.usecases.freshness import Freshness
from gateway.usecases.recording import TurnRecorder
from gateway.usecases.sessions import Sessions
from gateway.usecases.slot_book import SlotBook
from muniment.v1 import fact_pb2, session_pb2
from storage.ports import Storage
from storage.sqlite import open_sqlite

NOW = datetime(2026, 11, 29, 9, 30, tzinfo=UTC)

MEMORY = Policy(
    "memory",
    (Section(SectionKind.HISTORY, HistorySection()),),
    facts=FactRules(
        (
            FactKey("plan", ValueType.TEXT, FactKind.ATTRIBUTE, "a gap", values=("starter", "team")),
            FactKey("seats", ValueType.INTEGER, FactKind.ATTRIBUTE, "a gap"),
            FactKey("ratio", ValueType.NUMBER, FactKind.ATTRIBUTE, "a gap"),
            FactKey("active", ValueType.FLAG, FactKind.CONTEXT, "a gap"),
            FactKey("renewal", ValueType.INSTANT, FactKind.ATTRIBUTE, "a gap", min_origin=FactOrigin.TOOL),
            FactKey("wish", ValueType.STATEMENT, FactKind.PREFERENCE, "a gap"),
        )
    ),
    slots=SlotRules(
        focus_types=("customer",),
        filters=(FilterKey("region", values=("EMEA", "APAC")), FilterKey("period")),
        formats=("short", "table"),
        tool_bindings=(ToolBinding("crm", "customer", "id", "name", {"period": "period"}),),
    ),
    archive=ArchiveRules(keep_turns=True, on_end_session=True),
)
PLAIN = Policy("plain", ())


class Catalog:
    """The policies of the tests: `memory` is the default."""

    def __init__(self) -> None:
        self.default = MEMORY

    async def resolve(self, tenant_id: str, policy: str) -> PolicyRevision:
        known = {"": self.default, "memory": MEMORY, "policies/memory": MEMORY, "plain": PLAIN}
        if policy not in known:
            raise NotFound
        return PolicyRevision("", "d" * 64, known[policy])


@dataclass
class Rpc:
    """Calls the methods of one service. `now` is the instant of the next calls."""

    descriptor: ServiceDescriptor
    servicer: object
    now: datetime = NOW

    async def raw(self, name: str, request: Message) -> bytes:
        """The answer's bytes; failures are those that the client would be told."""
        method = Method(self.descriptor.full_name, name, type(request), 4 << 20)

        async def invoke(call: Call) -> bytes:
            answer: Message = await getattr(self.servicer, name)(call.request, call)
            return answer.SerializeToString(deterministic=True)

        handler = Pipeline((validation, tenancy, idempotency)).compose(method, invoke)
        context: Any = None
        call = Call(method, context, request.SerializeToString(), self.now, Deadline.after(10.0))
        try:
            return await handler(call)
        except Exception as error:
            failure = translate(error, 10.0)
            if failure is None:
                raise
            raise failure from error

    async def __call__(self, name: str, request: Message) -> Any:
        """The answer as a message of the method's type."""
        answer_class = GetMessageClass(self.descriptor.methods_by_name[name].output_type)
        return answer_class.FromString(await self.raw(name, request))

    async def failure(self, name: str, request: Message) -> GatewayError:
        """The error that the call must end with."""
        with pytest.raises(GatewayError) as caught:
            await self.raw(name, request)
        return caught.value


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    async with await open_sqlite(tmp_path) as opened:
        yield opened


@pytest.fixture
def catalog() -> Catalog:
    return Catalog()


@pytest.fixture
def make_rpc() -> Callable[[ServiceDescriptor, object], Rpc]:
    return Rpc


def fresh(storage: Storage) -> Freshness:
    """Asks the store itself what is current."""
    return Freshness(storage, StoredEpochs(storage.epochs))


@pytest.fixture
def session_rpc(storage: Storage, catalog: Catalog) -> Rpc:
    slots = SlotBook(storage.sessions)
    recorder = TurnRecorder(storage.transcripts, storage.traces, slots, catalog)
    sessions = Sessions(storage.transcripts, slots, catalog, fresh(storage))
    servicer = SessionServicer(recorder, sessions, WriteTokens(storage.epochs))
    return Rpc(session_pb2.DESCRIPTOR.services_by_name["SessionService"], servicer)


@pytest.fixture
def fact_rpc(storage: Storage, catalog: Catalog) -> Rpc:
    facts = Facts(storage.facts, storage.traces, catalog, fresh(storage))
    servicer = FactServicer(facts, WriteTokens(storage.epochs))
    return Rpc(fact_pb2.DESCRIPTOR.services_by_name["FactService"], servicer)
