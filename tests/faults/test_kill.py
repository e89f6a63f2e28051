"""SIGKILL in the middle of writes: nothing that was acknowledged is lost, nothing is there by half.

`MUNIMENT_FAULT_CYCLES=200 pytest tests/faults/test_kill.py` runs as many cycles (default: 20).
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import pytest

from assemblers.records import FactState, SessionRef, UserRef
from storage.conformance.samples import NOW
from storage.ledger import verify
from storage.ports import FactSelector, PageRequest, Storage, StoredTrace
from storage.sqlite import open_sqlite

CYCLES = int(os.environ.get("MUNIMENT_FAULT_CYCLES", "20"))
USER = UserRef("acme", "ann")
EVERYTHING = PageRequest(1_000_000)


@pytest.fixture
def target() -> Iterator[subprocess.Popen[str]]:
    program = Path(__file__).parent / "kill_target.py"
    paths = os.pathsep.join(path for path in sys.path if path)
    with subprocess.Popen(
        [sys.executable, str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def kill_amid_writes(
    process: subprocess.Popen[str], folder: Path, cycle: int, chance: random.Random
) -> list[str]:
    """Have a writer write for a while, kill it; gives what it said was acknowledged."""
    stdin, stdout = _pipes(process)
    stdin.write(f"{folder} {cycle}\n")
    stdin.flush()
    kind, pid = stdout.readline().split()
    assert kind == "pid"
    said = [stdout.readline().strip() for _ in range(chance.randrange(1, 60))]
    time.sleep(chance.random() * 0.02)
    os.kill(int(pid), signal.SIGKILL)
    while (line := stdout.readline().strip()) != "dead":
        said.append(line)
    return said


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


async def check(storage: Storage, acknowledged: set[str]) -> None:
    """What was acknowledged is there, the chain verifies, and each step is whole: a trace with its turn."""
    facts = await storage.facts.list(USER, FactSelector(include_retired=True), EVERYTHING)
    excerpts = (await storage.archives.load(USER)).excerpts
    chain = await storage.traces.chain("acme", 0, EVERYTHING.size)
    there = {f"fact {item.value}" for item in facts.items}
    there |= {f"archive {item.session_id}" for item in excerpts}
    there |= {f"trace {item.trace_id}" for item in chain}
    assert not acknowledged - there
    assert verify(chain) is None
    assert len(excerpts) == 3 * len({item.session_id for item in excerpts})
    current = [item.key for item in facts.items if item.state is FactState.CURRENT]
    assert len(current) == len(set(current))
    await check_turns(storage, chain)


async def check_turns(storage: Storage, chain: Sequence[StoredTrace]) -> None:
    """Each session has exactly the turns that its traces answer, in their order."""
    answered: dict[SessionRef, list[str]] = {}
    for item in chain:
        assert await storage.traces.answered(item.session, item.turn_id, NOW) is not None
        answered.setdefault(item.session, []).append(item.turn_id)
    for session, turn_ids in answered.items():
        turns = (await storage.transcripts.list(session, NOW, EVERYTHING)).items
        assert [turn.turn_id for turn in turns] == turn_ids


@pytest.mark.timeout(60 + 2 * CYCLES)
async def test_nothing_acknowledged_is_lost_when_the_process_is_killed(
    target: subprocess.Popen[str], tmp_path: Path
) -> None:
    chance = random.Random(7)
    acknowledged: set[str] = set()
    for cycle in range(CYCLES):
        acknowledged.update(kill_amid_writes(target, tmp_path, cycle, chance))
        async with await open_sqlite(tmp_path) as storage:
            await check(storage, acknowledged)
    assert len(acknowledged) > 20 * CYCLES
