"""Lua scripts, each of which touches one key: atomic on the server, and at home on one slot of a cluster."""

from dataclasses import dataclass, field
from hashlib import sha1


@dataclass(frozen=True, slots=True)
class Script:
    """A script of one key, `KEYS[1]`. The server knows it by the digest of its text once it has seen it."""

    text: bytes
    digest: bytes = field(init=False)

    def __post_init__(self) -> None:
        # The protocol's choice, which is about recognising, not about secrecy.
        digest = sha1(self.text, usedforsecurity=False).hexdigest()
        object.__setattr__(self, "digest", digest.encode())


def script(text: str) -> Script:
    """A script out of its source."""
    return Script(text.strip().encode())
