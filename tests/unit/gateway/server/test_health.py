"""Health's watchers are told every change, the last one too."""

from collections.abc import Callable
from typing import Any

from grpc_health.v1 import health_pb2

from gateway.server.health import Health

Response = health_pb2.HealthCheckResponse


class Stream:
    """A watcher's end of the stream; `during` runs in the middle of the first write."""

    def __init__(self, during: Callable[[], None]) -> None:
        self.statuses: list[int] = []
        self._during = during

    async def write(self, body: bytes) -> None:
        if not self.statuses:
            self._during()
        self.statuses.append(Response.FromString(body).status)


async def test_a_stop_while_a_status_is_being_written_is_told_before_the_watch_ends():
    health = Health(["muniment.v1.ContextService"])
    health.set_serving(True)
    stream: Any = Stream(during=health.stop)
    await health.watch(health_pb2.HealthCheckRequest().SerializeToString(), stream)
    assert stream.statuses == [Response.SERVING, Response.NOT_SERVING]


async def test_a_watch_of_a_stopped_server_says_so_and_ends():
    health = Health([])
    health.stop()
    stream: Any = Stream(during=lambda: None)
    await health.watch(health_pb2.HealthCheckRequest().SerializeToString(), stream)
    assert stream.statuses == [Response.NOT_SERVING]
