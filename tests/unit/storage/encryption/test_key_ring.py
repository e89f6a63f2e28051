"""The hierarchy: keys are made on first use, durable before use, and one wins where two are made at once."""

import asyncio
from pathlib import Path

import pytest

from assemblers.records import UserRef
from storage.encryption import FileKeyProvider, KeyRing, MasterKeyMissing, MasterKeyWrong, create_key_file
from storage.encryption.key_cache import FRESH_SECONDS
from storage.encryption.key_file import MasterKey, add_master_key, read_key_file
from storage.encryption.providers import KeyProvider
from storage.encryption.user_rotation import ALONE, UserRotation
from storage.errors import StorageDamaged, StorageUnavailable
from tests.unit.storage.encryption.conftest import Clock
from tests.unit.storage.encryption.plain_database import PlainDatabase

ADA, BOB = UserRef("acme", "ada"), UserRef("acme", "bob")
NAMESAKE = UserRef("other", "ada")
PLACE = b"place"


def another(database: PlainDatabase, provider: KeyProvider, clock: Clock) -> KeyRing:
    """The ring of another process."""
    return KeyRing(database, provider, clock.monotonic, clock.now)


async def test_a_user_gets_a_key_on_the_first_write(ring: KeyRing):
    assert ring.peek(ADA) is None
    assert await ring.for_reading(ADA) is None
    key = await ring.for_writing(ADA)
    assert ring.peek(ADA) is key
    assert await ring.for_reading(ADA) is key


async def test_reading_makes_nothing(ring: KeyRing, database: PlainDatabase):
    await ring.for_reading(ADA)
    await ring.tenant_for_reading("acme")
    assert database.execute("SELECT count(*) FROM user_keys") == [(0,)]
    assert database.execute("SELECT count(*) FROM tenant_keys") == [(0,)]


async def test_what_one_process_seals_another_opens(
    ring: KeyRing, database: PlainDatabase, key_file: Path, clock: Clock
):
    sealed = (await ring.for_writing(ADA)).seal(PLACE, b"yes")
    key = await another(database, FileKeyProvider(key_file), clock).for_reading(ADA)
    assert key is not None
    assert key.open(PLACE, sealed) == b"yes"


@pytest.mark.parametrize("stranger", [BOB, NAMESAKE])
async def test_nobody_elses_key_opens_it(ring: KeyRing, stranger: UserRef):
    sealed = (await ring.for_writing(ADA)).seal(PLACE, b"yes")
    with pytest.raises(StorageDamaged):
        (await ring.for_writing(stranger)).open(PLACE, sealed)
    with pytest.raises(StorageDamaged):
        (await ring.tenant_for_writing(ADA.tenant_id)).open(PLACE, sealed)


async def test_processes_that_make_a_key_at_once_end_up_with_one(
    database: PlainDatabase, provider: FileKeyProvider, clock: Clock
):
    rings = [another(database, provider, clock) for _ in range(6)]
    users = [UserRef("acme", f"u{i}") for i in range(3)]
    keys = await asyncio.gather(*(ring.for_writing(user) for ring in rings for user in users for _ in "ab"))
    of_user = [keys[i * 2 :: 6] + keys[i * 2 + 1 :: 6] for i in range(3)]
    for made in of_user:
        sealed = made[0].seal(PLACE, b"yes")
        assert all(key.open(PLACE, sealed) == b"yes" for key in made)
    assert database.execute("SELECT count(*) FROM user_keys") == [(3,)]
    assert database.execute("SELECT count(*) FROM tenant_keys") == [(1,)]
    assert database.execute("SELECT count(*) FROM master_keys") == [(1,)]


async def test_a_key_that_could_not_be_stored_is_not_used(ring: KeyRing, database: PlainDatabase):
    database.down = True
    with pytest.raises(StorageUnavailable):
        await ring.for_writing(ADA)
    assert ring.peek(ADA) is None
    database.down = False
    assert (await ring.for_writing(ADA)).key_no == 1


async def test_a_key_in_memory_needs_no_database(ring: KeyRing, database: PlainDatabase):
    key = await ring.for_writing(ADA)
    calls = database.calls
    assert ring.peek(ADA) is await ring.for_writing(ADA) is await ring.for_reading(ADA) is key
    assert database.calls == calls


