"""Opens the spools of a folder: one of our own, and what processes before us left undrained."""

import asyncio
from pathlib import Path
from typing import Final

from storage.errors import StorageUnavailable
from storage.spool.file import Place, SpoolFile
from storage.spool.keys import SpoolKeys
from storage.spool.spool import Spool

MOST_SPOOLS: Final = 64
"""Processes that may share a folder: each holds a file of its own."""


async def open_spools(folder: Path, size: int, keys: SpoolKeys) -> list[Spool]:
    """The spools that no other process holds, the first of them to write to, the others to drain and remove.

    `size` is the bytes of the file, taken from the disk at once. Raises `StorageFull` where the disk has no room for
    it, `StorageUnavailable` where the folder cannot be used, `StorageDamaged`, and what `keys` raises.
    """
    try:
        await asyncio.to_thread(folder.mkdir, mode=0o700, parents=True, exist_ok=True)
    except OSError:
        raise StorageUnavailable("the folder of the spool cannot be made") from None
    own: Spool | None = None
    left: list[Spool] = []
    try:
        for number in range(MOST_SPOOLS):
            path = folder / f"spool-{number}"
            if own is None:
                own = await _own(path, size, keys)
            else:
                left += await _left(path, keys)
    except BaseException:
        for spool in (own, *left):
            if spool is not None:
                await spool.close()
        raise
    if own is None:
        raise StorageUnavailable(f"{MOST_SPOOLS} processes use this folder already: give this one another")
    return [own, *left]


async def _own(path: Path, size: int, keys: SpoolKeys) -> Spool | None:
    file = SpoolFile.open(path)
    if file is None:
        return None
    try:
        places = await asyncio.to_thread(file.recover)
        await asyncio.to_thread(file.allocate, size)
        if places:
            return await _opened(file, keys, places)
        spool = Spool(file, keys, None, [])
        await spool.begin()
    except BaseException:
        file.close()
        raise
    return spool


async def _left(path: Path, keys: SpoolKeys) -> list[Spool]:
    """What a process that is no more had not given to the store; nothing where one that runs holds it."""
    file = SpoolFile.open(path) if await asyncio.to_thread(path.exists) else None
    if file is None:
        return []
    try:
        places = await asyncio.to_thread(file.recover)
        if not places:
            file.remove()
            return []
        return [await _opened(file, keys, places)]
    except BaseException:
        file.close()
        raise


async def _opened(file: SpoolFile, keys: SpoolKeys, places: list[Place]) -> Spool:
    assert file.header is not None, "records are behind a header"
    return Spool(file, keys, await keys.unwrap(file.header.wrapped_key), places)
