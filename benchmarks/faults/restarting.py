"""Starts a server again that was killed amid new connections."""

import time
from typing import Final, Protocol

from scripts.servers.errors import ServerError

_ATTEMPTS: Final = 8
_PAUSE_SECONDS: Final = 0.25


class Server(Protocol):
    """What can be killed and started again; both return once it is so."""

    def kill(self) -> None:
        """SIGKILL."""
        ...

    def restart(self) -> None:
        """On the same port and data. Raises `ServerError`."""
        ...


def restart(server: Server) -> None:
    """Return once it serves. A process that Postgres began while it was killed outlives it by a moment; until it is
    gone, its successor refuses to start."""
    for _ in range(_ATTEMPTS):
        try:
            server.restart()
        except ServerError:
            time.sleep(_PAUSE_SECONDS)
        else:
            return
    server.restart()
