"""Fills a database: its tenants through the API, which makes their keys, and then its users in bulk."""

from typing import Final
from uuid import uuid4

from benchmarks import scene, seeding
from benchmarks.process import Connection, connected
from benchmarks.progress import say
from benchmarks.scale.backends import Backends
from benchmarks.scale.loading import Loaded, load
from benchmarks.scale.population import LARGE, MEASURED, SMALL, TENANTS, Population, ordinary_user, tenant
from muniment.v1 import fact_pb2, policy_service_pb2, prefix_pb2, types_pb2

ECHO, AMONG, ARCHIVE, TWO_PORTS, ONE_PORT = "echo", "among", "archive", "two_ports", "one_port"
"""The sessions of each measurement: a turn that was asked for before would only be answered again."""
_FOUNDER: Final = "founder"
_PROCESSES: Final = 2


async def furnish(
    backends: Backends, database: str, number: int, population: Population, each: int | None = None
) -> Loaded:
    """Make the database and fill it. Raises `ServerError`, `ServerFailed`, `grpc.RpcError`."""
    say(f"{database}: {population.users:,} users")
    backends.make_database(database)
    with backends.gateway(f"founding-{database}", backends.settings(database, number)) as gateway:
        async with connected(gateway.ports) as connection:
            for tenant_number in range(TENANTS):
                await _found(connection, tenant(tenant_number))
    loaded = load(backends.target(database), population.residents(each), _PROCESSES)
    backends.analyze(database)
    return loaded


async def _found(connection: Connection, tenant_id: str) -> None:
    """Prefix, policy, and somebody with a fact: with the first write of a user its tenant has a key."""
    await connection.prefixes.RegisterPrefixRevision(
        prefix_pb2.RegisterPrefixRevisionRequest(
            tenant_id=tenant_id, prefix_id=scene.PREFIX_ID, text=scene.prefix_text()
        )
    )
    registered = await connection.policies.RegisterPolicyRevision(
        policy_service_pb2.RegisterPolicyRevisionRequest(tenant_id=tenant_id, yaml=scene.POLICY.encode())
    )
    await connection.policies.ActivatePolicyRevision(
        policy_service_pb2.ActivatePolicyRevisionRequest(name=registered.revision.name, tenant_default=True)
    )
    founder = types_pb2.UserRef(tenant_id=tenant_id, user_id=_FOUNDER)
    facts = scene.facts(scene.Texts(0), 1)
    await connection.facts.RecordFacts(
        fact_pb2.RecordFactsRequest(user=founder, facts=facts, request_id=str(uuid4()))
    )


async def open_sessions(connection: Connection) -> None:
    """Sessions with slots for everybody who is measured."""
    for number in range(MEASURED):
        for session_id in (ECHO, AMONG, TWO_PORTS, ONE_PORT):
            await seeding.session(connection, ordinary_user(number).user_id, session_id, 2)
    for user_id in (LARGE, SMALL):
        await seeding.session(connection, user_id, ARCHIVE, 2)
