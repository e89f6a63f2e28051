"""The ports: what the gateway needs to have kept, one small protocol per aggregate.

A method is one atomic step: it is done whole and durable (fsynced) when it returns, or not at all. Writes take a
`Receipt`: its key is stored in the same transaction, so that a repeat raises `Repeated` with the first answer and a
repeat with another body raises `RequestIdReused`. `peek` methods answer from memory and never block; None means
"load it". Reading never creates anything. Errors are those of `storage.errors`.
"""

from storage.ports.archives import (
    ArchivedSession,
    ArchiveSnapshot,
    ArchiveStore,
    ArchiveWritten,
    ExcerptDraft,
)
from storage.ports.epochs import Announcer, Epochs, EpochStore
from storage.ports.facts import FactDraft, FactSelector, FactSnapshot, FactStore, FactWritten
from storage.ports.pages import Page, PageRequest
from storage.ports.policies import PolicyHead, PolicyStore, StoredPolicy
from storage.ports.prefixes import PrefixStore
from storage.ports.receipts import Receipt
from storage.ports.sessions import SessionCache, SessionState
from storage.ports.storage import Storage
from storage.ports.traces import AnsweredTurn, Seal, StoredTrace, TraceDraft, TraceSelector, TraceStore
from storage.ports.transcripts import SessionEnded, TranscriptStore, TurnsWritten
from storage.ports.usage import UsageReport, UsageStore
from storage.ports.users import UserStore

__all__ = [
    "Announcer",
    "AnsweredTurn",
    "ArchiveSnapshot",
    "ArchiveStore",
    "ArchiveWritten",
    "ArchivedSession",
    "EpochStore",
    "Epochs",
    "ExcerptDraft",
    "FactDraft",
    "FactSelector",
    "FactSnapshot",
    "FactStore",
    "FactWritten",
    "Page",
    "PageRequest",
    "PolicyHead",
    "PolicyStore",
    "PrefixStore",
    "Receipt",
    "Seal",
    "SessionCache",
    "SessionEnded",
    "SessionState",
    "Storage",
    "StoredPolicy",
    "StoredTrace",
    "TraceDraft",
    "TraceSelector",
    "TraceStore",
    "TranscriptStore",
    "TurnsWritten",
    "UsageReport",
    "UsageStore",
    "UserStore",
]
