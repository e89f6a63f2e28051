"""All stores in one handle."""

from typing import Protocol

from storage.ports.archives import ArchiveStore
from storage.ports.epochs import EpochStore
from storage.ports.facts import FactStore
from storage.ports.policies import PolicyStore
from storage.ports.prefixes import PrefixStore
from storage.ports.sessions import SessionCache
from storage.ports.traces import TraceStore
from storage.ports.transcripts import TranscriptStore
from storage.ports.usage import UsageStore
from storage.ports.users import UserStore


class Storage(Protocol):
    """Everything that is kept, in one handle."""

    facts: FactStore
    archives: ArchiveStore
    transcripts: TranscriptStore
    policies: PolicyStore
    prefixes: PrefixStore
    traces: TraceStore
    users: UserStore
    usage: UsageStore
    sessions: SessionCache
    epochs: EpochStore

    async def ready(self) -> bool:
        """Whether reads and writes work now."""
        ...

    async def close(self) -> None:
        """Finish what was accepted and let go of everything."""
        ...
