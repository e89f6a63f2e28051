"""Reads back, through the API, everything that a run left in the stores."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import Final

import grpc

from benchmarks.faults.gateway_client import GatewayClient
from benchmarks.faults.outcomes import ReadBack, StoredLink, StoredTurn
from benchmarks.faults.people import Person
from muniment.v1 import fact_pb2, session_pb2, trace_pb2

_PAGE: Final = 500
_SECONDS: Final = 10.0
_AT_ONCE: Final = 4
_POLL_SECONDS: Final = 0.1


async def read_back(gateway: GatewayClient, people: Sequence[Person]) -> ReadBack:
    """Facts and turns of each person, traces of each tenant. Raises `grpc.RpcError`."""
    few = asyncio.Semaphore(_AT_ONCE)

    async def of(person: Person) -> tuple[tuple[str, ...], tuple[StoredTurn, ...]]:
        async with few:
            return await _facts(gateway, person), await _turns(gateway, person)

    found = await asyncio.gather(*map(of, people))
    numbers = [person.number for person in people]
    tenants = sorted({person.tenant_id for person in people})
    return ReadBack(
        facts=dict(zip(numbers, (facts for facts, _ in found), strict=True)),
        turns=dict(zip(numbers, (turns for _, turns in found), strict=True)),
        traces={tenant_id: await traces(gateway, tenant_id) for tenant_id in tenants},
    )


async def drained(gateway: GatewayClient, names: Iterable[str], patience: float) -> None:
    """Wait, so many seconds at most, until traces that were spooled are in the ledger, and their turns with them."""
    end = time.monotonic() + patience
    missing = list(names)
    while missing and time.monotonic() < end:
        if await _is_stored(gateway, missing[-1]):
            missing.pop()
        else:
            await asyncio.sleep(_POLL_SECONDS)


async def _is_stored(gateway: GatewayClient, name: str) -> bool:
    try:
        await gateway.traces.GetTrace(trace_pb2.GetTraceRequest(name=name), timeout=_SECONDS)
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.NOT_FOUND:
            return False
        raise
    return True


async def _facts(gateway: GatewayClient, person: Person) -> tuple[str, ...]:
    values: list[str] = []
    request = fact_pb2.ListFactsRequest(user=person.user, include_retired=True, page_size=_PAGE)
    while True:
        answer = await gateway.facts.ListFacts(request, timeout=_SECONDS)
        values.extend(fact.text for fact in answer.facts)
        if not answer.next_page_token:
            return tuple(values)
        request.page_token = answer.next_page_token


async def _turns(gateway: GatewayClient, person: Person) -> tuple[StoredTurn, ...]:
    turns: list[StoredTurn] = []
    request = session_pb2.GetSessionRequest(session=person.session, page_size=_PAGE)
    while True:
        answer = await gateway.sessions.GetSession(request, timeout=_SECONDS)
        turns.extend(
            StoredTurn(turn.turn_id, " ".join(content.text for content in turn.contents))
            for turn in answer.turns
        )
        if not answer.next_page_token:
            return tuple(turns)
        request.page_token = answer.next_page_token


async def traces(gateway: GatewayClient, tenant_id: str) -> tuple[StoredLink, ...]:
    """The links of a tenant's chain, oldest first."""
    links: list[StoredLink] = []
    request = trace_pb2.ListTracesRequest(tenant_id=tenant_id, page_size=_PAGE)
    while True:
        answer = await gateway.traces.ListTraces(request, timeout=_SECONDS)
        links.extend(map(_link, answer.traces))
        if not answer.next_page_token:
            return tuple(reversed(links))
        request.page_token = answer.next_page_token


def _link(trace: trace_pb2.Trace) -> StoredLink:
    return StoredLink(
        trace.name,
        trace.session.user_id,
        trace.session.session_id,
        trace.turn_id,
        trace.seal.sequence,
        trace.seal.record_hash,
        trace.seal.previous_hash,
    )
