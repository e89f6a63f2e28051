"""The Postgres adapter passes every suite, in the role of a gateway: row-level security holds in all of them."""

from pathlib import Path

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
    TextSuite,
    TraceSuite,
    TranscriptSuite,
    UsageSuite,
)
from storage.encryption.file_provider import FileKeyProvider
from storage.encryption.key_file import create_key_file
from storage.ports import Storage
from storage.postgres import open_postgres


@pytest.fixture
def backend(postgres_url: str, tmp_path: Path) -> Backend:
    """The worker's database, without rows."""
    key_file = tmp_path / "master.key"
    create_key_file(key_file)

    async def open_again() -> Storage:
        return await open_postgres(postgres_url, FileKeyProvider(key_file))

    return Backend("postgres", open_again)


class TestFacts(FactSuite): ...


class TestRetiredFacts(RetiredFactSuite): ...


class TestArchives(ArchiveSuite): ...


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
