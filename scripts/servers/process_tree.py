"""Signals for a process and everything it has started.

Postgres puts each of its processes into a session of its own, so a signal to a process group would reach one of them
only.
"""

import contextlib
import os
import signal
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path


def descendants(pid: int) -> list[int]:
    """The process and all below it, parents before children."""
    children: dict[int, list[int]] = defaultdict(list)
    for child, parent in _parents():
        children[parent].append(child)
    found = [pid]
    for process in found:  # grows while it is walked
        found.extend(children[process])
    return found


def send(pids: list[int], number: signal.Signals) -> None:
    """Signal each that still lives."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def alive(pid: int) -> bool:
    """Whether it runs or is paused; one that has ended and that nobody has asked after does not."""
    try:
        os.kill(pid, 0)
        return _fields(Path(f"/proc/{pid}/stat"))[0] != "Z"
    except ProcessLookupError:
        return False
    except OSError:  # a system without /proc
        return True


def _parents() -> Iterator[tuple[int, int]]:
    """(process, parent) of all; from /proc where there is one, since small images have no `ps`."""
    if not Path("/proc/self/stat").exists():
        listing = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
        yield from ((int(pid), int(parent)) for pid, parent in map(str.split, listing.stdout.splitlines()))
        return
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            # A process may end while the list is read.
            with contextlib.suppress(OSError):
                yield int(entry.name), int(_fields(entry / "stat")[1])


def _fields(stat: Path) -> list[str]:
    # `pid (name) state parent ...`, and the name may hold blanks and brackets.
    return stat.read_text(errors="replace").rpartition(")")[2].split()
