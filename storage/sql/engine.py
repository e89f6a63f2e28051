"""What the stores ask of an SQL engine: look-ups, snapshots, and atomic writes under a lock.

Statements are written once, with `?` or `?1` for a parameter, and must mean the same in SQLite and in Postgres; an
engine whose driver wants other placeholders rewrites them. Each call names the tenant it is for, so that an engine
which enforces isolation by itself can bind it.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from assemblers.records import UserRef
from storage.keys import build_key, user_key

T = TypeVar("T")

Value = str | int | bytes | None
"""What a column may hold, and what a parameter may be."""
Row = tuple[Any, ...]
"""A row as the driver gives it: the statement beside each use says which columns it has."""


class Cursor(Protocol):
    """What a statement gave."""

    @property
    def rowcount(self) -> int:
        """How many rows an INSERT, UPDATE or DELETE touched."""
        ...

    def fetchone(self) -> Row | None: ...
    def fetchall(self) -> list[Row]: ...


class Connection(Protocol):
    """One open transaction, as the body of a write sees it."""

    def execute(self, statement: str, parameters: Sequence[Value] = (), /) -> Cursor: ...


@dataclass(frozen=True, slots=True)
class Scope:
    """What a write belongs to: its tenant, and the lock that it holds until it ends.

    Writes under one lock run one after another, whichever process they come from, so each may read, decide and write.
    None: the write needs no such order; it leaves conflicts to the statements themselves.
    """

    tenant_id: str
    lock: bytes | None


def user_scope(user: UserRef) -> Scope:
    """All that belongs to one user."""
    return Scope(user.tenant_id, user_key("user", user))


def tenant_scope(tenant_id: str, what: str) -> Scope:
    """One kind of thing of a tenant, such as its policies."""
    return Scope(tenant_id, build_key(what, tenant_id))


class Snapshot(Protocol):
    """One state of the data, for several reads of it."""

    async def row(self, statement: str, parameters: Sequence[Value], /) -> Row | None:
        """The first row."""
        ...

    async def rows(self, statement: str, parameters: Sequence[Value], decode: Callable[..., T], /) -> list[T]:
        """All rows through `decode`, which gets the columns as arguments; lets others run in between."""
        ...


class Database(Protocol):
    """An open database. Errors are those of `storage.errors`."""

    async def row(self, tenant_id: str, statement: str, parameters: Sequence[Value], /) -> Row | None:
        """The first row: for look-ups by key only."""
        ...

    async def rows(self, tenant_id: str, statement: str, parameters: Sequence[Value], /) -> list[Row]:
        """All rows: for a handful only."""
        ...

    def snapshot(self, tenant_id: str, /) -> AbstractAsyncContextManager[Snapshot]:
        """A longer read that sees one state of the data from beginning to end."""
        ...

    async def write(
        self,
        scope: Scope,
        body: Callable[[Connection], T],
        /,
        committed: Callable[[T], None] | None = None,
        heavy: bool = False,
    ) -> T:
        """One atomic, durable step.

        `body` may run twice and depends on nothing but the database. `committed` runs once its result is durable,
        before anybody learns of the result. `heavy`: it takes long enough to hold up others.
        """
        ...

    async def remove(
        self,
        scope: Scope,
        body: Callable[[Connection], T],
        /,
        committed: Callable[[T], None] | None = None,
        heavy: bool = False,
    ) -> T:
        """A write that takes something away, for which there is room even where the disk is full."""
        ...

    async def compute(self, work: Callable[[], T], /) -> T:
        """Run a computation that takes long beside the loop."""
        ...

    def scrub(self) -> None:
        """Content was deleted: let no copy of it stay in the engine's own files."""
        ...
