"""Rotating a key file with its database: cut off anywhere, it neither loses a key nor takes an old one again."""

from pathlib import Path

import pytest

from assemblers.records import UserRef
from storage.encryption import (
    FileKeyProvider,
    KeyRing,
    MasterKeyInUse,
    MasterKeyMissing,
    create_key_file,
    file_rotation,
)
from storage.encryption.file_rotation import prune_file_keys, rewrap_by_current, rotate_file_key
from storage.encryption.key_file import add_master_key, add_spare_key, read_key_file
from storage.errors import StorageUnavailable
from tests.unit.storage.encryption.conftest import Clock
from tests.unit.storage.encryption.plain_database import PlainDatabase

USERS = [UserRef(f"t{number}", "ada") for number in range(3)]
PLACE = b"place"


@pytest.fixture
async def sealed(ring: KeyRing) -> list[bytes]:
    return [(await ring.for_writing(user)).seal(PLACE, b"said") for user in USERS]


async def readable(database: PlainDatabase, path: Path, clock: Clock, sealed: list[bytes]) -> bool:
    ring = KeyRing(database, FileKeyProvider(path), clock.monotonic, clock.now)
    await ring.check()
    opened = [
        (await ring.for_writing(user)).open(PLACE, each) for user, each in zip(USERS, sealed, strict=True)
    ]
    return opened == [b"said"] * len(USERS)


def ids(path: Path) -> list[str]:
    return [key.key_id for key in read_key_file(path)]


async def test_a_new_key_wraps_and_the_old_one_stays_until_it_is_pruned(
    database: PlainDatabase, key_file: Path, clock: Clock, sealed: list[bytes]
):
    (old,) = ids(key_file)
    assert await rotate_file_key(database, key_file, clock.now()) == len(USERS)
    new, kept = ids(key_file)
    assert (new != old, kept) == (True, old)
    assert await readable(database, key_file, clock, sealed)
    assert await prune_file_keys(database, key_file) == {old}
    assert ids(key_file) == [new]
    assert await readable(database, key_file, clock, sealed)


async def test_a_file_of_another_database_is_refused_and_left_as_it_is(
    database: PlainDatabase, tmp_path: Path, clock: Clock, sealed: list[bytes]
):
    other = tmp_path / "other.key"
    create_key_file(other)
    before = other.read_bytes()
    with pytest.raises(MasterKeyMissing):
        await rotate_file_key(database, other, clock.now())
    assert other.read_bytes() == before


async def test_a_spare_key_is_taken_first(
    database: PlainDatabase, key_file: Path, clock: Clock, sealed: list[bytes]
):
    spare = add_spare_key(key_file)
    assert ids(key_file)[-1] == spare.key_id
    provider = FileKeyProvider(key_file)
    assert await provider.current() != spare.key_id
    await rotate_file_key(database, key_file, clock.now())
    assert ids(key_file)[0] == spare.key_id
    assert len(ids(key_file)) == 2
    assert not any(key.spare for key in read_key_file(key_file))
    assert await readable(database, key_file, clock, sealed)


async def test_pruning_leaves_a_spare_key(
    database: PlainDatabase, key_file: Path, clock: Clock, sealed: list[bytes]
):
    await rotate_file_key(database, key_file, clock.now())
    spare = add_spare_key(key_file)
    await prune_file_keys(database, key_file)
    assert ids(key_file)[1:] == [spare.key_id]


async def test_pruning_refuses_while_the_old_key_is_in_use(
    database: PlainDatabase, key_file: Path, clock: Clock, sealed: list[bytes]
):
    add_master_key(key_file)
    with pytest.raises(MasterKeyInUse):
        await prune_file_keys(database, key_file)
    assert len(ids(key_file)) == 2
    assert await rewrap_by_current(database, key_file, clock.now()) == len(USERS)
    await prune_file_keys(database, key_file)
    assert await readable(database, key_file, clock, sealed)


async def test_cut_off_after_the_file_was_written_the_next_run_takes_that_key(
    database: PlainDatabase, key_file: Path, clock: Clock, sealed: list[bytes]
):
    added = add_master_key(key_file)
    await rotate_file_key(database, key_file, clock.now())
    assert ids(key_file)[0] == added.key_id
    assert len(ids(key_file)) == 2


async def test_cut_off_while_pruning_the_old_key_is_not_taken_again_and_goes_with_the_next_pruning(
    database: PlainDatabase,
    key_file: Path,
    clock: Clock,
    sealed: list[bytes],
    monkeypatch: pytest.MonkeyPatch,
):
    (old,) = ids(key_file)
    await rotate_file_key(database, key_file, clock.now())

    def killed(*_: object) -> None:
        raise StorageUnavailable("killed")

    with monkeypatch.context() as patched:
        patched.setattr(file_rotation, "remove_master_keys", killed)
        with pytest.raises(StorageUnavailable):
            await prune_file_keys(database, key_file)
    assert await readable(database, key_file, clock, sealed)
    await rotate_file_key(database, key_file, clock.now())
    assert ids(key_file)[0] != old
    await prune_file_keys(database, key_file)
    assert len(ids(key_file)) == 1
    assert await readable(database, key_file, clock, sealed)
