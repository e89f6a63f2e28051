"""Rotating the master key of a key file, which is of one database.

Safe to be cut off anywhere: a key is in the file before it wraps anything, and leaves the file after nothing can be
wrapped by it any more.

Where several hosts have copies of the file, the new key must be in all of them before it is used: it is added as a
spare one first (`add_spare_key`), and the rotation takes it.
"""

from datetime import datetime
from pathlib import Path

from storage.encryption.file_provider import FileKeyProvider
from storage.encryption.key_file import add_master_key, make_current, read_key_file, remove_master_keys
from storage.encryption.master_keys import check_master_keys, known_master_keys
from storage.encryption.master_rotation import Progress, forget_unused_master_keys, rewrap_tenant_keys
from storage.sql.engine import Database


async def rotate_file_key(
    database: Database, path: Path, now: datetime, progress: Progress = lambda: None
) -> int:
    """Wrap all tenant keys by a master key that was not used before; gives how many.

    Raises `KeyFileError`, `MasterKeyMissing`, `MasterKeyWrong`, and before anything was changed where the file is not
    the database's.
    """
    await check_master_keys(database, FileKeyProvider(path))
    await _choose_new(database, path)
    return await rewrap_by_current(database, path, now, progress)


async def _choose_new(database: Database, path: Path) -> None:
    keys = read_key_file(path)
    spare = next((key for key in keys if key.spare), None)
    used = {known.master_key_id for known in await known_master_keys(database)}
    if spare is not None:
        make_current(path, spare.key_id)
    elif keys[0].key_id in used:
        add_master_key(path)
    # Else the first one is new: it was added by a run that was cut off.


async def rewrap_by_current(
    database: Database, path: Path, now: datetime, progress: Progress = lambda: None
) -> int:
    """Wrap all tenant keys by the file's first master key; gives how many were not."""
    provider = FileKeyProvider(path)
    await check_master_keys(database, provider)
    return await rewrap_tenant_keys(database, provider, now, progress)


async def prune_file_keys(database: Database, path: Path) -> frozenset[str]:
    """Take the used-up master keys out of the file; gives their ids. Raises `MasterKeyInUse`."""
    await forget_unused_master_keys(database, FileKeyProvider(path))
    known = {known.master_key_id for known in await known_master_keys(database)}
    _, *others = read_key_file(path)
    # Those too that an earlier run made unknown before it was cut off.
    used_up = frozenset(key.key_id for key in others if not key.spare and key.key_id not in known)
    remove_master_keys(path, used_up)
    return used_up
