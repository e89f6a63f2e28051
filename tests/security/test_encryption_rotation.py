"""Keys are rotated while gateways serve: nothing is lost, nothing fails, and the old key opens nothing afterwards."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assemblers.records import SessionRef, UserRef
from storage.conformance.samples import NOW, archived, fact, receipt, trace, turn
from storage.encryption import KeyRing, MasterKeyInUse, MasterKeyMissing, create_key_file, key_cache
from storage.encryption.file_provider import FileKeyProvider
from storage.encryption.file_rotation import prune_file_keys, rotate_file_key
from storage.encryption.key_file import add_master_key, read_key_file
from storage.encryption.resealing import count_under
from storage.encryption.user_rotation import Pace, Rotated, UserRotation
from storage.ports import PageRequest, Storage
from storage.postgres.ownership import open_as_owner
from storage.sql.engine import Database
from storage.sqlite.factory import SqliteStorage
from tests.security.at_rest import AtRest, PostgresAtRest, SqliteAtRest

ANN, BOB, FOREIGN = UserRef("acme", "ann"), UserRef("acme", "bob"), UserRef("umbrella", "ann")
SESSION = SessionRef("acme", "ann", "s1")
FRESH = 0.15
# Far longer than any call takes, on a busy machine too.
SOON = Pace(1.5)
OF_BOB = "SELECT content FROM facts WHERE user_id = 'bob'"


@pytest.fixture(params=["sqlite", "postgres"])
def at_rest(request: pytest.FixtureRequest, tmp_path: Path) -> AtRest:
    key_file = tmp_path / "keys" / "master.key"
    key_file.parent.mkdir()
    create_key_file(key_file)
    if request.param == "sqlite":
        return SqliteAtRest(tmp_path / "data", key_file)
    return PostgresAtRest(request.getfixturevalue("postgres"), key_file)


@asynccontextmanager
async def gateways(at_rest: AtRest) -> AsyncIterator[tuple[list[Storage], Database]]:
    """Those that serve, two where that is possible, and the database as its owner has it."""
    async with AsyncExitStack() as stack:
        first = await at_rest.open()
        stack.push_async_callback(first.close)
        if isinstance(first, SqliteStorage):
            yield [first], first.database
            return
        second = await at_rest.open()
        stack.push_async_callback(second.close)
        assert isinstance(at_rest, PostgresAtRest)
        yield [first, second], await stack.enter_async_context(open_as_owner(at_rest.database.owner_url))


class Traffic:
    """Writes and reads of a user by all gateways, for as long as the block."""

    def __init__(self, storages: list[Storage]) -> None:
        self._storages, self._stopped, self.written = storages, False, 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self._run(number)) for number in range(len(self._storages))]
        try:
            yield
        finally:
            self._stopped = True
            await asyncio.gather(*tasks)

    async def _run(self, gateway: int) -> None:
        storage, count = self._storages[gateway], 0
        while not self._stopped:
            said = f"{gateway}-{count}"
            await storage.facts.record(ANN, [fact(f"k{said}", said)], NOW, receipt(f"r{said}"))
            await storage.traces.append(trace(f"x{said}", SESSION, kept=turn(f"t{said}", said), content=said))
            await storage.archives.append(ANN, [archived(f"s{said}", said)], NOW, receipt())
            await self._read(storage, gateway, count)
            count += 1
        self.written += count

    async def _read(self, storage: Storage, gateway: int, count: int) -> None:
        other = (gateway + 1) % len(self._storages)
        latest = await storage.traces.latest(SESSION)
        assert latest is not None
        assert latest.content
        storage.facts.forget(ANN)
        values = {each.value for each in (await storage.facts.load(ANN)).facts}
        assert f"{gateway}-{count}" in values
        assert count < 3 or any(str(value).startswith(f"{other}-") for value in values)


async def everything_said(storage: Storage) -> set[str]:
    """What is served of ann's, each text as often as it was stored being one."""
    # Nobody announces here what the other gateway wrote last.
    storage.facts.forget(ANN)
    storage.archives.forget(ANN)
    turns = await storage.transcripts.list(SESSION, NOW, PageRequest(10_000))
    facts = await storage.facts.load(ANN)
    archive = await storage.archives.load(ANN)
    said = {str(each.value) for each in facts.facts}
    assert said == {excerpt.text for excerpt in archive.excerpts}
    assert len(turns.items) == len(said)
    for each in said:
        assert (await storage.traces.get("acme", f"x{each}")).content == each.encode()
    return said


