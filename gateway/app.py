"""The composition root: the only place where stores, use cases and servicers are put together."""

from collections.abc import Callable
from types import ModuleType

from gateway import telemetry
from gateway.config import Settings
from gateway.policies.builtin import builtin_documents
from gateway.policies.catalog import Policies
from gateway.policies.reading import PolicyReader
from gateway.server import Server, ServerOptions, Service, serve_until_signalled
from gateway.servicers.context import ContextServicer
from gateway.servicers.fact import FactServicer
from gateway.servicers.history import HistoryServicer
from gateway.servicers.policy import PolicyServicer
from gateway.servicers.prefix import PrefixServicer
from gateway.servicers.session import SessionServicer
from gateway.servicers.trace import TraceServicer
from gateway.tokenizers import DEFAULT_TOKENIZER, ModelProfiles, TokenizerRegistry
from gateway.usecases.assemble_context import ContextAssembler
from gateway.usecases.facts import Facts
from gateway.usecases.history import History
from gateway.usecases.models import ModelBook, TokenCounts
from gateway.usecases.policies import PolicyAdmin
from gateway.usecases.prefixes import Prefixes
from gateway.usecases.prepared import Preparations
from gateway.usecases.recording import TurnRecorder
from gateway.usecases.replay_trace import Replayer
from gateway.usecases.resolution import Resolver
from gateway.usecases.runtime import Runtime
from gateway.usecases.sessions import Sessions
from gateway.usecases.slot_book import SlotBook
from gateway.usecases.surroundings import Lookups
from gateway.usecases.traces import TraceReader
from gateway.usecases.usage import UsageReports
from muniment.v1 import (
    context_pb2,
    fact_pb2,
    history_pb2,
    policy_service_pb2,
    prefix_pb2,
    session_pb2,
    trace_pb2,
)
from storage.ports import Storage
from storage.sqlite import open_sqlite


def build_services(storage: Storage, runtime: Runtime) -> tuple[Service, ...]:
    """Every service of the contract, over one storage."""
    reader = PolicyReader()
    tokenizers = TokenizerRegistry()
    tokenizers.warm_up((DEFAULT_TOKENIZER,))
    policies = Policies(storage.policies, reader)
    models = ModelBook(ModelProfiles(tokenizers), storage.usage)
    lookups = Lookups(storage, policies, tokenizers)
    replayer = Replayer(storage.traces, lookups)
    resolver = Resolver(policies, models, storage.prefixes)
    assembler = ContextAssembler(storage, resolver, Preparations(), replayer, runtime)
    reports = UsageReports(replayer, storage.usage, models)
    context = ContextServicer(assembler, TokenCounts(models), reports, lookups, runtime)
    return (
        _service(context_pb2, "ContextService", context),
        _service(session_pb2, "SessionService", _sessions(storage, policies)),
        _service(fact_pb2, "FactService", FactServicer(Facts(storage.facts, storage.traces, policies))),
        _service(history_pb2, "HistoryService", HistoryServicer(History(storage.archives, policies))),
        _service(policy_service_pb2, "PolicyService", _policies(storage, reader)),
        _service(prefix_pb2, "PrefixService", PrefixServicer(Prefixes(storage.prefixes))),
        _service(trace_pb2, "TraceService", TraceServicer(TraceReader(storage, replayer, lookups), replayer)),
    )


def _sessions(storage: Storage, policies: Policies) -> SessionServicer:
    slots = SlotBook(storage.sessions)
    recorder = TurnRecorder(storage.transcripts, storage.traces, slots, policies)
    return SessionServicer(
        recorder, Sessions(storage.transcripts, storage.archives, storage.sessions, policies)
    )


def _policies(storage: Storage, reader: PolicyReader) -> PolicyServicer:
    return PolicyServicer(PolicyAdmin(storage.policies, builtin_documents(reader)), reader)


def _service(module: ModuleType, name: str, servicer: object) -> Service:
    return Service(module.DESCRIPTOR.services_by_name[name], servicer)


def build_server(settings: Settings, storage: Storage, runtime: Runtime | None = None) -> Server:
    """The server over an open storage; it is not started."""
    options = ServerOptions(
        settings.listen, settings.max_concurrent_calls, settings.drain_seconds, settings.reuse_port
    )
    return Server(options, build_services(storage, runtime or Runtime()), storage.ready)


async def serve(settings: Settings, started: Callable[[int], None] = lambda _: None) -> None:
    """Open the data folder and serve until SIGTERM or SIGINT; `started` gets the port.

    Raises `NotLoopbackError` or another `AddressError`, `AddressUnavailableError`, and what `open_sqlite` raises.
    """
    settings.listen.require_loopback()
    telemetry.configure(settings.otel)
    storage = await open_sqlite(settings.data_dir)
    try:
        telemetry.observe_trace_queue(lambda: storage.waiting_writes)
        await serve_until_signalled(build_server(settings, storage), started)
    finally:
        await storage.close()
        telemetry.shutdown()
