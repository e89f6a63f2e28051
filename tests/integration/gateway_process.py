"""A gateway as its own process on a data folder, for tests that need one to be stopped and started again."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway.client.client import Client, connect

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 20.0
STOP_SECONDS = 20.0

_SERVE = """
import sys
from pathlib import Path
from gateway.app import serve
from gateway.config import ListenAddress, Settings
from gateway.server.serve import run
settings = Settings(listen=ListenAddress("127.0.0.1", 0), data_dir=Path(sys.argv[1]))
run(serve(settings, lambda port: print(port, flush=True)))
"""


@contextmanager
def running_gateway(data_dir: Path) -> Iterator[Client]:
    """Serve a data folder, give a client, and drain at the end as an operator would: by SIGTERM."""
    environment = dict(os.environ) | {"PYTHONPATH": os.pathsep.join((str(ROOT / "proto"), str(ROOT)))}
    with subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(data_dir)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        env=environment,
    ) as process:
        try:
            assert process.stdout is not None
            # Log lines come on the same stream.
            port = next((line.strip() for line in process.stdout if line.strip().isdigit()), "")
            assert port, "the gateway did not start"
            with connect(f"127.0.0.1:{port}") as client:
                assert client.wait_until_serving(START_SECONDS)
                yield client
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_SECONDS) == 0
