"""The suites that every backend of the ports must pass, in one process and with one clock: `now` is always passed.

A suite is a class of async tests. A backend runs it by deriving a class that pytest collects, and by giving two
fixtures: `backend` (a `Backend` on a place of its own) and `storage` (that backend, open). `ProcessSuite` is for
backends that admit several processes. See `tests/conformance`.
"""

from storage.conformance.archives import ArchiveSuite
from storage.conformance.backend import Backend
from storage.conformance.concurrency import ConcurrencySuite
from storage.conformance.durability import DurabilitySuite
from storage.conformance.facts import FactSuite
from storage.conformance.facts_retired import RetiredFactSuite
from storage.conformance.isolation import IsolationSuite
from storage.conformance.policies import PolicySuite
from storage.conformance.processes import ProcessSuite
from storage.conformance.receipts import ReceiptSuite
from storage.conformance.retrieval import RetrievalSuite
from storage.conformance.sessions import SessionCacheSuite
from storage.conformance.shared_epochs import SharedEpochsSuite
from storage.conformance.stored_epochs import EpochSuite
from storage.conformance.texts import TextSuite
from storage.conformance.traces import TraceSuite
from storage.conformance.transcripts import TranscriptSuite
from storage.conformance.usage import UsageSuite

__all__ = [
    "ArchiveSuite",
    "Backend",
    "ConcurrencySuite",
    "DurabilitySuite",
    "EpochSuite",
    "FactSuite",
    "IsolationSuite",
    "PolicySuite",
    "ProcessSuite",
    "ReceiptSuite",
    "RetiredFactSuite",
    "RetrievalSuite",
    "SessionCacheSuite",
    "SharedEpochsSuite",
    "TextSuite",
    "TraceSuite",
    "TranscriptSuite",
    "UsageSuite",
]
