"""Free ports on loopback."""

import socket

HOST = "127.0.0.1"


def free_port() -> int:
    """A port that nothing listens on now. It is not held: who starts a server on it may have to try again."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def answers(port: int, seconds: float = 0.2) -> bool:
    """Whether something takes connections on the port."""
    try:
        with socket.create_connection((HOST, port), timeout=seconds):
            return True
    except OSError:
        return False
