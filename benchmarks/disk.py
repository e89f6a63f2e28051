"""Whether a folder lies on a disk: what is kept in memory is not durable, and its latency would be no figure."""

from collections.abc import Iterable
from pathlib import Path

_IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})
_MOUNTS = Path("/proc/self/mountinfo")


class NotDurableError(RuntimeError):
    """The folder lies in memory; the text names the remedy."""


def require_disk(folder: Path) -> None:
    """Raise `NotDurableError` for a folder in memory. Where the system lists no mounts, it is taken as it is."""
    if not _MOUNTS.exists():
        return
    kind = filesystem_of(folder.resolve(), _MOUNTS.read_text(encoding="utf-8").splitlines())
    if kind in _IN_MEMORY:
        raise NotDurableError(
            f"{folder} lies on a {kind}, which forgets everything at a power cut: durable means synced to a disk. "
            "Name a folder on one with --data-dir"
        )


def filesystem_of(folder: Path, mounts: Iterable[str]) -> str:
    """The type of the filesystem that holds an absolute path, by the lines of `/proc/self/mountinfo` (proc(5))."""
    best, kind = -1, ""
    for line in mounts:
        fields = line.split()
        point = Path(_unescaped(fields[4]))
        depth = len(point.parts)
        # Of two mounts on one point the later one is seen.
        if depth >= best and folder.is_relative_to(point):
            best, kind = depth, fields[fields.index("-", 6) + 1]
    return kind


def _unescaped(text: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text
