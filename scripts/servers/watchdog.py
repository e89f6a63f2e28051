"""Ends a server whose owner is gone, however the owner ended.

The owner holds the other end of the standard input and never writes; the kernel closes it when the owner dies, and the
read returns. A death signal (PR_SET_PDEATHSIG) would not do: it exists on Linux only and a paused server does not act
on it.

    python -m scripts.servers.watchdog PID STOP_SIGNAL [FOLDER]      FOLDER is removed afterwards
"""

import shutil
import signal
import sys
import time

from scripts.servers import process_tree

GRACE_SECONDS = 5.0


def main(pid: int, stop: signal.Signals, folder: str | None) -> None:
    """Wait for the owner's end, then end the server in order, and by force if it does not obey."""
    sys.stdin.buffer.read()
    tree = process_tree.descendants(pid)
    process_tree.send(list(reversed(tree)), signal.SIGCONT)
    process_tree.send([pid], stop)
    deadline = time.monotonic() + GRACE_SECONDS
    while process_tree.alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    process_tree.send(tree, signal.SIGKILL)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), signal.Signals(int(sys.argv[2])), sys.argv[3] if len(sys.argv) > 3 else None)
