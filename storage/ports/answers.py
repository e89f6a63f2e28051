"""Copies of answers to idempotent calls, for the repeats that come through another gateway."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from assemblers.records import UserRef
from storage.ports.epochs import Epochs


@dataclass(frozen=True, slots=True)
class AnswerCopy:
    """An answer as bytes, the digest of the request's body, and the user's epochs when it was given.

    It may be given again only while these are the confirmed epochs.
    """

    body_sha256: bytes
    response: bytes
    epochs: Epochs


class AnswerCopies(Protocol):
    """Copies that may be lost at any time; the first answer to a request stays. All raise `StorageUnavailable`."""

    async def find(self, user: UserRef, method: str, request_id: str, now: datetime) -> AnswerCopy | None: ...
    async def keep(
        self, user: UserRef, method: str, request_id: str, copy: AnswerCopy, now: datetime
    ) -> None:
        """For 24 hours from `now`."""
        ...
