"""A gateway as a process of its own, on a port that the system chooses."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gateway.cli.started import STARTED

_LISTEN = "127.0.0.1:0"
_STOP_SECONDS = 20.0
_SHOWN_LOG_LINES = 10


class GatewayFailed(RuntimeError):
    """The gateway did not start, or did not stop as it should; the text has the end of its log."""


@contextmanager
def running_gateway(data_dir: Path, log: Path, arguments: Sequence[str] = ()) -> Iterator[str]:
    """The address of a gateway over `data_dir` that runs for the time of the `with`, with more `arguments` of `serve`.
    Raises `GatewayFailed`."""
    command = [sys.executable, "-m", "gateway.cli", "serve", "--listen", _LISTEN, "--data-dir", str(data_dir)]
    command += arguments
    with log.open("wb") as errors:
        # The command is made of constants and our own interpreter.
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)  # noqa: S603
        try:
            yield _address(process, log)
        finally:
            code = _stop(process)
    if code != 0:
        raise GatewayFailed(f"the gateway ended with code {code}:\n{_end_of(log)}")


def _address(process: "subprocess.Popen[str]", log: Path) -> str:
    """What the gateway says on its first line; it ends its output where it cannot start."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.startswith(STARTED):
        raise GatewayFailed(f"the gateway did not start:\n{_end_of(log)}")
    return line.removeprefix(STARTED).strip()


def _stop(process: "subprocess.Popen[str]") -> int:
    """Drain, as an operator would; the exit code, negative where it had to be killed."""
    process.terminate()
    try:
        return process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
    finally:
        if process.stdout is not None:
            process.stdout.close()


def _end_of(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-_SHOWN_LOG_LINES:]) or "(its log is empty)"
