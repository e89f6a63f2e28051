"""The client of Redis: commands on one key each, by the server that has the key.

One rule for time: an operation takes `LIMIT_SECONDS` at most; a cluster's redirection may take that once more. A
command is never repeated because it failed: it is sent again only where a server said that it did not execute it.
"""

import ssl
import time
from collections.abc import Callable
from typing import Final

from redis.exceptions import (
    AskError,
    AuthenticationError,
    ClusterDownError,
    MovedError,
    NoScriptError,
    ReadOnlyError,
    RedisError,
)

from storage.errors import StorageError, StorageUnavailable
from storage.redis.address import Endpoint, RedisAddress, parse_redis_url
from storage.redis.breaker import Breaker
from storage.redis.link import Link, LinkBroken
from storage.redis.node import PROBE_SECONDS, Node, Outcome
from storage.redis.replies import Value, checked
from storage.redis.scripts import Script
from storage.redis.topology import Topology
from storage.redis.wire import Argument, Command

LIMIT_SECONDS: Final = 0.05


class RedisRefused(StorageError):
    """Redis is there and does not let us in: the credentials or the certificates are wrong."""


class RedisClient:
    """Executes commands. Belongs to one event loop."""

    def __init__(
        self,
        address: RedisAddress,
        limit: float = LIMIT_SECONDS,
        probe_seconds: float = PROBE_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`limit` of an operation and the pause between two probes are in seconds; `monotonic` is the breaker's."""

        def make_node(endpoint: Endpoint) -> Node:
            return Node(lambda: Link(address.dial(endpoint)), Breaker(monotonic), limit, probe_seconds)

        self._address = address
        self._topology = Topology(address.seeds, make_node, address.is_cluster)

    @property
    def is_available(self) -> bool:
        """Whether no server is given up: all breakers are closed."""
        return not any(node.is_open for node in self._topology.nodes)

    async def execute(self, key: bytes, *command: Argument) -> Value:
        """Execute a command on the key, which is among its arguments.

        Raises `StorageUnavailable` (a write may have been done where Redis was too late to say so) or `StorageFull`.
        """
        return checked(await self._executed(key, command))

    async def run(self, script: Script, key: bytes, *arguments: Argument) -> Value:
        """Run a script on the key. Errors are those of `execute`."""
        outcome = await self._executed(key, (b"EVALSHA", script.digest, 1, key, *arguments))
        if isinstance(outcome, NoScriptError):
            # The server is new, or forgot its scripts: nothing was executed.
            outcome = await self._executed(key, (b"EVAL", script.text, 1, key, *arguments))
        return checked(outcome)

    async def start(self) -> None:
        """Meet the servers. One that does not answer is left to its probe; a cluster's map is fetched.

        Raises `RedisRefused`.
        """
        for endpoint in self._address.seeds:
            try:
                await self._topology.node(endpoint).probe()
            except AuthenticationError:
                raise RedisRefused(
                    "Redis refuses the user or the password of its URL; correct them"
                ) from None
            except (LinkBroken, OSError, RedisError) as error:
                _refuse_certificates(error)
        if self._address.is_cluster:
            await self._topology.refresh()

    async def close(self) -> None:
        """Give up what is under way and let go of all connections."""
        await self._topology.close()

    async def _executed(self, key: bytes, command: Command) -> Outcome:
        endpoint = self._topology.find(key)
        outcome = await self._asked(endpoint, command)
        if not isinstance(outcome, AskError):
            return outcome
        there = Endpoint(outcome.host or endpoint.host, outcome.port)
        if isinstance(outcome, MovedError):
            self._topology.moved(outcome.slot_id, there)
            return await self._asked(there, command)
        return await self._asked(there, (b"ASKING",), command)

    async def _asked(self, endpoint: Endpoint, *commands: Command) -> Outcome:
        try:
            outcome = await self._topology.node(endpoint).submit(*commands)
        except StorageUnavailable:
            self._topology.suspect()
            raise
        if isinstance(outcome, StorageUnavailable | ReadOnlyError | ClusterDownError):
            # In a cluster another server may have taken its place.
            self._topology.suspect()
        return outcome


async def connect_redis(url: str) -> RedisClient:
    """A client for the servers of the URL (see `storage.redis.address`), whether or not they answer now.

    Raises `InvalidRedisUrl`, and `RedisRefused` where a server is there but does not let us in.
    """
    client = RedisClient(parse_redis_url(url))
    try:
        await client.start()
    except BaseException:
        await client.close()
        raise
    return client


def _refuse_certificates(error: BaseException) -> None:
    """Raises `RedisRefused` where a certificate is behind the error."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise RedisRefused(
                "the certificate of Redis cannot be verified; give its authority with ssl_ca_certs in the URL"
            ) from None
        cause = cause.__cause__ or cause.__context__
