"""Eight readers and four writers at once, with somebody reading the file from outside: nobody is ever locked out.

`MUNIMENT_FAULT_SECONDS=30 pytest tests/faults/test_contention.py` runs that long (default: 5).
"""

import asyncio
import os
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from assemblers.records import SessionRef, UserRef
from storage.conformance.samples import ALL, NOW, archived, fact, receipt, trace, turn
from storage.ledger import verify
from storage.ports import FactSelector, PageRequest, Storage, TraceSelector
from storage.sqlite import open_sqlite
from storage.sqlite.connection import WAL_BYTES

SECONDS = float(os.environ.get("MUNIMENT_FAULT_SECONDS", "5"))
READERS = 8
WRITERS = 4


async def write(storage: Storage, index: int, until: float) -> int:
    done = 0
    user = UserRef("acme", f"u{index}")
    while time.monotonic() < until:
        name = f"w{index}-{done}"
        await storage.facts.record(user, [fact(f"k{done % 50}", name)], NOW, receipt(f"f{name}"))
        await storage.archives.append(user, [archived(f"s{done % 100}", name)], NOW, receipt())
        session = SessionRef("acme", user.user_id, f"s{done % 20}")
        await storage.traces.append(trace(name, session, name, turn(name), content="x" * 8_000))
        done += 1
    return done


async def read(storage: Storage, index: int, until: float) -> int:
    done = 0
    user = UserRef("acme", f"u{index % WRITERS}")
    while time.monotonic() < until:
        session = SessionRef("acme", user.user_id, f"s{done % 20}")
        await storage.facts.load(user)
        await storage.facts.list(user, FactSelector(include_retired=True), PageRequest(500))
        await storage.archives.load(user)
        await storage.transcripts.list(session, NOW, ALL)
        await storage.traces.list("acme", TraceSelector(user_id=user.user_id), PageRequest(50))
        await storage.traces.latest(session)
        done += 1
        await asyncio.sleep(0)
    return done


def read_from_outside(path: Path, stop: threading.Event) -> None:
    """A backup or an operator's shell: long reads in a row, without our locks."""
    connection = sqlite3.connect(path, isolation_level=None)
    while not stop.is_set():
        connection.execute("SELECT count(*), total(length(content)) FROM traces").fetchone()
    connection.close()


@pytest.mark.timeout(60 + SECONDS)
async def test_readers_and_writers_never_lock_each_other_out(tmp_path: Path) -> None:
    until = time.monotonic() + SECONDS
    stop = threading.Event()
    async with await open_sqlite(tmp_path) as storage:
        outside = asyncio.create_task(asyncio.to_thread(read_from_outside, tmp_path / "muniment.db", stop))
        writers = [write(storage, index, until) for index in range(WRITERS)]
        readers = [read(storage, index, until) for index in range(READERS)]
        done = await asyncio.gather(*writers, *readers)
        stop.set()
        await outside
        assert min(done) > 0
        chain = await storage.traces.chain("acme", 0, 1_000_000)
        assert len(chain) == sum(done[:WRITERS])
        assert verify(chain) is None
    assert (tmp_path / "muniment.db-wal").exists() is False


async def test_the_log_does_not_grow_without_bound_under_writes_that_never_pause(tmp_path: Path) -> None:
    async with await open_sqlite(tmp_path) as storage:
        largest = 0
        for start in range(0, 6_000, 16):
            names = [f"x{number}" for number in range(start, start + 16)]
            await asyncio.gather(
                *(storage.traces.append(trace(name, content="x" * 12_000)) for name in names)
            )
            largest = max(largest, (tmp_path / "muniment.db-wal").stat().st_size)
        assert largest < WAL_BYTES
