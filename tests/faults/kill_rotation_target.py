"""A program that forks a rotator of keys for each line on its input, a data folder; it goes on until it is killed."""

import asyncio
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from assemblers.records import UserRef
from storage.encryption.embedded import KEY_FILE_NAME
from storage.encryption.file_rotation import prune_file_keys, rotate_file_key
from storage.encryption.user_rotation import ALONE, UserRotation
from storage.sqlite import open_sqlite
from tests.faults.kill_target import say

USERS = 3


def now() -> datetime:
    return datetime.now(UTC)


async def rotate_until_killed(folder: Path) -> None:
    storage = await open_sqlite(folder)
    say(f"pid {os.getpid()}")
    key_file = folder / KEY_FILE_NAME
    while True:
        await rotate_file_key(storage.database, key_file, now())
        say("wrapped")
        await prune_file_keys(storage.database, key_file)
        say("pruned")
        for number in range(USERS):
            user = UserRef(f"t{number}", "ann")
            await UserRotation(storage.database, storage.keys, now, ALONE).rotate(user)
            say("resealed")


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            asyncio.run(rotate_until_killed(Path(line.strip())))
        os.waitpid(child, 0)
        say("dead")


if __name__ == "__main__":
    main()
