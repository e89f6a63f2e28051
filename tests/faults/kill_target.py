"""A program that forks a writer for each line "FOLDER NUMBER" on its input; the writer says what was acknowledged.

Forking once everything is imported makes a cycle of killing and looking cheap enough for the default test run.
"""

import asyncio
import os
import sys
from pathlib import Path

from assemblers.records import SessionRef, UserRef
from storage.conformance.samples import NOW, archived, fact, receipt, trace, turn
from storage.ports import Storage
from storage.sqlite import open_sqlite

WRITERS = 4


def say(line: str) -> None:
    """One line in one system call, so that a kill leaves it whole or absent."""
    os.write(1, f"{line}\n".encode())


async def write_facts(storage: Storage, run: str) -> None:
    for number in range(1_000_000):
        name = f"{run}-{number}"
        await storage.facts.record(UserRef("acme", "ann"), [fact(name[:2], name)], NOW, receipt(f"f{name}"))
        say(f"fact {name}")


async def write_archives(storage: Storage, run: str) -> None:
    for number in range(1_000_000):
        name = f"{run}-{number}"
        await storage.archives.append(UserRef("acme", "ann"), [archived(name, "a", "b", "c")], NOW, receipt())
        say(f"archive {name}")


async def write_traces(storage: Storage, run: str) -> None:
    for number in range(1_000_000):
        name = f"{run}-{number}"
        session = SessionRef("acme", "ann", run)
        await storage.traces.append(trace(name, session, name, turn(name), content="x" * 8_000))
        say(f"trace {name}")


async def write_until_killed(folder: Path, cycle: str) -> None:
    storage = await open_sqlite(folder)
    say(f"pid {os.getpid()}")
    writers = [write_traces(storage, f"{cycle}w{index}") for index in range(WRITERS)]
    await asyncio.gather(*writers, write_facts(storage, cycle), write_archives(storage, cycle))


def main() -> None:
    for line in sys.stdin:
        folder, cycle = line.rsplit(maxsplit=1)
        child = os.fork()
        if child == 0:
            asyncio.run(write_until_killed(Path(folder), cycle))
        os.waitpid(child, 0)
        say("dead")


if __name__ == "__main__":
    main()
