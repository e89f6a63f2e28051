"""The client of Redis: commands on one key each, by the server that has the key.

One rule for time: an operation takes `LIMIT_SECONDS` at most; a cluster's redirection may take that once more. A
command is never repeated because it failed: it is sent again only where a server said that it did not execute it.
"""

import asyncio
import ssl
import time
from collections.abc import Callable, Generator
from typing import Any, Final

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

    def execute(self, key: bytes, *command: Argument) -> "Pending":
        """Execute a command on the key, which is among its arguments; awaiting gives the value.

        Awaiting, or already the call, raises `StorageUnavailable` (a write may have been done where Redis was too late
        to say so) or `StorageFull`.
        """
        return Pending(self._topology, key, command, None)

    def run(self, script: Script, key: bytes, *arguments: Argument) -> "Pending":
        """Run a script on the key. As `execute` otherwise."""
        by_text = (b"EVAL", script.text, 1, key, *arguments)
        return Pending(self._topology, key, (b"EVALSHA", script.digest, 1, key, *arguments), by_text)

    async def start(self) -> None:
        """Meet the servers, and find out whether they are a cluster. Those that do not answer are left for later.

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
        # A server that is no cluster's refuses to give a map, which is an answer too.
        await self._topology.refresh()

    async def close(self) -> None:
        """Give up what is under way and let go of all connections."""
        await self._topology.close()


class Pending:
    """A command under way. It goes out in the turn of the event loop in which it was made, with all others of that
    turn, whether or not anybody awaits it."""

    __slots__ = ("_command", "_endpoint", "_fallback", "_outcome", "_topology")

    def __init__(self, topology: Topology, key: bytes, command: Command, fallback: Command | None) -> None:
        """`fallback` is what to send to a server that does not know the command's script."""
        self._topology, self._command, self._fallback = topology, command, fallback
        self._endpoint = topology.find(key)
        self._outcome = self._sent(self._endpoint, command)

    def __await__(self) -> Generator[Any, None, Value]:
        return self._value().__await__()

    async def _value(self) -> Value:
        outcome = await self._answer(self._outcome)
        if isinstance(outcome, AskError):
            outcome = await self._redirected(outcome)
        if isinstance(outcome, NoScriptError) and self._fallback is not None:
            # The server is new, or forgot its scripts: nothing was executed.
            outcome = await self._answer(self._sent(self._endpoint, self._fallback))
        return checked(outcome)

    async def _redirected(self, error: AskError) -> Outcome:
        """Another server of the cluster has the key: it was not executed here, and is asked for there, once."""
        self._endpoint = Endpoint(error.host or self._endpoint.host, error.port)
        if isinstance(error, MovedError):
            self._topology.moved(error.slot_id, self._endpoint)
            return await self._answer(self._sent(self._endpoint, self._command))
        return await self._answer(self._sent(self._endpoint, (b"ASKING",), self._command))

    def _sent(self, endpoint: Endpoint, *commands: Command) -> "asyncio.Future[Outcome]":
        try:
            return self._topology.node(endpoint).submit(*commands)
        except StorageUnavailable:
            self._topology.suspect()
            raise

    async def _answer(self, sent: "asyncio.Future[Outcome]") -> Outcome:
        outcome = await sent
        if isinstance(outcome, StorageUnavailable | ReadOnlyError | ClusterDownError):
            # In a cluster another server may have taken its place.
            self._topology.suspect()
        return outcome


async def connect_redis(url: str, limit: float = LIMIT_SECONDS) -> RedisClient:
    """A client for the servers of the URL (see `storage.redis.address`), whether or not they answer now.

    `limit` is what an operation may take, in seconds.

    Raises `InvalidRedisUrl`, and `RedisRefused` where a server is there but does not let us in.
    """
    client = RedisClient(parse_redis_url(url), limit)
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
