"""The stores that are the same on every SQL engine, put together once."""

from storage.encryption.key_ring import KeyRing
from storage.encryption.providers import KeyProvider
from storage.ports import (
    ArchiveStore,
    FactStore,
    PolicyStore,
    PrefixStore,
    TranscriptStore,
    UsageStore,
    UserStore,
)
from storage.ports.epochs import Announcer, EpochStore
from storage.sql.announcing import Announcements
from storage.sql.archives import SqlArchives
from storage.sql.engine import Database
from storage.sql.epochs import SqlEpochs
from storage.sql.facts import SqlFacts
from storage.sql.policies import SqlPolicies
from storage.sql.prefixes import SqlPrefixes
from storage.sql.retention import Retention
from storage.sql.transcripts import SqlTranscripts
from storage.sql.usage import SqlUsage
from storage.sql.users import SqlUsers


class SqlStores:
    """All of the port `Storage` but the ledger, the sessions, and what the engine itself needs."""

    def __init__(self, database: Database, announcer: Announcer, provider: KeyProvider) -> None:
        announcements = Announcements(announcer, database)
        self.keys = keys = KeyRing(database, provider)
        self._retention = Retention(database)
        archives = SqlArchives(database, announcements, keys)
        self.archives: ArchiveStore = archives
        self.facts: FactStore = SqlFacts(database, announcements, keys)
        self.transcripts: TranscriptStore = SqlTranscripts(
            database, archives, announcements, self._retention, keys
        )
        self.policies: PolicyStore = SqlPolicies(database, announcements, keys)
        self.prefixes: PrefixStore = SqlPrefixes(database, announcements, keys)
        self.usage: UsageStore = SqlUsage(database, announcements, keys)
        self.users: UserStore = SqlUsers(database)
        self.epochs: EpochStore = SqlEpochs(database)
