"""Says who is calling. On loopback, without credentials configured, everybody is `local` with all roles."""

from gateway.identity import LOCAL
from gateway.server.call import Call, Handler, Method


def authentication(_: Method, following: Handler) -> Handler:
    """Set the principal.

    A credential in the metadata is not looked at: it could give its bearer nothing that `local` has not already.
    """

    async def authenticate(call: Call) -> bytes:
        call.principal = LOCAL
        return await following(call)

    return authenticate
