"""What can go wrong in a store, as types. Nothing of a driver's text, path or SQL is ever in them."""

from __future__ import annotations


class StorageError(Exception):
    """The root of all errors of the stores."""


class NotFound(StorageError):
    """The thing does not exist for this tenant and user; a foreign one looks the same."""


class AlreadyExists(StorageError):
    """An id is taken by something else. `what` names the field."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"{what} is already in use with other content")


class Repeated(StorageError):
    """The write was done before under this request id; `response` is what was answered then."""

    def __init__(self, response: bytes) -> None:
        self.response = response
        super().__init__("the request was answered before")


class RequestIdReused(StorageError):
    """The request id was used with another body."""


class EtagMismatch(StorageError):
    """The thing changed since it was read. `current` is its etag now."""

    def __init__(self, current: str) -> None:
        self.current = current
        super().__init__("the etag is not the current one")


class SessionChanged(StorageError):
    """Turns were recorded or expired since the session was read; nothing was written."""


class LimitExceeded(StorageError):
    """A bound on stored things was reached."""

    def __init__(self, what: str, limit: int) -> None:
        self.what, self.limit = what, limit
        super().__init__(f"at most {limit} {what}")


class InvalidCursor(StorageError):
    """A page cursor that no list has given out; the list begins anew without one."""

    def __init__(self) -> None:
        super().__init__("the page cursor is not one of this list; leave it empty to begin anew")


class Erased(StorageError):
    """The content is gone for good; the proof that it was there remains."""


class StorageUnavailable(StorageError):
    """The store does not answer now; nothing was written. Trying again later is safe."""


class StorageDamaged(StorageUnavailable):
    """What is stored cannot be read as a database: only an operator can help."""


class StorageFull(StorageError):
    """The disk is full; nothing was written."""


class DataFolderInUse(StorageError):
    """Another process holds the data folder."""


class SchemaMismatch(StorageError):
    """The stored schema is newer than this release, or could not be brought up to it."""
