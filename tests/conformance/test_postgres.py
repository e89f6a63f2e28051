"""The Postgres adapter passes every suite, in the role of a gateway: row-level security holds in all of them."""

from pathlib import Path

import asyncpg
import pytest

from storage.conformance import (
    ArchiveSuite,
    Backend,
    ConcurrencySuite,
    DurabilitySuite,
    EpochSuite,
    FactSuite,
    IsolationSuite,
    PolicySuite,
    ProcessSuite,
    ReceiptSuite,
    RetiredFactSuite,
    RetrievalSuite,
    TextSuite,
    TraceSuite,
    TranscriptSuite,
    UsageSuite,
)
from storage.encryption.file_provider import FileKeyProvider
from storage.encryption.key_file import create_key_file
from storage.ports import Storage
from storage.postgres import open_postgres
from storage.postgres.database import Timeouts
from tests.servers import PostgresDatabase

# What the suites say is right or wrong, however slow the machine is.
PATIENT = Timeouts(read=30.0, load=30.0, write=30.0, heavy=30.0, append=30.0)
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"


@pytest.fixture
def backend(postgres: PostgresDatabase, tmp_path: Path) -> Backend:
    """The worker's database, without rows."""
    key_file = tmp_path / "master.key"
    create_key_file(key_file)

    async def open_again() -> Storage:
        return await open_postgres(postgres.url, FileKeyProvider(key_file), timeouts=PATIENT)

    async def count_rows() -> dict[str, int]:
        # As the superuser, whom row-level security hides nothing from.
        connection = await asyncpg.connect(postgres.superuser_url)
        try:
            names = [str(row[0]) for row in await connection.fetch(TABLES)]
            return {name: await connection.fetchval(f"SELECT count(*) FROM {name}") for name in names}
        finally:
            await connection.close()

    return Backend("postgres", open_again, count_rows)


class TestFacts(FactSuite): ...


class TestRetiredFacts(RetiredFactSuite): ...


class TestArchives(ArchiveSuite): ...


class TestRetrieval(RetrievalSuite): ...


class TestTranscripts(TranscriptSuite): ...


class TestPolicies(PolicySuite): ...


class TestTraces(TraceSuite): ...


class TestUsage(UsageSuite): ...


class TestReceipts(ReceiptSuite): ...


class TestIsolation(IsolationSuite): ...


class TestEpochs(EpochSuite): ...


class TestConcurrency(ConcurrencySuite): ...


class TestTexts(TextSuite): ...


class TestDurability(DurabilitySuite): ...


class TestProcesses(ProcessSuite): ...
