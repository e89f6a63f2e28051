"""A new key for a user: nobody who reads or writes meanwhile notices, and a run that was cut off is finished."""

import asyncio

import pytest

from assemblers.records import UserRef
from storage.encryption import FileKeyProvider, KeyRing, UnknownKey, places
from storage.encryption.data_key import key_header
from storage.encryption.key_cache import FRESH_SECONDS
from storage.encryption.resealing import count_under
from storage.encryption.user_rotation import ALONE, KEPT, SETTLE_SECONDS, Pace, UserRotation
from storage.errors import NotFound, StorageUnavailable
from storage.sql.engine import Connection, user_scope
from tests.unit.storage.encryption.conftest import Clock
from tests.unit.storage.encryption.plain_database import PlainDatabase

ADA, BOB = UserRef("acme", "ada"), UserRef("acme", "bob")
_ADD = "INSERT INTO postings (tenant_id, user_id, excerpt_no, index_format, terms) VALUES (?, ?, ?, 1, ?)"
_ALL = "SELECT excerpt_no, terms FROM postings WHERE tenant_id = ? AND user_id = ? ORDER BY excerpt_no"


class Gateway:
    """A process that writes and reads a user's rows with a ring of its own."""

    def __init__(self, database: PlainDatabase, provider: FileKeyProvider, clock: Clock) -> None:
        self._database = database
        self.ring = KeyRing(database, provider, clock.monotonic, clock.now)

    async def write(self, user: UserRef, no: int, said: bytes) -> None:
        key = await self.ring.for_writing(user)
        sealed = key.seal(places.row_place(places.POSTING_TERMS, user, str(no)), said)

        def body(connection: Connection) -> None:
            connection.execute(_ADD, (user.tenant_id, user.user_id, no, sealed))

        await self._database.write(user_scope(user), body)

    async def read(self, user: UserRef) -> list[bytes]:
        key = await self.ring.for_writing(user)
        rows = await self._database.rows(user.tenant_id, _ALL, (user.tenant_id, user.user_id))
        return [
            key.open(places.row_place(places.POSTING_TERMS, user, str(no)), sealed) for no, sealed in rows
        ]


@pytest.fixture
def gateways(database: PlainDatabase, provider: FileKeyProvider, clock: Clock) -> list[Gateway]:
    return [Gateway(database, provider, clock) for _ in range(2)]


@pytest.fixture
def rotation(database: PlainDatabase, ring: KeyRing, clock: Clock) -> UserRotation:
    return UserRotation(database, ring, clock.now, sleep=clock.sleep)


def headers(database: PlainDatabase, user: UserRef) -> set[bytes]:
    return {sealed[:5] for _, sealed in database.execute(_ALL, user.tenant_id, user.user_id)}


async def test_all_rows_lie_under_the_new_key_afterwards(
    rotation: UserRotation, gateways: list[Gateway], database: PlainDatabase
):
    said = [b"row %d" % no for no in range(300)]
    for no, text in enumerate(said):
        await gateways[0].write(ADA, no, text)
    await gateways[0].write(BOB, 1, b"bob's")
    rotated = await rotation.rotate(ADA)
    assert (rotated.key_no, rotated.resealed, rotated.removed) == (2, 300, ())
    assert headers(database, ADA) == {key_header(2)}
    assert headers(database, BOB) == {key_header(1)}
    assert await gateways[1].read(ADA) == said


async def test_a_gateway_that_held_the_old_key_reads_and_writes_at_every_moment(
    database: PlainDatabase, ring: KeyRing, gateways: list[Gateway], clock: Clock
):
    """Time passes second by second; two gateways write and read in each, one of them has the key held already."""
    written: list[bytes] = []

    async def seconds_pass(seconds: float) -> None:
        for _ in range(int(seconds)):
            clock.seconds += 1
            for gateway in gateways:
                text = b"row %d" % len(written)
                await gateway.write(ADA, len(written), text)
                written.append(text)
            assert await gateways[0].read(ADA) == await gateways[1].read(ADA) == written

    await seconds_pass(2)
    rotation = UserRotation(database, ring, clock.now, sleep=seconds_pass)
    await rotation.rotate(ADA)
    await seconds_pass(FRESH_SECONDS + 1)
    assert headers(database, ADA) == {key_header(2)}
    assert await count_under(database, ADA, 1) == 0


