"""The SQLite adapter passes every suite."""

from storage.conformance import (
    ArchiveSuite,
    ConcurrencySuite,
    DurabilitySuite,
    EpochSuite,
    FactSuite,
    IsolationSuite,
    PolicySuite,
    ReceiptSuite,
    RetiredFactSuite,
    RetrievalSuite,
    TextSuite,
    TraceSuite,
    TranscriptSuite,
    UsageSuite,
)


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
