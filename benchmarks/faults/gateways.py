"""Gateways as processes of their own, on ports that they keep when they are killed and started again."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gateway.cli.started import STARTED
from scripts.servers import ports

ROOT: Final = Path(__file__).resolve().parents[2]
_STOP_SECONDS: Final = 30.0
_LOG_LINES: Final = 12


class GatewayFailed(RuntimeError):
    """A gateway did not start, or did not stop in order; the text has the end of its log."""


@dataclass(frozen=True, slots=True)
class GatewayOptions:
    """What to serve. `program` is the module that takes `serve ...`, with its own arguments before: a mutant is another
    program. `settings` are variables of the environment: where the stores are."""

    program: Sequence[str] = ("gateway.cli",)
    settings: Mapping[str, str] = field(default_factory=dict)


class Gateway:
    """One gateway. `start` after `kill` or `stop` serves the same port again."""

    def __init__(self, options: GatewayOptions, log: Path, port: int = 0) -> None:
        self._options, self._log = options, log
        self.port = port or ports.free_port()
        self._process: subprocess.Popen[str] | None = None

    @property
    def address(self) -> str:
        """`127.0.0.1:port`."""
        return f"{ports.HOST}:{self.port}"

    @property
    def pid(self) -> int:
        """The process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Return once it serves. Raises `GatewayFailed`."""
        command = [sys.executable, "-m", *self._options.program, "serve", "--listen", self.address]
        with self._log.open("ab") as errors:
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT, env=self._environment()
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.startswith(STARTED):
            self._end()
            raise GatewayFailed(f"the gateway did not start:\n{self._end_of_log()}")

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self._signal(signal.SIGKILL)
        self._end()

    def pause(self) -> None:
        """SIGSTOP."""
        self._signal(signal.SIGSTOP)

    def stop(self) -> None:
        """Drain. Raises `GatewayFailed` where it ends in another way."""
        if self._process is None:
            return
        self._signal(signal.SIGTERM)
        code = self._end()
        if code != 0:
            raise GatewayFailed(f"the gateway ended with code {code}:\n{self._end_of_log()}")

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _end(self) -> int:
        process, self._process = self._process, None
        assert process is not None
        assert process.stdout is not None
        try:
            return process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()
        finally:
            process.stdout.close()

    def _environment(self) -> dict[str, str]:
        """Ours, without what would tell the gateway of other stores."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MUNIMENT_")}
        paths = os.pathsep.join((str(ROOT / "proto"), str(ROOT)))
        return {**inherited, "PYTHONPATH": paths, "GRPC_VERBOSITY": "NONE", **self._options.settings}

    def _end_of_log(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-_LOG_LINES:]) or "(its log is empty)"
