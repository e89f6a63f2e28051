"""Fills the stores with what a run's people have before the traffic begins."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar
from uuid import uuid4

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from benchmarks.faults import scene
from benchmarks.faults.gateway_client import GatewayClient
from benchmarks.faults.people import Person
from muniment.v1 import policy_service_pb2

T = TypeVar("T")

_SECONDS: Final = 10.0
_ATTEMPTS: Final = 20
_PAUSE_SECONDS: Final = 0.1
_AGE: Final = timedelta(days=3)


async def prepare(gateway: GatewayClient, people: Sequence[Person]) -> None:
    """Policy and prefix of each tenant, an archive for each person. Raises `grpc.RpcError`."""
    for tenant_id in sorted({person.tenant_id for person in people}):
        await _tenant(gateway, tenant_id)
    start_time = Timestamp()
    start_time.FromDatetime(datetime.now(UTC) - _AGE)
    await asyncio.gather(*(_archive(gateway, person, start_time) for person in people))


async def _tenant(gateway: GatewayClient, tenant_id: str) -> None:
    prefix, policy = scene.register_prefix(tenant_id), scene.register_policy(tenant_id)
    await _sure(lambda: gateway.prefixes.RegisterPrefixRevision(prefix, timeout=_SECONDS))
    answer = await _sure(lambda: gateway.policies.RegisterPolicyRevision(policy, timeout=_SECONDS))
    activate = policy_service_pb2.ActivatePolicyRevisionRequest(
        name=answer.revision.name, tenant_default=True, request_id=str(uuid4())
    )
    await _sure(lambda: gateway.policies.ActivatePolicyRevision(activate, timeout=_SECONDS))


async def _archive(gateway: GatewayClient, person: Person, start_time: Timestamp) -> None:
    request = scene.archive(person, start_time)
    await _sure(lambda: gateway.history.ImportHistory(request, timeout=_SECONDS))


async def _sure(call: Callable[[], Awaitable[T]]) -> T:
    """Repeat a call that the stores did not answer: they may be told to be unsure."""
    for _ in range(_ATTEMPTS):
        try:
            return await call()
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
            await asyncio.sleep(_PAUSE_SECONDS)
    return await call()
