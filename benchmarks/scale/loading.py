"""Loads residents into Postgres through COPY, in several processes.

As the superuser: COPY and row-level security do not go together. The keys of the tenants must be there already.
"""

import asyncio
import multiprocessing
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import asyncpg

from benchmarks.progress import counter
from benchmarks.scale.collecting import Collector
from benchmarks.scale.population import Resident
from benchmarks.scale.rows import collect
from storage.encryption.data_key import DataKey
from storage.encryption.file_provider import FileKeyProvider
from storage.encryption.places import tenant_key_place
from storage.encryption.providers import Wrapped

_TASK_EXCERPTS: Final = 10_000
"""About so many excerpts are one step of the progress, and one COPY of each table."""
_TENANT_KEYS: Final = "SELECT tenant_id, key_no, master_key_id, wrapped FROM tenant_keys"


@dataclass(frozen=True, slots=True)
class Target:
    """Where to load: the superuser's URL of the database, and the file of its master keys."""

    url: str
    key_file: Path


@dataclass(frozen=True, slots=True)
class Loaded:
    """How much was loaded in how many seconds."""

    facts: int
    excerpts: int
    seconds: float

    @property
    def rate(self) -> float:
        """Excerpts per second."""
        return self.excerpts / self.seconds


def load(target: Target, residents: Iterable[Resident], processes: int) -> Loaded:
    """Load all of them. Raises what asyncpg raises."""
    tasks = list(_tasks(residents))
    total = sum(resident.excerpts for task in tasks for resident in task)
    step = counter("batches of about 10,000 excerpts", len(tasks))
    started = time.perf_counter()
    # New interpreters: a fork would take the loop of grpc along.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        for done in as_completed([pool.submit(load_some, target, task) for task in tasks]):
            done.result()
            step()
    facts = sum(resident.facts for task in tasks for resident in task)
    return Loaded(facts, total, time.perf_counter() - started)


def load_some(target: Target, residents: Sequence[Resident]) -> None:
    """In one process, in one transaction for each table."""
    asyncio.run(_load(target, residents))


def _tasks(residents: Iterable[Resident]) -> Iterator[list[Resident]]:
    waiting = iter(residents)
    while task := _until(waiting, _TASK_EXCERPTS):
        yield task


def _until(waiting: Iterator[Resident], excerpts: int) -> list[Resident]:
    """As many as have about so many excerpts together."""
    task: list[Resident] = []
    while excerpts > 0 and (found := list(islice(waiting, 1))):
        task += found
        excerpts -= found[0].excerpts
    return task


async def _load(target: Target, residents: Sequence[Resident]) -> None:
    connection = await asyncpg.connect(target.url)
    try:
        tenant_keys = await _tenant_keys(connection, target.key_file)
        collector = Collector()
        for resident in residents:
            collect(collector, resident, tenant_keys)
        for table, (columns, rows) in collector.take().items():
            await connection.copy_records_to_table(table, records=rows, columns=columns)
    finally:
        await connection.close()


async def _tenant_keys(connection: asyncpg.Connection, key_file: Path) -> dict[str, DataKey]:
    provider = FileKeyProvider(key_file)
    secrets: dict[str, dict[int, bytes]] = defaultdict(dict)
    for tenant_id, key_no, master_key_id, wrapped in await connection.fetch(_TENANT_KEYS):
        place = tenant_key_place(tenant_id, key_no)
        secrets[tenant_id][key_no] = await provider.unwrap(Wrapped(master_key_id, wrapped), place)
    return {tenant_id: DataKey(found, max(found)) for tenant_id, found in secrets.items()}
