"""The spool: durable before it is acknowledged, bounded, sealed, and adopted by whoever comes next."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from storage.conformance.samples import trace
from storage.errors import StorageDamaged, StorageFull, StorageUnavailable
from storage.spool import Spool, open_spools
from storage.spool import spool as spool_module
from tests.unit.storage.spool.conftest import SIZE, Opening, names
from tests.unit.storage.spool.keys import Keys

CANARY = "canary-in-the-coal-mine"


async def ids(spool: Spool) -> list[str]:
    return [draft.trace_id for draft in await spool.oldest(1_000)]


async def test_what_was_acknowledged_is_there_for_the_next_process(reopen: Opening):
    spool = await reopen()
    for number in range(5):
        await spool.add(trace(f"t{number}"))
    await spool.close()
    again = await reopen()
    assert await again.oldest(2) == [trace("t0"), trace("t1")]
    assert await ids(again) == ["t0", "t1", "t2", "t3", "t4"]
    await again.close()


async def test_nothing_is_acknowledged_before_it_is_on_the_disk(
    reopen: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: Keys
):
    spool = await reopen()
    copies: list[Path] = []
    sync = os.fdatasync

    def synced(descriptor: int) -> None:
        sync(descriptor)
        copy = tmp_path / f"copy-{len(copies)}"
        copy.mkdir()
        shutil.copy(tmp_path / "spool-0", copy / "spool-0")
        copies.append(copy)

    monkeypatch.setattr(os, "fdatasync", synced)
    await spool.add(trace("t1"))
    assert copies, "acknowledged without a sync"
    monkeypatch.undo()
    await spool.close()
    # The disk as it was at the sync: what a power cut right after the acknowledgement leaves.
    (copied,) = await open_spools(copies[-1], SIZE, keys)
    assert await ids(copied) == ["t1"]
    await copied.close()


async def test_those_that_come_together_share_a_write(reopen: Opening, monkeypatch: pytest.MonkeyPatch):
    spool = await reopen()
    syncs = 0
    sync = os.fdatasync

    def counted(descriptor: int) -> None:
        nonlocal syncs
        syncs += 1
        sync(descriptor)

    monkeypatch.setattr(os, "fdatasync", counted)
    await asyncio.gather(*[spool.add(trace(f"t{number}")) for number in range(50)])
    assert syncs <= 2
    assert await ids(spool) == [f"t{number}" for number in range(50)]
    await spool.close()


async def test_a_full_spool_refuses_and_keeps_what_it_has(reopen: Opening):
    spool = await reopen()
    large = [trace(f"t{number}", content="x" * 4_000) for number in range(50)]
    results = await asyncio.gather(*[spool.add(draft) for draft in large], return_exceptions=True)
    kept = results.count(None)
    assert {type(result) for result in results[kept:]} == {StorageFull}
    assert spool.depth == kept > 5
    assert spool.bytes_used <= spool.capacity
    await spool.add(trace("small"))
    assert (await ids(spool))[-1] == "small"
    await spool.close()


async def test_one_that_does_not_fit_refuses_only_itself(reopen: Opening):
    spool = await reopen()
    results = await asyncio.gather(
        spool.add(trace("a")),
        spool.add(trace("huge", content="x" * SIZE)),
        spool.add(trace("b")),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [type(None), StorageFull, type(None)]
    assert await ids(spool) == ["a", "b"]
    await spool.close()


async def test_the_content_is_sealed_on_the_disk(reopen: Opening, tmp_path: Path):
    spool = await reopen()
    await spool.add(trace("t1", content=CANARY))
    await spool.close()
    raw = (tmp_path / "spool-0").read_bytes()
    assert CANARY.encode() not in raw
    assert b"record of" not in raw


async def test_each_filling_has_a_key_of_its_own(reopen: Opening, keys: Keys, tmp_path: Path):
    spool = await reopen()
    await spool.add(trace("t1"))
    await spool.settle([True])
    await spool.add(trace("t2"))
    assert await ids(spool) == ["t2"]
    await spool.close()
    assert len(keys.made) == 2
    again = await reopen()
    assert await ids(again) == ["t2"]
    await again.close()


async def test_it_begins_anew_once_its_store_has_everything(reopen: Opening):
    spool = await reopen()
    for number in range(3):
        await spool.add(trace(f"t{number}"))
    await spool.settle([True, True])
    assert spool.depth == 1
    assert spool.bytes_used > 0
    await spool.settle([True])
    assert (spool.depth, spool.bytes_used) == (0, 0)
    await spool.close()


async def test_what_its_store_refused_stays_in_the_file(reopen: Opening):
    spool = await reopen()
    for number in range(3):
        await spool.add(trace(f"t{number}"))
    await spool.settle([True, False, True])
    assert (spool.depth, spool.refused) == (0, 1)
    assert spool.bytes_used > 0
    await spool.close()
    again = await reopen()
    assert "t1" in await ids(again)
    await again.close()


async def test_one_who_gave_up_is_not_kept(reopen: Opening):
    spool = await reopen()
    first = asyncio.create_task(spool.add(trace("t1")))
    given_up = asyncio.create_task(spool.add(trace("t2")))
    await asyncio.sleep(0)
    given_up.cancel()
    await first
    await asyncio.gather(given_up, return_exceptions=True)
    await spool.add(trace("t3"))
    assert (await ids(spool))[0] == "t1"
    assert (await ids(spool))[-1] == "t3"
    await spool.close()


async def test_a_disk_that_does_not_keep_up_refuses_early(reopen: Opening, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(spool_module, "_MOST_WAITING", 2)
    spool = await reopen()
    results = await asyncio.gather(
        *[spool.add(trace(f"t{number}")) for number in range(4)], return_exceptions=True
    )
    assert sum(isinstance(result, StorageUnavailable) for result in results) == 2
    assert spool.depth == 2
    await spool.close()


async def test_a_failed_write_is_told_to_each_and_the_next_succeeds(
    reopen: Opening, monkeypatch: pytest.MonkeyPatch
):
    spool = await reopen()

    def broken(_: int) -> None:
        raise OSError(5, "input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", broken)
        failed = await asyncio.gather(spool.add(trace("t1")), spool.add(trace("t2")), return_exceptions=True)
    assert all(isinstance(error, StorageUnavailable) for error in failed)
    assert failed[0] is not failed[1]
    await spool.add(trace("t3"))
    assert await ids(spool) == ["t3"]
    await spool.close()


async def test_two_processes_have_a_file_each(tmp_path: Path, keys: Keys):
    (one,) = await open_spools(tmp_path, SIZE, keys)
    (two,) = await open_spools(tmp_path, SIZE, keys)
    await one.add(trace("a"))
    await two.add(trace("b"))
    assert (await ids(one), await ids(two)) == (["a"], ["b"])
    await one.close()
    await two.close()


async def test_what_a_process_left_is_adopted_by_one_that_comes_later(tmp_path: Path, keys: Keys):
    (one,) = await open_spools(tmp_path, SIZE, keys)
    (two,) = await open_spools(tmp_path, SIZE, keys)
    (three,) = await open_spools(tmp_path, SIZE, keys)
    await two.add(trace("b"))
    for spool in (one, two, three):
        await spool.close()
    own, left = await open_spools(tmp_path, SIZE, keys)
    assert (await ids(own), await ids(left)) == ([], ["b"])
    await left.settle([True])
    await left.close(remove=True)
    await own.close()
    assert names(tmp_path) == ["spool-0"]


async def test_a_key_that_cannot_be_opened_here_stops_the_opening_and_keeps_the_file(
    reopen: Opening, tmp_path: Path, keys: Keys
):
    spool = await reopen()
    await spool.add(trace("t1"))
    await spool.close()
    with pytest.raises(StorageUnavailable):
        await open_spools(tmp_path, SIZE, Keys())
    again = await reopen()
    assert await ids(again) == ["t1"]
    await again.close()


async def test_a_folder_that_cannot_be_made_is_unavailable(tmp_path: Path, keys: Keys):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageUnavailable):
        await open_spools(tmp_path / "file" / "spool", SIZE, keys)


async def test_a_damaged_head_is_no_empty_spool(reopen: Opening, tmp_path: Path):
    spool = await reopen()
    await spool.close()
    raw = bytearray((tmp_path / "spool-0").read_bytes())
    raw[4_096 + 10] ^= 1
    (tmp_path / "spool-0").write_bytes(raw)
    with pytest.raises(StorageDamaged):
        await reopen()
