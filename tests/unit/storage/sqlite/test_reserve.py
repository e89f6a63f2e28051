"""The reserve: made, given up, made again; and what a full disk means for writes, without needing one."""

import errno
import os
import sqlite3
from pathlib import Path

import pytest

from storage.conformance.samples import NOW, USER, fact, later, receipt, refused, trace
from storage.errors import StorageFull
from storage.sqlite import open_sqlite
from storage.sqlite.reserve import RESERVE_NAME, Reserve

SIZE = 8192


def no_room(_file: int, _offset: int, _size: int) -> None:
    raise OSError(errno.ENOSPC, "no room")


def not_supported(_file: int, _offset: int, _size: int) -> None:
    raise OSError(errno.EOPNOTSUPP, "not here")


def test_it_is_made_once_and_takes_its_room(tmp_path: Path) -> None:
    reserve = Reserve(tmp_path, SIZE)
    reserve.keep()
    made = (tmp_path / RESERVE_NAME).stat()
    assert (made.st_size, made.st_blocks * 512 >= SIZE) == (SIZE, True)
    reserve.keep()
    assert (tmp_path / RESERVE_NAME).stat().st_ino == made.st_ino
    assert not reserve.degraded


def test_what_is_given_up_is_gone_until_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve = Reserve(tmp_path, SIZE)
    reserve.keep()
    assert reserve.give_up()
    assert list(tmp_path.iterdir()) == []
    assert not reserve.give_up()
    with monkeypatch.context() as full:
        full.setattr(os, "posix_fallocate", no_room)
        assert not reserve.recover()
    assert reserve.lent
    assert reserve.recover()
    assert not reserve.degraded


def test_a_try_that_fails_leaves_the_reserve_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve = Reserve(tmp_path, SIZE)
    reserve.keep()
    reserve.short = True
    monkeypatch.setattr(os, "posix_fallocate", no_room)
    assert not reserve.recover()
    assert [path.name for path in tmp_path.iterdir()] == [RESERVE_NAME]
    assert (reserve.short, reserve.lent) == (True, False)


def test_a_file_system_that_reserves_nothing_is_not_taken_for_a_full_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "posix_fallocate", not_supported)
    reserve = Reserve(tmp_path, SIZE)
    reserve.keep()
    assert not reserve.degraded
    assert list(tmp_path.iterdir()) == []


async def test_a_folder_without_room_for_it_takes_no_writes_but_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "posix_fallocate", no_room)
    async with await open_sqlite(tmp_path) as storage:
        assert not await storage.ready()
        with refused(StorageFull):
            await storage.traces.append(trace("x1"))
        monkeypatch.undo()
        await storage.traces.append(trace("x1"))
        assert await storage.ready()


async def test_a_removal_is_tried_once_more_with_the_room_of_the_reserve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await open_sqlite(tmp_path) as storage:
        await storage.facts.record(USER, [fact()], NOW, receipt())
        tries: list[bool] = []

        def as_on_a_full_disk(connection: sqlite3.Connection, *_: object) -> None:
            tries.append((tmp_path / RESERVE_NAME).exists())
            error = sqlite3.OperationalError("full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error

        monkeypatch.setattr("storage.sql.facts.forget_answers_with", as_on_a_full_disk)
        with refused(StorageFull):
            await storage.facts.delete(USER, 1, "", later(hours=1), receipt())
        assert tries == [True, False]
