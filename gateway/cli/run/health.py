"""`health`: what a probe asks."""

from grpc_health.v1.health_pb2 import HealthCheckResponse
from rich.text import Text

from gateway.cli.exits import ExitCode
from gateway.cli.options import Connection
from gateway.cli.run.output import emit, fail
from gateway.client import connect


def health(connection: Connection, seconds: float) -> None:
    """Say that the gateway is ready, as soon as it is; `seconds` is how long that may take."""
    address = connection.address
    with connect(address) as client:
        if not client.wait_until_serving(seconds):
            fail(
                f"{address} is not ready: nothing listens there, it is stopping, or it cannot reach its store; "
                "its log says which",
                ExitCode.UNAVAILABLE,
            )
    emit(connection, HealthCheckResponse(status=HealthCheckResponse.SERVING), Text(f"{address} is serving"))
