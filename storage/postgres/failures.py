"""Driver errors as errors of the stores, by SQLSTATE. Their texts may show values: nothing of them goes on."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import asyncpg
from sqlalchemy.connectors.asyncio import AsyncAdapt_Error
from sqlalchemy.exc import SQLAlchemyError

from storage.errors import StorageError, StorageFull, StorageUnavailable

DISK_FULL: Final = "53100"
CONFUSED: Final = (asyncpg.InterfaceError, asyncpg.InternalClientError)
"""What the driver itself raises: the connection is closed, or not in the state that it should be in."""
DRIVER_ERRORS: Final = (
    OSError, TimeoutError, asyncpg.PostgresError, *CONFUSED, SQLAlchemyError, AsyncAdapt_Error
)  # fmt: skip
"""What a driver, a socket or SQLAlchemy raises. `TimeoutError` is an `OSError`, and named for the reader."""

NOT_LET_IN: Final = ("28", "3D")
"""Classes of SQLSTATE: a wrong role or password, no such database."""

# Two writes met: another attempt finds out who was first.
_CONFLICTS: Final = ("23505", "40001", "40P01")


def sqlstate_of(error: BaseException | None) -> str | None:
    """The SQLSTATE of a driver's error, however deep SQLAlchemy has wrapped it; None: the server said nothing."""
    while error is not None:
        state = getattr(error, "sqlstate", None)
        if isinstance(state, str):
            return state
        error = getattr(error, "orig", None) or error.__cause__
    return None


class Conflict(StorageUnavailable):
    """The transaction met another one and was undone; it may be done again at once."""


def translate(error: BaseException) -> StorageError:
    """The store's error for a driver's."""
    state = sqlstate_of(error)
    if state == DISK_FULL:
        return StorageFull("the disk of the database is full")
    if state in _CONFLICTS:
        return Conflict("others wrote the same at the same time")
    if state is not None and state[:2] in NOT_LET_IN:
        return StorageUnavailable(
            "the database does not let this role in: check its name, password and database"
        )
    if isinstance(error, ssl.SSLCertVerificationError):
        return StorageUnavailable(
            "the database's certificate is not trusted: name its authority in sslrootcert"
        )
    if state is None and isinstance(error, OSError):
        return StorageUnavailable("the database does not answer")
    return StorageUnavailable("the database does not answer as it should")


@contextmanager
def translated() -> Iterator[None]:
    """Let only errors of the stores out; others that are no driver's pass."""
    try:
        yield
    except DRIVER_ERRORS as error:
        if isinstance(error.__cause__, UnicodeError):
            raise UnicodeError("a text is not Unicode") from None
        # Without the cause: a traceback in a log would show it.
        raise translate(error) from None
