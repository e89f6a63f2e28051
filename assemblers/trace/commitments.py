"""How a trace is tied to what it must not contain: salted commitments, keyed pseudonyms, digests of evidence.

An unsalted hash of a fact or an id is guessed in microseconds. So each commitment has its own random salt,
which lies with the content and goes with it, and ids enter a record only keyed by the user's random
pseudonym."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b, sha256

from assemblers.assembly import CandidateBlock, SourceKind
from assemblers.trace.record import SALT_BYTES


def commitment(salt: bytes, content: bytes) -> bytes:
    """The salted SHA-256 of a content, 32 bytes. Raises `ValueError` unless the salt has 16 bytes."""
    if len(salt) != SALT_BYTES:
        raise ValueError(f"a salt has {SALT_BYTES} bytes, not {len(salt)}: take them from a secure source")
    return sha256(salt + content).digest()


def user_pseudonym(pseudonym: str) -> str:
    """How a user's records name the user: derived, so that the key of the others stays out of the chain."""
    return _keyed(pseudonym, b"user", "")


def session_pseudonym(pseudonym: str, session_id: str) -> str:
    """How records name a session: linkable with the user's pseudonym (the secret), unguessable without."""
    return _keyed(pseudonym, b"session", session_id)


def turn_pseudonym(pseudonym: str, session_id: str, turn_id: str) -> str:
    """How records name a turn, whose id may come from a foreign system."""
    # The length keeps (a, bc) apart from (ab, c).
    return _keyed(pseudonym, b"turn", f"{len(session_id)}:{session_id}{turn_id}")


def _keyed(pseudonym: str, kind: bytes, value: str) -> str:
    """BLAKE2b as a keyed hash (RFC 7693), half the time of an HMAC. The pseudonym has at most 64 bytes."""
    return blake2b(value.encode(), key=pseudonym.encode(), person=kind, digest_size=16).hexdigest()


def evidence_digest(commitments: Iterable[bytes]) -> bytes:
    """SHA-256 over commitments of 32 bytes each, in order."""
    return sha256(b"".join(commitments)).digest()


def evidence(
    blocks: Sequence[CandidateBlock], facts: Mapping[int, bytes], excerpts: Mapping[int, bytes]
) -> bytes:
    """The digest over the commitments of the candidates among facts and excerpts, by their numbers, in byte
    order.

    Raises `KeyError` with the number of a candidate that has no commitment here.
    """
    found: list[bytes] = []
    for block in blocks:
        if isinstance(block.refs, tuple):
            continue
        commitments = facts if block.source_kind is SourceKind.FACT else excerpts
        found.extend(map(commitments.__getitem__, block.refs.tolist()))
    return evidence_digest(found)
