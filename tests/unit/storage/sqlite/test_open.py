"""Opening a data folder: fresh, current, old, newer, somebody else's, in use, not writable."""

import asyncio
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

from storage.conformance.samples import NOW, USER, archived, receipt, trace
from storage.errors import DataFolderInUse, SchemaMismatch, StorageUnavailable
from storage.ports import ArchiveSnapshot
from storage.sql.migrate import main as migrate
from storage.sql.revision import REVISION
from storage.sqlite import open_sqlite, upgrade
from storage.sqlite.connection import DATABASE_NAME, connect_writer
from storage.sqlite.upgrade import prepare_schema, stored_revision


async def test_a_fresh_folder_is_made_for_the_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b c%d"
    async with await open_sqlite(folder) as storage:
        assert await storage.ready()
        assert storage.waiting_writes == 0
    assert folder.stat().st_mode & 0o777 == 0o700


async def test_a_folder_serves_one_process_at_a_time(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path):
        with pytest.raises(DataFolderInUse):
            await open_sqlite(tmp_path)
    async with await open_sqlite(tmp_path) as storage:
        assert await storage.ready()


async def test_a_file_in_the_folder_s_place_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageUnavailable) as caught:
        await open_sqlite(tmp_path / "file")
    assert str(tmp_path) not in str(caught.value)


async def test_a_file_that_is_no_database_is_unavailable_and_lets_go_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / DATABASE_NAME).write_bytes(b"not a database" * 1_000)
    for _ in range(2):
        with pytest.raises(StorageUnavailable):
            await open_sqlite(tmp_path)


async def test_a_newer_schema_is_refused_with_the_remedy(tmp_path: Path) -> None:
    await (await open_sqlite(tmp_path)).close()
    stamp(tmp_path, "9999")
    for _ in range(2):
        with pytest.raises(SchemaMismatch, match="newer release"):
            await open_sqlite(tmp_path)


async def test_a_schema_that_cannot_be_brought_up_is_refused(tmp_path: Path) -> None:
    await (await open_sqlite(tmp_path)).close()
    stamp(tmp_path, "0000")
    with pytest.raises(SchemaMismatch, match="could not be brought"):
        await open_sqlite(tmp_path)


async def test_somebody_else_s_database_is_left_alone(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / DATABASE_NAME)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    with pytest.raises(SchemaMismatch, match="another folder"):
        await open_sqlite(tmp_path)


def stamp(folder: Path, revision: str) -> None:
    connection = sqlite3.connect(folder / DATABASE_NAME)
    connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))
    connection.commit()
    connection.close()


def test_an_older_schema_is_migrated_by_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is one revision so far: an older one is played by a database that the migrations start from nothing."""
    found = iter(["0000", REVISION])
    monkeypatch.setattr(upgrade, "stored_revision", lambda _: next(found))
    path = tmp_path / "odd name %20#1?x=y.db"
    connection = connect_writer(path)
    prepare_schema(connection, path)
    assert stored_revision(connection) == REVISION
    connection.close()


async def test_a_migrated_database_opens_like_a_created_one(tmp_path: Path) -> None:
    migrate([f"sqlite:///{tmp_path / DATABASE_NAME}"])
    async with await open_sqlite(tmp_path) as storage:
        assert await storage.ready()


async def test_opening_a_current_folder_needs_no_schema_tools(tmp_path: Path) -> None:
    await (await open_sqlite(tmp_path)).close()
    program = f"""
import asyncio, pathlib, sys
from storage.sqlite import open_sqlite
async def run():
    async with await open_sqlite(pathlib.Path({str(tmp_path)!r})) as storage:
        assert await storage.ready()
asyncio.run(run())
print(sorted({{"alembic", "sqlalchemy"}} & set(sys.modules)))
"""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await child.communicate()
    assert said.strip() == b"[]"


async def test_a_copy_of_a_closed_folder_is_whole(tmp_path: Path) -> None:
    await (await open_sqlite(tmp_path / "a")).close()
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    async with await open_sqlite(tmp_path / "b") as storage:
        assert await storage.ready()


async def test_closing_twice_is_closing_once(tmp_path: Path) -> None:
    storage = await open_sqlite(tmp_path / "one")
    await storage.close()
    async with await open_sqlite(tmp_path / "two"):
        await storage.close()
        with pytest.raises(DataFolderInUse):
            await open_sqlite(tmp_path / "two")


async def test_closing_under_a_reader_and_many_writers_finishes_what_was_accepted(tmp_path: Path) -> None:
    storage = await open_sqlite(tmp_path)
    await storage.archives.append(USER, [archived("s", *map(str, range(600)))], NOW, receipt())
    load = asyncio.ensure_future(storage.archives.load(USER))
    appends = [asyncio.ensure_future(storage.traces.append(trace(f"x{index}"))) for index in range(300)]
    await asyncio.sleep(0)
    await storage.close()
    assert {seal.sequence for seal in await asyncio.gather(*appends)} == set(range(1, 301))
    assert isinstance(
        (await asyncio.gather(load, return_exceptions=True))[0], ArchiveSnapshot | StorageUnavailable
    )
