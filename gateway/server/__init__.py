"""The gRPC side of the gateway.

A service is a class with `async def <Method>(self, request, call: Call) -> Message | bytes` per RPC, registered as
`Service(context_pb2.DESCRIPTOR.services_by_name["ContextService"], servicer)`. Requests arrive valid; `call` carries
the instant, the deadline, the principal, the tenant, the request's digest and the receipt of a write. Errors are
raised, as `gateway.errors` or `storage.errors`.
"""

from gateway.server.call import Call, Method
from gateway.server.pipeline import Clocks, Pipeline, Service
from gateway.server.serve import run, serve_until_signalled
from gateway.server.server import AddressUnavailableError, Server, ServerOptions

__all__ = [
    "AddressUnavailableError",
    "Call",
    "Clocks",
    "Method",
    "Pipeline",
    "Server",
    "ServerOptions",
    "Service",
    "run",
    "serve_until_signalled",
]
