"""What a server's answer means to callers: a value, or a typed error that holds none of the server's text."""

from redis.exceptions import OutOfMemoryError, ReadOnlyError, ResponseError

from storage.errors import StorageFull, StorageUnavailable
from storage.redis.node import Outcome

Value = bytes | int | None | list["Value"]


def checked(outcome: Outcome) -> Value:
    """The value. Raises `StorageFull` where Redis has no memory left, `StorageUnavailable` for all other errors."""
    if isinstance(outcome, StorageUnavailable):
        raise outcome
    if isinstance(outcome, ResponseError):
        raise _translated(outcome)
    if isinstance(outcome, list):
        return [checked(item) for item in outcome]
    return outcome


def _translated(error: ResponseError) -> StorageFull | StorageUnavailable:
    if isinstance(error, OutOfMemoryError):
        return StorageFull("Redis has no memory left; nothing was written")
    if isinstance(error, ReadOnlyError):
        return StorageUnavailable("Redis is read-only now; nothing was written")
    return StorageUnavailable("Redis refused the command; nothing was written")
