"""How many traces a second one process makes durable, and whether their chain then verifies."""

import asyncio
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from assemblers.records import SessionRef
from benchmarks.figures import Bar, Figure, Side
from benchmarks.progress import say
from storage.encryption.file_provider import FileKeyProvider
from storage.ledger import FIRST_SEQUENCE, verify
from storage.ports import Seal, Storage, TraceDraft
from storage.postgres import open_postgres

AT_ONCE: Final = 64
TENANT: Final = "ledger"
_USERS: Final = 32
_PAGE: Final = 500
_RATE_BAR: Final = Bar(Side.AT_LEAST, 1_000)
_VERIFIED_BAR: Final = Bar(Side.AT_LEAST, 1)
# What an assembly with forty facts and a few excerpts leaves.
_RECORD_BYTES, _CONTENT_BYTES = 4_000, 8_000


async def appending(url: str, key_file: Path, traces: int) -> list[Figure]:
    """Append so many traces of one tenant, some at once, and read its chain back."""
    say(f"appending {traces:,} traces")
    async with await open_postgres(url, FileKeyProvider(key_file)) as storage:
        await _append(storage, _drafts("warm", 10 * AT_ONCE))
        started = time.perf_counter()
        await _append(storage, _drafts("measured", traces))
        seconds = time.perf_counter() - started
        verified = await _verifies(storage, 10 * AT_ONCE + traces)
    return [
        Figure("append_rate", traces / seconds, "traces/s", _RATE_BAR),
        Figure("chain_verifies", int(verified), "", _VERIFIED_BAR),
    ]


def _drafts(name: str, count: int) -> Iterator[TraceDraft]:
    record, content = os.urandom(_RECORD_BYTES), os.urandom(_CONTENT_BYTES)
    for number in range(count):
        session = SessionRef(TENANT, f"u{number % _USERS}", name)
        yield TraceDraft(
            trace_id=f"{name}-{number}",
            session=session,
            turn_id=f"t{number}",
            policy="policies/memory",
            create_time=datetime.now(UTC),
            record=record + number.to_bytes(8, "big"),
            content=content,
            body_sha256=os.urandom(32),
        )


async def _append(storage: Storage, drafts: Iterator[TraceDraft]) -> None:
    async def worker() -> None:
        for draft in drafts:
            await storage.traces.append(draft)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(worker())


async def _verifies(storage: Storage, expected: int) -> bool:
    """Whether the tenant's whole chain holds, and has as many records as were appended."""
    after: Seal | None = None
    while page := await storage.traces.chain(
        TENANT, FIRST_SEQUENCE - 1 if after is None else after.sequence, _PAGE
    ):
        if verify(page, after) is not None:
            return False
        after = page[-1].seal
    return after is not None and after.sequence == expected
