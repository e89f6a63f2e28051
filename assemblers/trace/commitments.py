"""How a trace is tied to what it must not contain: salted commitments, keyed pseudonyms, digests of evidence.

An unsalted hash of a fact or an id is guessed in microseconds. So each commitment has its own random salt,
which lies with the content and goes with it, and ids enter a record only keyed by the user's random
pseudonym.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from assemblers.assembly import CandidateBlock, SourceKind
from assemblers.records import SectionKind
from assemblers.trace.record import SALT_BYTES

_PSEUDONYM_HEX = 32


def commitment(salt: bytes, content: bytes) -> bytes:
    """The salted SHA-256 of a content, 32 bytes. Raises `ValueError` unless the salt has 16 bytes."""
    if len(salt) != SALT_BYTES:
        raise ValueError(f"a salt has {SALT_BYTES} bytes, not {len(salt)}: take them from a secure source")
    return sha256(salt + content).digest()


def user_pseudonym(pseudonym: str) -> str:
    """How a user's records name the user: derived, so that the key of the others stays out of the chain."""
    return _keyed(pseudonym, "user", "")


def session_pseudonym(pseudonym: str, session_id: str) -> str:
    """How records name a session: linkable with the user's pseudonym (the secret), unguessable without."""
    return _keyed(pseudonym, "session", session_id)


def turn_pseudonym(pseudonym: str, session_id: str, turn_id: str) -> str:
    """How records name a turn, whose id may come from a foreign system."""
    # The length keeps (a, bc) apart from (ab, c).
    return _keyed(pseudonym, "turn", f"{len(session_id)}:{session_id}{turn_id}")


def _keyed(pseudonym: str, kind: str, value: str) -> str:
    digest = hmac.digest(pseudonym.encode(), f"muniment/{kind}/{value}".encode(), "sha256")
    return digest.hex()[:_PSEUDONYM_HEX]


def evidence_digest(commitments: Iterable[bytes]) -> bytes:
    """SHA-256 over commitments of 32 bytes each, in order."""
    return sha256(b"".join(commitments)).digest()


def evidence(
    blocks: Sequence[CandidateBlock], facts: Mapping[int, bytes], excerpts: Mapping[int, bytes]
) -> bytes:
    """The digest over the commitments of the candidates among facts, then excerpts, by their numbers.

    Raises `KeyError` with the number of a candidate that has no commitment here.
    """
    found: list[bytes] = []
    for section, kind, commitments in (
        (SectionKind.FACTS, SourceKind.FACT, facts),
        (SectionKind.HISTORY, SourceKind.EXCERPT, excerpts),
    ):
        for block in blocks:
            refs = block.refs
            if block.section is section and block.source_kind is kind and not isinstance(refs, tuple):
                found += [commitments[number] for number in refs.tolist()]
    return evidence_digest(found)
