"""The gateway under test, with the echo in the same event loop, over the stores that the environment names.

Run as `python -m benchmarks.scale.server PORT` (0: any); the first line of its output has the two ports.
"""

import sys

from benchmarks.server import READY, Echo
from gateway.app import serve
from gateway.config import ListenAddress, LogLevel, Settings
from gateway.logs import configure_logs
from gateway.server import run


async def main(port: int) -> None:
    """Serve both until SIGTERM."""
    echo = Echo()
    echo_port = await echo.start()
    settings = Settings(listen=ListenAddress("127.0.0.1", port))
    await serve(settings, lambda served: print(f"{READY}{served} {echo_port}", flush=True))


if __name__ == "__main__":
    configure_logs(LogLevel.WARNING)
    run(main(int(sys.argv[1])))