async def test_writes_beside_the_sealing_are_neither_lost_nor_undone(
    database: PlainDatabase, ring: KeyRing, gateways: list[Gateway], clock: Clock
):
    said = [b"row %d" % no for no in range(400)]
    for no, text in enumerate(said):
        await gateways[0].write(ADA, no, text)

    async def overwrite() -> None:
        key = await gateways[1].ring.for_writing(ADA)
        for no in range(0, 400, 7):
            place = places.row_place(places.POSTING_TERMS, ADA, str(no))
            said[no] = b"changed"
            database.execute(
                "UPDATE postings SET terms = ? WHERE user_id = 'ada' AND excerpt_no = ?",
                key.seal(place, b"changed"),
                no,
            )
            await asyncio.sleep(0)

    async def no_sleep(_: float) -> None:
        clock.seconds += SETTLE_SECONDS

    rotation = UserRotation(database, ring, clock.now, sleep=no_sleep)
    await asyncio.gather(rotation.rotate(ADA), overwrite())
    assert await gateways[0].read(ADA) == said


@pytest.mark.parametrize("calls", range(1, 16))
async def test_a_rotation_that_was_cut_off_anywhere_is_finished_by_the_next(
    database: PlainDatabase, ring: KeyRing, gateways: list[Gateway], clock: Clock, calls: int
):
    for no in range(3):
        await gateways[0].write(ADA, no, b"said")
    rotation = UserRotation(database, ring, clock.now, sleep=clock.sleep)
    before = database.calls

    async def stopping(seconds: float) -> None:
        await clock.sleep(seconds)

    cut = UserRotation(StopsAfter(database, calls), ring, clock.now, sleep=stopping)  # type: ignore[arg-type]  # the methods that are used
    with pytest.raises(StorageUnavailable):
        await cut.rotate(ADA)
    assert database.calls >= before
    clock.seconds += FRESH_SECONDS
    assert await gateways[1].read(ADA) == [b"said"] * 3
    rotated = await rotation.rotate(ADA)
    assert rotated.key_no == headers(database, ADA).pop()[4]
    clock.seconds += FRESH_SECONDS
    assert await gateways[0].read(ADA) == [b"said"] * 3


class StopsAfter:
    """A database that goes away after so many calls, as for a process that is killed."""

    def __init__(self, database: PlainDatabase, calls: int) -> None:
        self._database, self._left = database, calls

    def __getattr__(self, name: str) -> object:
        if not self._left:
            raise StorageUnavailable("killed")
        self._left -= 1
        return getattr(self._database, name)


async def test_an_old_version_stays_as_long_as_slots_may_live_and_goes_with_a_later_rotation(
    rotation: UserRotation, gateways: list[Gateway], ring: KeyRing, clock: Clock
):
    await gateways[0].write(ADA, 1, b"said")
    slot = (await gateways[0].ring.for_writing(ADA)).seal(b"slot", b"in Redis")
    await rotation.rotate(ADA)
    assert (await ring.for_writing(ADA)).open(b"slot", slot) == b"in Redis"
    clock.seconds += KEPT.total_seconds()
    assert (await rotation.rotate(ADA)).removed == (1,)
    with pytest.raises(UnknownKey):
        (await ring.for_writing(ADA)).open(b"slot", slot)
    assert await gateways[1].read(ADA) == [b"said"]


