"""A small disk of its own that can be filled up: a tmpfs, which root may mount."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_STEP: Final = 4096
_FILLING: Final = "filling"


class NoSmallDisk(RuntimeError):
    """A file system cannot be mounted here; the text says what it takes."""


class SmallDisk:
    """A mounted one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        """Take all the room that is left."""
        with (self.folder / _FILLING).open("ab", buffering=0) as file, suppress(OSError):
            # Most of it in one step, the rest in small ones, until not even one of them fits.
            state = os.statvfs(self.folder)
            os.posix_fallocate(file.fileno(), 0, max(_STEP, (state.f_bavail - 1) * state.f_frsize))
            while True:
                file.write(bytes(_STEP))

    def free(self) -> None:
        """Give it back."""
        (self.folder / _FILLING).unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path, mebibytes: int) -> Iterator[SmallDisk]:
    """Mounted at `folder`, which is made. Raises `NoSmallDisk`."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=0777", "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        raise NoSmallDisk("a small disk is a tmpfs, and mounting one is root's to do") from None
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
