"""How a gateway's process comes to be: as a new interpreter, or forked from one that has everything imported."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Launch:
    """What to run: the module that takes `serve ...` with its arguments, variables of the environment, and the file
    that its log goes to."""

    program: Sequence[str]
    arguments: Sequence[str]
    settings: Mapping[str, str]
    log: Path


class Child(Protocol):
    """A running process."""

    @property
    def said(self) -> str:
        """The first line of its output, "" where it ended without one."""
        ...

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        ...

    def wait(self, seconds: float) -> int:
        """Wait for its end, force it after so many seconds; gives the exit code, negative for a signal."""
        ...


class Launcher(Protocol):
    """Starts processes."""

    def launch(self, launch: Launch) -> Child:
        """Return once it has said its first line, or has ended."""
        ...


def environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Ours, without what would tell a gateway of other stores, and with the settings."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MUNIMENT_")}
    paths = os.pathsep.join((str(ROOT / "proto"), str(ROOT)))
    return {**inherited, "PYTHONPATH": paths, "GRPC_VERBOSITY": "NONE", **settings}


class Spawner:
    """A new interpreter for each."""

    def launch(self, launch: Launch) -> Child:
        """As `Launcher` says."""
        command = [sys.executable, "-m", *launch.program, *launch.arguments]
        with launch.log.open("ab") as errors:
            process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=ROOT,
                env=environment(launch.settings),
            )
        return _Spawned(process)


class _Spawned:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        self._process, self._output = process, process.stdout
        self.said = self._output.readline()

    def signal(self, number: signal.Signals) -> None:
        """As `Child` says."""
        self._process.send_signal(number)

    def wait(self, seconds: float) -> int:
        """As `Child` says."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        finally:
            self._output.close()
