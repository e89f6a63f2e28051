"""Answers a repeated write with the bytes it was answered with the first time."""

from gateway.server.call import Call, Handler, Method
from storage.errors import Repeated


def idempotency(method: Method, following: Handler) -> Handler:
    """The record itself is the store's (`Call.receipt`): it alone can keep it in the write's own transaction."""
    if "request_id" not in method.descriptor.fields_by_name:
        return following

    async def answer_again(call: Call) -> bytes:
        try:
            return await following(call)
        except Repeated as repeated:
            return repeated.response

    return answer_again
