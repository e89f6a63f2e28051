"""The spool's key opens with the master key that wrapped it, and with no other."""

from pathlib import Path

import pytest

from storage.conformance.samples import trace
from storage.encryption import FileKeyProvider, MasterKeyMissing, create_key_file
from storage.errors import StorageDamaged
from storage.spool import MasterSpoolKeys, open_spools
from tests.unit.storage.spool.conftest import SIZE


def keys_of(path: Path) -> MasterSpoolKeys:
    if not path.exists():
        create_key_file(path)
    return MasterSpoolKeys(FileKeyProvider(path))


async def test_what_was_spooled_is_read_by_the_next_process_with_the_same_master_key(tmp_path: Path):
    (spool,) = await open_spools(tmp_path / "spool", SIZE, keys_of(tmp_path / "key"))
    await spool.add(trace("t1"))
    await spool.close()
    (again,) = await open_spools(tmp_path / "spool", SIZE, keys_of(tmp_path / "key"))
    assert await again.oldest(1) == [trace("t1")]
    await again.close()


async def test_another_master_key_refuses_the_start(tmp_path: Path):
    (spool,) = await open_spools(tmp_path / "spool", SIZE, keys_of(tmp_path / "key"))
    await spool.add(trace("t1"))
    await spool.close()
    with pytest.raises(MasterKeyMissing):
        await open_spools(tmp_path / "spool", SIZE, keys_of(tmp_path / "other"))


async def test_an_empty_spool_under_a_lost_master_key_begins_anew(tmp_path: Path):
    (spool,) = await open_spools(tmp_path / "spool", SIZE, keys_of(tmp_path / "key"))
    await spool.close()
    (again,) = await open_spools(tmp_path / "spool", SIZE, keys_of(tmp_path / "other"))
    await again.add(trace("t1"))
    assert await again.oldest(1) == [trace("t1")]
    await again.close()


@pytest.mark.parametrize("wrapped", [b"", b"no json", b"[1]", b'["mk", "zz"]'])
async def test_a_head_without_a_key_is_damage(tmp_path: Path, wrapped: bytes):
    with pytest.raises(StorageDamaged):
        await keys_of(tmp_path / "key").unwrap(wrapped)
