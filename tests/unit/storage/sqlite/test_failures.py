"""Every failure of the driver is one of three errors, in our words."""

import sqlite3
from pathlib import Path

import pytest

from storage.conformance.samples import NOW, SESSION, USER, fact, receipt, refused
from storage.errors import StorageDamaged, StorageError, StorageFull, StorageUnavailable
from storage.ports import FactSelector, PageRequest
from storage.sqlite import open_sqlite
from storage.sqlite.failures import translate, translated

CODES = (
    (sqlite3.SQLITE_FULL, StorageFull),
    (sqlite3.SQLITE_IOERR_SHMSIZE, StorageFull),
    (sqlite3.SQLITE_BUSY, StorageUnavailable),
    (sqlite3.SQLITE_LOCKED, StorageUnavailable),
    (sqlite3.SQLITE_IOERR_FSYNC, StorageUnavailable),
    (sqlite3.SQLITE_CANTOPEN, StorageUnavailable),
    (sqlite3.SQLITE_CORRUPT, StorageDamaged),
    (sqlite3.SQLITE_NOTADB, StorageDamaged),
    (sqlite3.SQLITE_READONLY, StorageUnavailable),
)


@pytest.mark.parametrize(("code", "kind"), CODES)
def test_the_code_decides_and_the_text_stays_out(code: int, kind: type[StorageError]) -> None:
    error = sqlite3.OperationalError("near secret.db: SELECT secret")
    error.sqlite_errorcode = code
    translated_error = translate(error)
    assert type(translated_error) is kind
    assert "secret" not in str(translated_error)


def test_an_error_of_the_module_itself_is_unavailable() -> None:
    with pytest.raises(StorageUnavailable), translated():
        raise sqlite3.ProgrammingError("Cannot operate on a closed database.")


async def test_reads_of_a_store_that_is_gone_are_unavailable(tmp_path: Path) -> None:
    storage = await open_sqlite(tmp_path)
    await storage.close()
    with refused(StorageUnavailable):
        await storage.traces.answered(SESSION, "t1", NOW)
    with refused(StorageUnavailable):
        await storage.transcripts.since_last_question(SESSION, NOW)
    with refused(StorageUnavailable):
        await storage.policies.active("acme", "")


async def test_a_damaged_file_is_unavailable_and_not_an_empty_memory(tmp_path: Path) -> None:
    """P69: an outage never looks like "no memories"."""
    async with await open_sqlite(tmp_path) as storage:
        await storage.facts.record(USER, [fact()], NOW, receipt())
        storage._connection.execute("DROP TABLE facts")
        with refused(StorageUnavailable):
            await storage.facts.load(USER)
        with refused(StorageUnavailable):
            await storage.facts.list(USER, FactSelector(), PageRequest(10))
        assert await storage.ready()
