"""How a trace is tied to what it must not contain: salted commitments, keyed pseudonyms, digests of evidence.

An unsalted hash of a fact or an id is guessed in microseconds. So each commitment has its own random salt,
which lies with the content and goes with it, and ids enter a record only keyed by the user's random
pseudonym."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b, sha256
from typing import Final

import numpy as np

from assemblers.assembly import CandidateBlock, Int32s, SourceKind
from assemblers.trace.record import SALT_BYTES

DIGEST_BYTES: Final = 32

_MOST_ROWS_PER_NUMBER: Final = 4
"""What few numbers with wide gaps would make a table of mostly nothing."""
_ROW: Final = np.dtype(f"V{DIGEST_BYTES}")
_NONE: Final = sha256(b"no commitment").digest()
"""Stands where a number has none. If it ever turned up elsewhere, only time would be lost."""


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


class Commitments:
    """Commitments of 32 bytes by number, of one user's facts or excerpts.

    Made once for many traces: it is asked for hundreds of numbers at once, so it answers without a loop.
    """

    __slots__ = ("_by_number", "_rows", "_whole")

    def __init__(self, by_number: Mapping[int, bytes]) -> None:
        """Raises `ValueError` for a commitment of another size."""
        wrong = next((number for number, each in by_number.items() if len(each) != DIGEST_BYTES), None)
        if wrong is not None:
            raise ValueError(f"the commitment of {wrong} has not {DIGEST_BYTES} bytes")
        self._by_number = by_number
        size = max(by_number, default=0) + 1
        # Numbers are given in order from 1 and only erasure leaves gaps, so mostly they serve as indexes.
        dense = min(by_number, default=0) >= 0 and size <= _MOST_ROWS_PER_NUMBER * len(by_number)
        rows = [by_number.get(number, _NONE) for number in range(size)] if dense else []
        self._rows = np.frombuffer(b"".join(rows), _ROW)
        self._whole: tuple[Int32s, bytes] | None = None

    def of(self, numbers: Int32s) -> bytes:
        """The commitments of the numbers, in their order. Raises `KeyError` with one that has none.

        An answer about as many as there are is kept by the identity of the array, as the same facts are asked
        for call after call: what is passed must not be written to afterwards.
        """
        whole = self._whole
        if whole is not None and whole[0] is numbers:
            return whole[1]
        found = self._at_once(numbers)
        if found is None:
            found = b"".join(map(self._by_number.__getitem__, numbers.tolist()))
        if len(numbers) == len(self._by_number):
            self._whole = numbers, found
        return found

    def _at_once(self, numbers: Int32s) -> bytes | None:
        """The same, or None where it has to be looked up one by one."""
        try:
            # As unsigned, what is negative lies far beyond the last row.
            found = self._rows.take(numbers.view(np.uint32)).tobytes()
        except IndexError:
            return None
        return None if _NONE in found else found


def evidence_digest(commitments: Iterable[bytes]) -> bytes:
    """SHA-256 over commitments of 32 bytes each, in order; several may stand in one."""
    return sha256(b"".join(commitments)).digest()


def evidence(blocks: Sequence[CandidateBlock], facts: Commitments, excerpts: Commitments) -> bytes:
    """The digest over the commitments of the candidates among facts and excerpts, by their numbers, in byte
    order.

    Raises `KeyError` with the number of a candidate that has no commitment here.
    """
    return evidence_digest(
        [
            (facts if block.source_kind is SourceKind.FACT else excerpts).of(block.refs)
            for block in blocks
            if not isinstance(block.refs, tuple)
        ]
    )
