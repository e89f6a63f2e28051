"""Making a connection to Postgres: what it is set to, and what it is taught."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import asyncpg

from storage.postgres.address import Address
from storage.postgres.vectors import from_wire, to_wire

_CONNECT_SECONDS: Final = 5
# Look-ups are by key, so the plan never depends on the values; planning anew took ten times as long as running them.
# Nor is a table ever to be read from end to end, as the planner does with one that it takes for empty.
# A write is durable whatever the role or the database is set to. The limits are for what nobody waits for any more:
# this process gives up long before.
_SETTINGS: Final = {
    "search_path": "public",
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "synchronous_commit": "on",
    "statement_timeout": "30s",
    "idle_in_transaction_session_timeout": "30s",
}


def creator_of(address: Address) -> Callable[..., Awaitable[asyncpg.Connection]]:
    """What makes new connections to an address, as SQLAlchemy's engine wants it."""
    arguments = address.url.translate_connect_args(username="user") | dict(address.url.query)

    async def create(*_: object, **__: object) -> asyncpg.Connection:
        # What is cancelled half-way leaves errors behind that nobody looks at, and perhaps a session on the server. So
        # it goes on by itself, and is let go of where its caller has left.
        connecting = asyncio.ensure_future(_connect(arguments, address))
        try:
            return await asyncio.shield(connecting)
        except asyncio.CancelledError:
            connecting.add_done_callback(_let_go)
            raise

    return create


async def _connect(arguments: Mapping[str, Any], address: Address) -> asyncpg.Connection:
    driver = await asyncpg.connect(
        **arguments,
        ssl=address.tls or False,
        timeout=_CONNECT_SECONDS,
        server_settings={"application_name": address.application_name, **_SETTINGS},
    )
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            await _teach_vectors(driver)
    except BaseException:
        driver.terminate()
        raise
    return driver


async def _teach_vectors(driver: asyncpg.Connection) -> None:
    # A database without the type has no schema either, which is told when that is looked for.
    with suppress(ValueError):
        await driver.set_type_codec(
            "vector", schema="public", encoder=to_wire, decoder=from_wire, format="binary"
        )


def _let_go(connecting: "asyncio.Future[asyncpg.Connection]") -> None:
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result().terminate()
