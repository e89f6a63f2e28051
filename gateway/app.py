"""The composition root: the only place where stores, use cases and servicers are put together."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Self

from gateway import telemetry
from gateway.backends import Backends, opened
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
from gateway.servicers.tokens import WriteTokens
from gateway.servicers.trace import TraceServicer
from gateway.tokenizers import DEFAULT_TOKENIZER, ModelProfiles, TokenizerRegistry
from gateway.usecases.assemble_context import ContextAssembler, Stages
from gateway.usecases.facts import Facts
from gateway.usecases.following import FollowedModels, FollowedPolicies, FollowedPrefixes, Follower
from gateway.usecases.freshness import Freshness
from gateway.usecases.gather import Gatherer
from gateway.usecases.history import History
from gateway.usecases.models import ModelBook, TokenCounts
from gateway.usecases.open_turn import OpenTurns
from gateway.usecases.opening import Openings
from gateway.usecases.policies import PolicyAdmin
from gateway.usecases.prefixes import Prefixes
from gateway.usecases.prepared import Preparations
from gateway.usecases.recording import TurnRecorder
from gateway.usecases.remembering import SlotKeeper
from gateway.usecases.replay_trace import Replayer
from gateway.usecases.resolution import PolicyCatalog, Resolver
from gateway.usecases.runtime import Runtime
from gateway.usecases.sessions import Sessions
from gateway.usecases.shared_answers import SharedAnswers
from gateway.usecases.slot_book import SlotBook
from gateway.usecases.surroundings import Lookups
from gateway.usecases.trace_keeping import TraceKeeper
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


def build_services(
    storage: Storage, runtime: Runtime, backends: Backends | None = None
) -> tuple[Service, ...]:
    """Every service of the contract, over one storage. `backends` is what else lies beside it; None: nothing."""
    parts = _Parts.of(storage, runtime, backends or Backends.of(storage))
    tokens = WriteTokens(storage.epochs)
    policies, freshness = parts.policies, parts.freshness
    facts = Facts(storage.facts, storage.traces, policies, freshness)
    history = History(storage.archives, policies, freshness, parts.backends.vectors)
    prefixes = Prefixes(FollowedPrefixes(storage.prefixes, parts.follower))
    return (
        _service(context_pb2, "ContextService", _context(parts)),
        _service(session_pb2, "SessionService", _sessions(parts, tokens)),
        _service(fact_pb2, "FactService", FactServicer(facts, tokens)),
        _service(history_pb2, "HistoryService", HistoryServicer(history, tokens)),
        _service(policy_service_pb2, "PolicyService", _policies(parts, tokens)),
        _service(prefix_pb2, "PrefixService", PrefixServicer(prefixes, tokens)),
        _service(trace_pb2, "TraceService", _traces(parts)),
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """What several services share."""

    storage: Storage
    backends: Backends
    runtime: Runtime
    reader: PolicyReader
    catalog: Policies
    freshness: Freshness
    follower: Follower
    policies: PolicyCatalog
    models: ModelBook
    lookups: Lookups
    replayer: Replayer
    slots: SlotBook

    @classmethod
    def of(cls, storage: Storage, runtime: Runtime, backends: Backends) -> Self:
        """The parts over a storage."""
        reader = PolicyReader()
        tokenizers = TokenizerRegistry()
        tokenizers.warm_up((DEFAULT_TOKENIZER,))
        catalog = Policies(storage.policies, reader)
        freshness = Freshness(storage, backends.confirmer)
        follower = Follower(freshness)
        lookups = Lookups(storage, catalog, tokenizers, freshness)
        return cls(
            storage=storage,
            backends=backends,
            runtime=runtime,
            reader=reader,
            catalog=catalog,
            freshness=freshness,
            follower=follower,
            policies=FollowedPolicies(catalog, follower),
            models=ModelBook(ModelProfiles(tokenizers), storage.usage),
            lookups=lookups,
            replayer=Replayer(storage.traces, lookups),
            slots=SlotBook(storage.sessions),
        )


def _context(parts: _Parts) -> ContextServicer:
    storage, backends, runtime = parts.storage, parts.backends, parts.runtime
    stages = Stages(
        resolver=Resolver(parts.catalog, parts.models, storage.prefixes),
        openings=Openings(parts.slots, parts.freshness, backends.is_shared),
        gatherer=Gatherer(parts.freshness),
        preparations=Preparations(),
        keeper=TraceKeeper(storage, backends.spool, runtime),
        slots=SlotKeeper(parts.slots),
        open_turns=OpenTurns(storage.transcripts, storage.traces),
        replayer=parts.replayer,
        vectors=backends.vectors,
    )
    assembler = ContextAssembler(storage.traces, stages, runtime, backends.is_shared)
    counts = TokenCounts(FollowedModels(parts.models, parts.follower))
    reports = UsageReports(parts.replayer, storage.usage, parts.models)
    return ContextServicer(assembler, counts, reports, parts.lookups, runtime)


def _sessions(parts: _Parts, tokens: WriteTokens) -> SessionServicer:
    storage, policies = parts.storage, parts.policies
    recorder = TurnRecorder(storage.transcripts, storage.traces, parts.slots, policies)
    backends, freshness = parts.backends, parts.freshness
    answers = None if backends.answers is None else SharedAnswers(backends.answers, freshness)
    sessions = Sessions(storage.transcripts, parts.slots, policies, freshness, backends.vectors, answers)
    return SessionServicer(recorder, sessions, tokens)


def _policies(parts: _Parts, tokens: WriteTokens) -> PolicyServicer:
    admin = PolicyAdmin(parts.storage.policies, builtin_documents(parts.reader))
    return PolicyServicer(admin, parts.reader, tokens)


def _traces(parts: _Parts) -> TraceServicer:
    return TraceServicer(TraceReader(parts.storage, parts.replayer, parts.lookups), parts.replayer)


def _service(module: ModuleType, name: str, servicer: object) -> Service:
    return Service(module.DESCRIPTOR.services_by_name[name], servicer)


def build_server(settings: Settings, backends: Backends, runtime: Runtime | None = None) -> Server:
    """The server over open backends; it is not started."""
    options = ServerOptions(
        settings.listen, settings.max_concurrent_calls, settings.drain_seconds, settings.reuse_port
    )
    services = build_services(backends.storage, runtime or Runtime(), backends)
    return Server(options, services, backends.ready)


async def serve(settings: Settings, started: Callable[[int], None] = lambda _: None) -> None:
    """Open what the settings name and serve until SIGTERM or SIGINT; `started` gets the port.

    Raises `NotLoopbackError` or another `AddressError`, `AddressUnavailableError`, and what `backends.opened` raises.
    """
    settings.listen.require_loopback()
    telemetry.configure(settings.otel)
    try:
        async with opened(settings) as backends:
            await serve_until_signalled(build_server(settings, backends), started)
    finally:
        telemetry.shutdown()
