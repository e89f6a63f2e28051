"""Gateways as processes of their own, on ports that they keep when they are killed and started again."""

import json
import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.faults.launching import Child, Launch, Launcher, Spawner
from gateway.cli.started import STARTED
from scripts.servers import ports

PRODUCT: Final = ("gateway.cli",)
_STOP_SECONDS: Final = 30.0
_LOG_LINES: Final = 12
_FAULT: Final = "error_types"
_FRAMES: Final = 5


class GatewayFailed(RuntimeError):
    """A gateway did not start, or did not stop in order; the text has the end of its log."""


@dataclass(frozen=True, slots=True)
class GatewayOptions:
    """What to serve. `program` is the module that takes `serve ...`, with its own arguments before: a mutant is another
    program. `settings` are variables of the environment: where the stores are."""

    program: Sequence[str] = PRODUCT
    settings: Mapping[str, str] = field(default_factory=dict)
    launcher: Launcher = field(default_factory=Spawner)


class Gateway:
    """One gateway. `start` after `kill` or `stop` serves the same port again."""

    def __init__(self, options: GatewayOptions, log: Path, port: int = 0) -> None:
        self._options, self._log = options, log
        self.port = port or ports.free_port()
        self._child: Child | None = None

    @property
    def address(self) -> str:
        """`127.0.0.1:port`."""
        return f"{ports.HOST}:{self.port}"

    @property
    def running(self) -> bool:
        """Whether it was started and neither stopped nor killed since."""
        return self._child is not None

    def start(self) -> None:
        """Return once it serves. Raises `GatewayFailed`."""
        arguments = ("serve", "--listen", self.address)
        launch = Launch(self._options.program, arguments, self._options.settings, self._log)
        child = self._options.launcher.launch(launch)
        if not child.said.startswith(STARTED):
            child.wait(_STOP_SECONDS)
            raise GatewayFailed(f"the gateway did not start:\n{self._end_of_log()}")
        self._child = child

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Drain. Raises `GatewayFailed` where it ends in another way."""
        code = self._end(signal.SIGTERM)
        if code != 0:
            raise GatewayFailed(f"the gateway ended with code {code}:\n{self._end_of_log()}")

    def _end(self, number: signal.Signals) -> int:
        child, self._child = self._child, None
        assert child is not None
        child.signal(number)
        return child.wait(_STOP_SECONDS)

    def logged_faults(self) -> Counter[str]:
        """What its log says of exceptions that nobody had translated: types and lines of code, and how often."""
        faults: Counter[str] = Counter()
        for line in self._log.read_text(encoding="utf-8", errors="replace").splitlines():
            if _FAULT in line:
                said = json.loads(line)
                faults[f"{' < '.join(said[_FAULT])} at {' > '.join(said['frames'][-_FRAMES:])}"] += 1
        return faults

    def _end_of_log(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-_LOG_LINES:]) or "(its log is empty)"
