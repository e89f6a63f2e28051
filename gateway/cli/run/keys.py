"""`keys`: master keys and users' keys, beside the gateways."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Table

from assemblers.records import UserRef
from gateway.cli.exits import ExitCode
from gateway.cli.run.output import console, fail
from gateway.cli.show.visible import visible
from storage.encryption import (
    FileKeyProvider,
    KeyFileError,
    KeyRing,
    MasterKeyError,
    MasterKeyInUse,
    create_key_file,
)
from storage.encryption.embedded import KEY_FILE_NAME
from storage.encryption.errors import KeyFileExists
from storage.encryption.file_rotation import prune_file_keys, rewrap_by_current, rotate_file_key
from storage.encryption.key_file import add_spare_key, read_key_file
from storage.encryption.master_rotation import tenant_keys_by_master_key
from storage.encryption.user_rotation import ALONE, SETTLE_SECONDS, Pace, UserRotation
from storage.errors import NotFound, StorageError
from storage.sql.engine import Database

T = TypeVar("T")

_CODES: tuple[tuple[type[StorageError], ExitCode], ...] = (
    (KeyFileExists, ExitCode.CONFLICT),
    (KeyFileError, ExitCode.INVALID),
    (NotFound, ExitCode.NOT_FOUND),
    (MasterKeyInUse, ExitCode.PRECONDITION),
    (MasterKeyError, ExitCode.PRECONDITION),
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the data is, and its master keys."""

    data_dir: Path
    database_url: str | None
    master_key_file: Path | None

    def key_file(self) -> Path:
        """The file of master keys."""
        if self.master_key_file is not None:
            return self.master_key_file
        if self.database_url is not None:
            fail("--master-key-file is needed beside --database-url", ExitCode.USAGE)
        return self.data_dir / KEY_FILE_NAME


def create(file: Path) -> None:
    """Make a key file."""
    with _telling():
        key = create_key_file(file)
    typer.echo(f"{file}: made, with master key {key.key_id}")


def add(file: Path) -> None:
    """Add a spare key."""
    with _telling():
        key = add_spare_key(file)
    typer.echo(
        f"{file}: master key {key.key_id} was added as a spare one; copy the file to all hosts, then rotate"
    )


def rotate_master(place: Place, resume: bool) -> None:
    """Wrap all tenants' keys by a new master key, or by the current one."""
    rotated = rewrap_by_current if resume else rotate_file_key

    async def work(database: Database) -> int:
        with _counting("tenants' keys wrapped") as count:
            return await rotated(database, place.key_file(), _now(), count)

    done = _run(place, work)
    current = read_key_file(place.key_file())[0]
    typer.echo(f"{done} tenants' keys were wrapped by master key {current.key_id}; no content was touched")
    typer.echo("keep the former master keys for your backups, and drop them with --prune", err=True)


def prune(place: Place) -> None:
    """Drop master keys that wrap nothing."""
    removed = _run(place, lambda database: prune_file_keys(database, place.key_file()))
    for key_id in sorted(removed):
        typer.echo(f"master key {key_id} was removed from the file")
    if not removed:
        typer.echo("there is no master key but the current one")


def rotate_user(place: Place, tenant_id: str, user_id: str) -> None:
    """Encrypt a user's content anew."""
    pace = ALONE if place.database_url is None else Pace()

    async def work(database: Database) -> str:
        ring = KeyRing(database, FileKeyProvider(place.key_file()))
        await ring.check()
        rotated = await UserRotation(database, ring, _now, pace).rotate(UserRef(tenant_id, user_id))
        return f"{rotated.resealed} values were encrypted anew under key {rotated.key_no}"

    if pace is not ALONE:
        typer.echo(f"gateways need {2 * SETTLE_SECONDS:.0f} seconds to change over", err=True)
    typer.echo(f"{visible(user_id)}: {_run(place, work)}")


def status(place: Place) -> None:
    """List the master keys."""
    counts = _run(place, tenant_keys_by_master_key)
    with _telling():
        keys = read_key_file(place.key_file())
    table = Table("master key", "state", "tenants' keys")
    for number, key in enumerate(keys):
        state = "current" if number == 0 else "spare" if key.spare else "former"
        table.add_row(key.key_id, state, str(counts.pop(key.key_id, 0)))
    for key_id, count in counts.items():
        table.add_row(key_id, "missing in the file", str(count))
    console().print(table)


def _run(place: Place, work: Callable[[Database], Awaitable[T]]) -> T:
    """Do something with the open database, from a new event loop."""

    async def opened() -> T:
        async with _opened(place) as database:
            return await work(database)

    with _telling():
        return asyncio.run(opened())


@asynccontextmanager
async def _opened(place: Place) -> AsyncIterator[Database]:
    key_file = place.key_file()
    # Each brings a driver that the other does without.
    if place.database_url is not None:
        from storage.postgres.address import AddressError
        from storage.postgres.ownership import open_as_owner

        try:
            async with open_as_owner(place.database_url) as owned:
                yield owned
        except AddressError as error:
            fail(str(error), ExitCode.USAGE)
        return
    from storage.sqlite import open_sqlite

    if not place.data_dir.is_dir():
        fail(f"{place.data_dir} is no data folder", ExitCode.NOT_FOUND)
    async with await open_sqlite(place.data_dir, provider=FileKeyProvider(key_file)) as storage:
        yield storage.database


@contextmanager
def _telling() -> Iterator[None]:
    """End the command with what went wrong, in its own words."""
    try:
        yield
    except StorageError as error:
        code = next((code for kind, code in _CODES if isinstance(error, kind)), ExitCode.UNAVAILABLE)
        fail(str(error), code)


@contextmanager
def _counting(what: str) -> Iterator[Callable[[], None]]:
    """A count on stderr, where that is a terminal."""
    err = console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.completed} {task.description}"))
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as shown:
        task = shown.add_task(what, total=None)
        yield lambda: shown.advance(task)


def _now() -> datetime:
    return datetime.now(UTC)
