"""What can be done with any server of ours: kill, pause, start again, stop; on a port that stays its own."""

import signal
from abc import ABC, abstractmethod
from typing import Self

from scripts.servers import ports
from scripts.servers.errors import ServerError
from scripts.servers.process import ServerProcess

_ATTEMPTS = 3


class Server(ABC):
    """A running server on loopback. Its process ends with its owner; also a context manager, which stops it."""

    def __init__(self, port: int) -> None:
        """Start it; port 0 lets us choose. Whatever `launch` needs has to be there before."""
        self._port_is_fixed = port != 0
        self.port = port or ports.free_port()
        self._process = self._start()

    @abstractmethod
    def launch(self) -> ServerProcess:
        """Start the process on `port` and return once it is ready. Raises `ServerError`."""

    @property
    def pid(self) -> int:
        """The main process."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the main process lives; a paused one does."""
        return self._process.running

    def pause(self) -> None:
        """SIGSTOP to all of its processes: connections stay open and nothing is answered."""
        self._process.pause()

    def resume(self) -> None:
        """SIGCONT to all of its processes."""
        self._process.resume()

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End it by a signal and wait for the end: SIGKILL as a crash, others as the server takes them."""
        self._process.kill(number)

    def restart(self) -> None:
        """Stop it if it runs, and start it on the same port and data."""
        self._process.stop()
        self._process = self._start()

    def stop(self) -> None:
        """End it in order and leave nothing in the system; what it stored stays."""
        self._process.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self) -> ServerProcess:
        for _ in range(_ATTEMPTS - 1):
            try:
                return self.launch()
            except ServerError:
                # Somebody may have taken the port between our choice and the start.
                if self._port_is_fixed or not ports.answers(self.port):
                    raise
                self.port = ports.free_port()
        return self.launch()
