"""Users' pseudonyms."""

from typing import Protocol

from assemblers.records import UserRef


class UserStore(Protocol):
    """Users' pseudonyms, which stand for them in the chain."""

    def peek(self, user: UserRef) -> str | None: ...
    async def pseudonym(self, user: UserRef) -> str:
        """The user's random pseudonym (32 hex digits), made durable on first use."""
        ...
