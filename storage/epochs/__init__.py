"""What is known of users' epochs: confirmed by SQL and by the cache that all gateways share, for a second each time."""

from storage.epochs.announcer import SharedAnnouncer
from storage.epochs.book import EpochBook
from storage.epochs.known import KnownEpochs
from storage.epochs.local import LocalEpochs
from storage.epochs.shared import FRESH_SECONDS, Mark, SharedEpochs, SharedState

__all__ = [
    "FRESH_SECONDS",
    "EpochBook",
    "KnownEpochs",
    "LocalEpochs",
    "Mark",
    "SharedAnnouncer",
    "SharedEpochs",
    "SharedState",
]
