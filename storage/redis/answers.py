"""Copies of answers on Redis: the port `AnswerCopies`.

A value is the instant of expiry (16 digits, microseconds since 1970) and the sealed copy, which is bound to the key and
the expiry. As with slots, expiry is decided by the caller's `now`.
"""

import base64
import json
from datetime import datetime, timedelta
from typing import Final

from assemblers.records import UserRef
from storage.ports.answers import AnswerCopy
from storage.ports.epochs import Epochs
from storage.redis.client import RedisClient
from storage.redis.formats import UnknownFormat
from storage.redis.keys import request_name
from storage.redis.sealing import SealedValues, Sealer
from storage.sql.columns import to_json, to_micros

KEPT: Final = timedelta(hours=24)
FORMAT: Final = 1
_HEADER: Final = 16
_GRACE_MS: Final = 60_000


class RedisAnswers:
    """Answers with a time to live. Errors are those of `RedisClient.execute`."""

    def __init__(self, client: RedisClient, sealer: Sealer) -> None:
        self._client, self._values = client, SealedValues(sealer)

    @property
    def unreadable(self) -> int:
        """How many copies could not be opened or read since the start; each counted as none."""
        return self._values.unreadable

    async def find(self, user: UserRef, method: str, request_id: str, now: datetime) -> AnswerCopy | None:
        """The copy unless it has expired."""
        name = request_name("answer", user, method, request_id)
        value = await self._client.execute(name, b"GET", name)
        if not isinstance(value, bytes) or value[:_HEADER] <= _instant(now):
            return None
        return await self._values.open(user, name + value[:_HEADER], value[_HEADER:], decode_answer)

    async def keep(
        self, user: UserRef, method: str, request_id: str, copy: AnswerCopy, now: datetime
    ) -> None:
        """Keep the copy unless there is one."""
        name = request_name("answer", user, method, request_id)
        header = _instant(now + KEPT)
        sealed = await self._values.seal_if_known(user, name + header, encode_answer(copy))
        if sealed is not None:
            kept_ms = KEPT // timedelta(milliseconds=1) + _GRACE_MS
            await self._client.execute(name, b"SET", name, header + sealed, b"NX", b"PX", kept_ms)


def encode_answer(copy: AnswerCopy) -> bytes:
    """The copy as canonical JSON."""
    epochs = [copy.epochs.facts, copy.epochs.archive, copy.epochs.tenant]
    response = base64.b64encode(copy.response).decode()
    return to_json([FORMAT, copy.body_sha256.hex(), epochs, response])


def decode_answer(raw: bytes) -> AnswerCopy:
    """The copy that `encode_answer` wrote. Raises `UnknownFormat`."""
    try:
        version, digest, epochs, response = json.loads(raw)
        if version != FORMAT:
            raise UnknownFormat("an answer of another format")
        return AnswerCopy(bytes.fromhex(digest), base64.b64decode(response, validate=True), Epochs(*epochs))
    except (TypeError, ValueError) as error:
        raise UnknownFormat("an answer of another format") from error


def _instant(when: datetime) -> bytes:
    """Fixed in length, so that instants compare as their bytes do."""
    return b"%016d" % to_micros(when)
