"""One server's process: started in a session of its own, watched, paused, killed, stopped."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from scripts.servers import process_tree
from scripts.servers.errors import ServerError

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60.0
STOP_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Command:
    """How to start a server. `stop` is the signal that ends it in order.

    `user` is who it runs as (None: who we are), `environment` its variables (None: ours).
    """

    arguments: Sequence[str | Path]
    log: Path
    stop: signal.Signals
    user: str | None = None
    environment: Mapping[str, str] | None = None


class ServerProcess:
    """A running server; it ends with its owner, also when the owner is killed."""

    def __init__(
        self, command: Command, server: subprocess.Popen[bytes], watchdog: subprocess.Popen[bytes]
    ) -> None:
        self._command = command
        self._server = server
        self._watchdog = watchdog

    @classmethod
    def start(cls, command: Command, *, remove: Path | None = None) -> Self:
        """Start it without waiting until it is ready. `remove` is a folder that goes if the owner dies."""
        with command.log.open("ab") as log:
            server = subprocess.Popen(
                command.arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd="/",
                env=command.environment,
                start_new_session=True,
                user=command.user,
                extra_groups=None if command.user is None else [],
            )
        return cls(command, server, _watch(server.pid, command.stop, remove))

    @property
    def pid(self) -> int:
        """The main process."""
        return self._server.pid

    @property
    def running(self) -> bool:
        """Whether the main process lives; a paused one does."""
        return self._server.poll() is None

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Return once `ready` says so. Raises `ServerError` with the end of the log where it never does."""
        deadline = time.monotonic() + START_SECONDS
        while not ready():
            if not self.running or time.monotonic() > deadline:
                self.stop()
                raise ServerError(f"{self._command.arguments[0]} did not start:\n{self.last_lines()}")
            time.sleep(0.01)

    def last_lines(self, count: int = 15) -> str:
        """The end of its log."""
        return "\n".join(self._command.log.read_text(errors="replace").splitlines()[-count:])

    def pause(self) -> None:
        """Stop all of its processes where they are; connections stay open and are not answered."""
        # The main process first: what is paused starts no children.
        process_tree.send([self.pid], signal.SIGSTOP)
        process_tree.send(process_tree.descendants(self.pid), signal.SIGSTOP)

    def resume(self) -> None:
        """Let all of its processes go on; does nothing where none is paused."""
        process_tree.send(list(reversed(process_tree.descendants(self.pid))), signal.SIGCONT)

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Signal the server and wait for its end. SIGKILL goes to all of its processes, others to the main one."""
        if not self.running:
            return
        if number is signal.SIGKILL:
            process_tree.send(process_tree.descendants(self.pid), signal.SIGKILL)
        else:
            self.resume()
            process_tree.send([self.pid], number)
        self._end()

    def stop(self) -> None:
        """End it in order, by force if it does not obey; does nothing where it has ended."""
        self.kill(self._command.stop)
        self._end()

    def _end(self) -> None:
        try:
            self._server.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process_tree.send(process_tree.descendants(self.pid), signal.SIGKILL)
            self._server.wait()
        # The watchdog before anything else may get the process id.
        self._watchdog.kill()
        self._watchdog.wait()
        if self._watchdog.stdin is not None:
            self._watchdog.stdin.close()


def _watch(pid: int, stop: signal.Signals, remove: Path | None) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-S", "-m", "scripts.servers.watchdog", str(pid), str(int(stop))]
    return subprocess.Popen(
        arguments if remove is None else [*arguments, str(remove)],
        stdin=subprocess.PIPE,
        cwd=ROOT,
        start_new_session=True,
    )
