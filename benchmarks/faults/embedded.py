"""The gateway that keeps everything in its own folder, for the kills, unsure stores and mutants that need no server."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.faults.gateways import Gateway, GatewayOptions
from benchmarks.faults.launching import Launcher


@dataclass(frozen=True, slots=True)
class Embedded:
    """A folder of its own for each gateway."""

    folder: Path

    @contextmanager
    def gateways(self, program: Sequence[str], launcher: Launcher) -> Iterator[tuple[Gateway, ...]]:
        """One gateway for the time of a `with`."""
        settings = {"MUNIMENT_DATA_DIR": str(self.folder / "data"), "MUNIMENT_LOG_LEVEL": "warning"}
        gateway = Gateway(GatewayOptions(program, settings, launcher), self.folder / "gateway.log")
        gateway.start()
        try:
            yield (gateway,)
        finally:
            if gateway.running:
                gateway.stop()