async def test_nothing_in_the_tables_is_a_key(ring: KeyRing, database: PlainDatabase, key_file: Path):
    key = await ring.for_writing(ADA)
    stored = [
        row[0]
        for table in ("tenant_keys", "user_keys")
        for row in database.execute(f"SELECT wrapped FROM {table}")
    ]
    (master,) = read_key_file(key_file)
    assert len(stored) == 2
    assert all(master.secret not in wrapped for wrapped in stored)
    assert all(len(wrapped) > 32 for wrapped in stored)
    assert key.key_no == 1


@pytest.mark.parametrize("table", ["tenant_keys", "user_keys"])
async def test_a_wrapped_key_moved_to_another_does_not_unwrap(
    ring: KeyRing, database: PlainDatabase, clock: Clock, table: str
):
    for user in (ADA, BOB, NAMESAKE):
        await ring.for_writing(user)
    ((stolen,),) = database.execute(f"SELECT wrapped FROM {table} WHERE tenant_id = 'other'")
    database.execute(f"UPDATE {table} SET wrapped = ? WHERE tenant_id = 'acme'", stolen)
    clock.seconds += FRESH_SECONDS
    fresh = another(database, ring._provider, clock)
    with pytest.raises((StorageDamaged, MasterKeyWrong)):
        await fresh.for_reading(ADA)


async def test_fingerprints_of_a_user_outlive_the_versions_of_its_key(
    ring: KeyRing, database: PlainDatabase, clock: Clock
):
    before = (await ring.for_writing(ADA)).fingerprint(PLACE, b"body")
    await UserRotation(database, ring, clock.now, ALONE, clock.sleep).rotate(ADA)
    after = await ring.for_writing(ADA)
    assert after.key_no == 2
    assert after.fingerprint(PLACE, b"body") == before


async def test_the_right_master_key_is_recognised(ring: KeyRing, database: PlainDatabase):
    await ring.for_writing(ADA)
    await ring.check()
    assert database.execute("SELECT count(*) FROM master_keys") == [(1,)]


async def test_a_database_in_which_nothing_is_encrypted_takes_any_master_key(
    ring: KeyRing, database: PlainDatabase
):
    await ring.check()
    assert database.execute("SELECT count(*) FROM master_keys") == [(0,)]


async def test_a_missing_master_key_refuses_the_start(
    ring: KeyRing, database: PlainDatabase, tmp_path: Path, clock: Clock, key_file: Path
):
    await ring.for_writing(ADA)
    create_key_file(tmp_path / "other.key")
    with pytest.raises(MasterKeyMissing, match=read_key_file(key_file)[0].key_id):
        await another(database, FileKeyProvider(tmp_path / "other.key"), clock).check()
    # And has left no trace.
    assert database.execute("SELECT count(*) FROM master_keys") == [(1,)]


async def test_a_wrong_master_key_under_the_right_id_refuses_the_start(
    ring: KeyRing, database: PlainDatabase, tmp_path: Path, clock: Clock, key_file: Path
):
    await ring.for_writing(ADA)
    path = tmp_path / "other.key"
    wrong = create_key_file(path)
    right: MasterKey = read_key_file(key_file)[0]
    path.write_text(path.read_text().replace(wrong.key_id, right.key_id))
    with pytest.raises(MasterKeyWrong):
        await another(database, FileKeyProvider(path), clock).check()


async def test_a_ring_follows_a_file_that_got_a_new_key(
    ring: KeyRing, database: PlainDatabase, key_file: Path
):
    await ring.for_writing(ADA)
    new = add_master_key(key_file)
    await ring.for_writing(NAMESAKE)
    assert database.execute("SELECT master_key_id FROM tenant_keys WHERE tenant_id = 'other'") == [
        (new.key_id,)
    ]


async def test_a_tenants_key_is_another_than_its_users(ring: KeyRing):
    sealed = (await ring.tenant_for_writing("acme")).seal(PLACE, b"policy")
    reading = await ring.tenant_for_reading("acme")
    assert reading is ring.peek_tenant("acme")
    assert reading is not None
    assert reading.open(PLACE, sealed) == b"policy"