async def test_an_old_version_is_never_removed_while_something_lies_under_it(
    rotation: UserRotation, gateways: list[Gateway], clock: Clock
):
    await gateways[0].write(ADA, 1, b"said")
    stale = await gateways[0].ring.for_writing(ADA)
    await rotation.rotate(ADA)
    place = places.row_place(places.POSTING_TERMS, ADA, "2")
    database = gateways[0]._database
    database.execute(_ADD, "acme", "ada", 2, stale.seal(place, b"late"))
    clock.seconds += KEPT.total_seconds()
    # Sealed anew by the next rotation, before the version is looked at.
    assert (await rotation.rotate(ADA)).resealed == 2
    clock.seconds += FRESH_SECONDS
    assert await gateways[1].read(ADA) == [b"said", b"late"]


async def test_alone_nothing_is_waited_for_and_the_old_version_goes_at_once(
    database: PlainDatabase, ring: KeyRing, gateways: list[Gateway], clock: Clock
):
    await gateways[0].write(ADA, 1, b"said")
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    rotated = await UserRotation(database, ring, clock.now, ALONE, sleep).rotate(ADA)
    assert rotated.removed == (1,)
    assert sum(waited) == 0
    assert [no for (no,) in database.execute("SELECT key_no FROM user_keys")] == [2]


async def test_other_processes_are_waited_for_twice(
    database: PlainDatabase, ring: KeyRing, gateways: list[Gateway], clock: Clock
):
    await gateways[0].write(ADA, 1, b"said")
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    await UserRotation(database, ring, clock.now, Pace(), sleep).rotate(ADA)
    assert waited == [SETTLE_SECONDS, SETTLE_SECONDS]
    assert SETTLE_SECONDS > FRESH_SECONDS


async def test_a_user_without_a_key_is_told(rotation: UserRotation):
    with pytest.raises(NotFound):
        await rotation.rotate(UserRef("acme", "nobody"))


async def test_a_rotation_concerns_all_tables(database: PlainDatabase, ring: KeyRing, clock: Clock):
    key = await ring.for_writing(ADA)

    def seal(column: str, *identity: str) -> bytes:
        return key.seal(places.row_place(column, ADA, *identity), b"said")

    _insert(database, "facts", no=4, content=seal(places.FACT_CONTENT, "4"), salt=seal(places.FACT_SALT, "4"))
    _insert(database, "facts", no=5, fact_key="erased", content=None, salt=None)
    _insert(
        database,
        "excerpts",
        no=6,
        content=seal(places.EXCERPT_CONTENT, "6"),
        salt=seal(places.EXCERPT_SALT, "6"),
    )
    _insert(database, "postings", excerpt_no=6, terms=seal(places.POSTING_TERMS, "6"))
    _insert(
        database, "turns", session_id="s", turn_no=1, turn_id="t", content=seal(places.TURN_CONTENT, "s", "t")
    )
    _insert(database, "traces", trace_id="x", sequence=1, content=seal(places.TRACE_CONTENT, "x"))
    _insert(
        database, "receipts", method="m", request_id="r", response=seal(places.RECEIPT_RESPONSE, "m", "r")
    )
    assert await count_under(database, ADA, 1) == 8
    rotated = await UserRotation(database, ring, clock.now, ALONE, clock.sleep).rotate(ADA)
    assert rotated.resealed == 8
    assert await count_under(database, ADA, 2) == 8


def _insert(database: PlainDatabase, table: str, **given: object) -> None:
    """A row of ada's; what is not given gets a value of its type."""
    values: dict[str, object] = {"tenant_id": "acme", "user_id": "ada", **given}
    for _, name, kind, required, *_ in database.execute(f"PRAGMA table_info({table})"):
        if required and name not in values:
            values[name] = 0 if "INT" in kind else b"" if kind == "BLOB" else f"{table}-{name}"
    places_of = ", ".join("?" * len(values))
    database.connection.execute(
        f"INSERT INTO {table} ({', '.join(values)}) VALUES ({places_of})", list(values.values())
    )
