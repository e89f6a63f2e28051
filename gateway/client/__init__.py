"""A small typed client of the gateway, for the command line, the demo, the examples and the tests.

    with connect("127.0.0.1:7463") as client:
        answer = client.call(client.context.AssembleContext, request)

Every failure is a `CallError` with the server's reason and remedy. Nothing is retried behind the caller's back.
"""

from gateway.client.client import Client, connect
from gateway.client.errors import CallError, FieldProblem

__all__ = ["CallError", "Client", "FieldProblem", "connect"]
