"""Consistency tokens at the border: out of requests as epochs, and into the answers of writes."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from google.protobuf.message import Message

from assemblers.records import UserRef
from gateway.consistency import decode_token, encode_token
from muniment.v1 import fact_pb2, history_pb2, types_pb2
from storage.errors import Repeated, StorageUnavailable
from storage.ports import Epochs, EpochStore

T = TypeVar("T")


_Reading = fact_pb2.GetFactRequest | fact_pb2.ListFactsRequest | history_pb2.SearchHistoryRequest
"""The requests that may hold a token."""


class _Written(Protocol):
    """An answer to a write."""

    @property
    def write_token(self) -> types_pb2.ConsistencyToken: ...
    @classmethod
    def FromString(cls, s: bytes, /) -> Message: ...


W = TypeVar("W", bound=_Written)


def seen_of(request: _Reading) -> Epochs | None:
    """What the caller has seen; None without a token. Raises InvalidArgument for one that was never given out."""
    if not request.HasField("consistency"):
        return None
    return decode_token("consistency.token", request.consistency.token)


class WriteTokens:
    """Gives the answer of each write the token by which a read sees it."""

    def __init__(self, epochs: EpochStore) -> None:
        self._epochs = epochs

    async def stamped(self, user: UserRef, kind: type[W], work: Awaitable[T], answer: Callable[[T], W]) -> W:
        """The answer made of what `work` gives, with its token; a repeat's too, which may be a later one.

        `user` is whose data was written, with the id "" for what belongs to the tenant.
        """
        try:
            response = answer(await work)
        except Repeated as repeated:
            response = kind.FromString(repeated.response)  # type: ignore[assignment]  # the class says Message
        try:
            epochs = await self._epochs.read(user)
        except StorageUnavailable:
            # It was written, and everybody sees it within a second.
            return response
        response.write_token.token = encode_token(epochs)
        return response