async def test_a_users_key_is_rotated_under_traffic(at_rest: AtRest, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(key_cache, "FRESH_SECONDS", FRESH)
    async with gateways(at_rest) as (storages, database):
        traffic = Traffic(storages)
        rotation = rotation_on(database, at_rest.key_file)
        async with traffic.running():
            await asyncio.sleep(0.3)
            rotated = await rotation.rotate(ANN)
            await asyncio.sleep(0.3)
        assert rotated.key_no == 2
        assert rotated.resealed > 10
        assert await count_under(database, ANN, 1) == 0
        assert await count_under(database, ANN, 2) > 0
        said = await everything_said(storages[-1])
        assert len(said) == traffic.written > 3
    reopened = await at_rest.open()
    try:
        assert await everything_said(reopened) == said
    finally:
        await reopened.close()


async def test_the_master_key_is_rotated_and_pruned_under_traffic(at_rest: AtRest):
    (old,) = read_key_file(at_rest.key_file)
    async with gateways(at_rest) as (storages, database):
        for user in (BOB, FOREIGN):
            await storages[0].facts.record(user, [fact("k", "kept")], NOW, receipt("", user.tenant_id))
        content = await at_rest.look(OF_BOB)
        traffic = Traffic(storages)
        async with traffic.running():
            await asyncio.sleep(0.2)
            assert await rotate_file_key(database, at_rest.key_file, datetime.now(UTC)) == 2
            assert await prune_file_keys(database, at_rest.key_file) == {old.key_id}
            await asyncio.sleep(0.2)
        assert await at_rest.look(OF_BOB) == content
    (new,) = read_key_file(at_rest.key_file)
    assert new.key_id != old.key_id
    reopened = await at_rest.open()
    try:
        assert len(await everything_said(reopened)) == traffic.written
        for user in (BOB, FOREIGN):
            assert [each.value for each in (await reopened.facts.load(user)).facts] == ["kept"]
    finally:
        await reopened.close()


async def test_a_file_with_the_old_master_key_only_refuses_the_start_afterwards(
    at_rest: AtRest, tmp_path: Path
):
    copy = tmp_path / "copy.key"
    copy.write_bytes(at_rest.key_file.read_bytes())
    copy.chmod(0o600)
    async with gateways(at_rest) as (storages, database):
        await storages[0].facts.record(ANN, [fact()], NOW, receipt())
        await rotate_file_key(database, at_rest.key_file, datetime.now(UTC))
    with pytest.raises(MasterKeyMissing):
        await at_rest.open(copy)


async def test_a_master_key_in_use_is_not_pruned(at_rest: AtRest):
    async with gateways(at_rest) as (storages, database):
        await storages[0].facts.record(ANN, [fact()], NOW, receipt())
        add_master_key(at_rest.key_file)
        with pytest.raises(MasterKeyInUse):
            await prune_file_keys(database, at_rest.key_file)
    await (await at_rest.open()).close()


async def test_a_rotation_of_one_user_leaves_the_others_as_they_are(at_rest: AtRest):
    async with gateways(at_rest) as (storages, database):
        for user in (ANN, BOB, FOREIGN):
            await storages[0].facts.record(user, [fact("k", "kept")], NOW, receipt("", user.tenant_id))
        others = (
            "SELECT content FROM facts WHERE NOT (tenant_id = 'acme' AND user_id = 'ann') ORDER BY tenant_id"
        )
        before = await at_rest.look(others)
        rotated = await rotation_on(database, at_rest.key_file, Pace(0.0)).rotate(ANN)
        assert rotated == Rotated(2, 2, ())
        assert await at_rest.look(others) == before


def rotation_on(database: Database, key_file: Path, pace: Pace = SOON) -> UserRotation:
    """As the command has it: with a ring of its own."""
    ring = KeyRing(database, FileKeyProvider(key_file))
    return UserRotation(database, ring, lambda: datetime.now(UTC), pace)
