"""SIGKILL in the middle of rotating keys: all that was stored is read afterwards, with the key file as it is then."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assemblers.records import UserRef
from storage.conformance.samples import NOW, archived, fact, receipt
from storage.encryption.embedded import KEY_FILE_NAME
from storage.encryption.key_file import read_key_file
from storage.ports import Storage
from storage.sqlite import open_sqlite
from tests.faults.kill_rotation_target import USERS

CYCLES = int(os.environ.get("MUNIMENT_FAULT_CYCLES", "10"))
TENANTS = 40
EXCERPTS = [f"excerpt {number}" for number in range(200)]


@pytest.fixture
def target() -> Iterator[subprocess.Popen[str]]:
    program = Path(__file__).parent / "kill_rotation_target.py"
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


def kill_amid_rotations(process: subprocess.Popen[str], folder: Path, chance: random.Random) -> list[str]:
    """Have a process rotate for a while, kill it; gives what it had done."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{folder}\n")
    process.stdin.flush()
    kind, pid = process.stdout.readline().split()
    assert kind == "pid"
    said = [process.stdout.readline().strip() for _ in range(chance.randrange(4))]
    time.sleep(chance.random() * 0.03)
    os.kill(int(pid), signal.SIGKILL)
    while (line := process.stdout.readline().strip()) != "dead":
        said.append(line)
    return said


async def fill(storage: Storage) -> None:
    for number in range(TENANTS):
        user = UserRef(f"t{number}", "ann")
        await storage.facts.record(user, [fact("k", f"said {number}")], NOW, receipt("", user.tenant_id))
    for number in range(USERS):
        user = UserRef(f"t{number}", "ann")
        await storage.archives.append(user, [archived("s", *EXCERPTS)], NOW, receipt("", user.tenant_id))


async def check(storage: Storage) -> None:
    for number in range(TENANTS):
        user = UserRef(f"t{number}", "ann")
        assert [each.value for each in (await storage.facts.load(user)).facts] == [f"said {number}"]
    for number in range(USERS):
        archive = await storage.archives.load(UserRef(f"t{number}", "ann"))
        assert [excerpt.text for excerpt in archive.excerpts] == EXCERPTS


@pytest.mark.timeout(60 + 4 * CYCLES)
async def test_a_rotation_that_is_killed_anywhere_loses_nothing(
    target: subprocess.Popen[str], tmp_path: Path
) -> None:
    chance = random.Random(11)
    done: set[str] = set()
    async with await open_sqlite(tmp_path) as storage:
        await fill(storage)
    for _ in range(CYCLES):
        done.update(kill_amid_rotations(target, tmp_path, chance))
        async with await open_sqlite(tmp_path) as storage:
            await check(storage)
    assert done >= {"wrapped", "pruned", "resealed"}
    # Whatever was killed, keys do not pile up.
    assert len(read_key_file(tmp_path / KEY_FILE_NAME)) <= 3
