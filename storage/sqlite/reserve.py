"""Room on the disk that is kept for deletions: a file of nothing, given up when there is no other room left.

To remove something takes room first: the log grows, and is cut only afterwards. Without the reserve a full disk would
take away the way out, and the right to be forgotten with it. Once the reserve is lent, what it gave back is there for
removals only; all other writes are refused until it is whole again, so that they cannot use it up.
"""

import errno
import os
from pathlib import Path
from typing import Final

RESERVE_NAME: Final = "reserve"
RESERVE_BYTES: Final = 4 * 2**20
"""Enough for a thousand pages in the log: several hundred removals, or one of several thousand facts."""
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)


class Reserve:
    """The reserve of one data folder. Belongs to the event loop of the writer.

    Where a file system cannot reserve anything there is none, and nothing else changes.
    """

    def __init__(self, folder: Path, size: int = RESERVE_BYTES) -> None:
        self._path, self._size = folder / RESERVE_NAME, size
        self.short = False
        """A write met a full disk, and none has succeeded since."""
        self.lent = False
        """There is no room for the reserve: it was given up, or could not be made."""

    @property
    def degraded(self) -> bool:
        """Whether the disk is full, as far as is known."""
        return self.short or self.lent

    def keep(self) -> None:
        """Make the reserve unless it is there."""
        if not self._is_whole():
            self.restore()

    def recover(self) -> bool:
        """Find out whether there is room now, and have a whole reserve then. What is there is not given up for it."""
        return not self.degraded or self.restore()

    def restore(self) -> bool:
        """Make the reserve anew, beside the one that may be there, so that there is as much room again. False: there
        is not."""
        fresh = self._path.with_suffix(".new")
        try:
            _allocate(fresh, self._size)
            fresh.replace(self._path)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            self.lent = self.lent or (error.errno in _NO_ROOM and not self._is_whole())
            return False
        self.short = self.lent = False
        return True

    def give_up(self) -> bool:
        """Give its room back to the file system. False: there was none."""
        try:
            self._path.unlink()
            _sync_folder(self._path.parent)
        except OSError:
            return False
        self.lent = True
        return True

    def _is_whole(self) -> bool:
        try:
            return self._path.stat().st_size == self._size
        except OSError:
            return False


def _allocate(path: Path, size: int) -> None:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(file, 0, size)
    finally:
        os.close(file)


def _sync_folder(folder: Path) -> None:
    # Some file systems hand out the blocks of a removed file only after the removal is on the disk.
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
