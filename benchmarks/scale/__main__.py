"""`python -m benchmarks.scale`: ten thousand users and a million excerpts in Postgres, and assembling from there.

Starts its own servers on a folder that must lie on a disk. Writes `benchmarks/out/scale.json`. Ends with 0 when it
could measure, whatever the figures are.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import asyncpg
import grpc

from benchmarks.disk import NotDurableError, require_disk
from benchmarks.faults.gateways import GatewayFailed
from benchmarks.figures import OUT, Bar, Figure, Side, publish
from benchmarks.process import ServerFailed, connected
from benchmarks.scale import measuring
from benchmarks.scale.appending import appending
from benchmarks.scale.backends import Backends, running_backends
from benchmarks.scale.furnishing import furnish, open_sessions
from benchmarks.scale.loading import Loaded
from benchmarks.scale.measuring import Effort, NeverLoaded
from benchmarks.scale.population import MEASURED, Population
from benchmarks.seeding import SeedingFailed
from gateway.server import run
from scripts.servers import ports
from scripts.servers.errors import ServerError

_MANY, _FEW = "many", "few"
_LOADER_BAR: Final = Bar(Side.AT_LEAST, 5_000)
_FAILURES: Final = (
    NotDurableError, ServerFailed, ServerError, GatewayFailed, SeedingFailed, NeverLoaded, OSError,
    asyncpg.PostgresError,
)  # fmt: skip


async def measure(folder: Path, options: argparse.Namespace) -> list[Figure]:
    """All figures, over servers below an empty folder."""
    many = Population(options.users, options.facts, options.excerpts, options.large_excerpts)
    few = Population(options.few_users, options.facts, large_excerpts=1)
    effort = Effort(options.rounds, options.calls)
    with running_backends(folder) as backends:
        figures = _loaded(many, await furnish(backends, _MANY, 0, many))
        await furnish(backends, _FEW, 1, few, many.each)
        figures += await _one_process(backends, (few.users, many.users), effort)
        figures += await measuring.gateways_of(backends, _MANY, 0, effort, ports.free_port())
        url = backends.application_url(_MANY)
        return figures + await appending(url, backends.key_file, options.traces)


async def _one_process(backends: Backends, sizes: tuple[int, int], effort: Effort) -> list[Figure]:
    with (
        backends.gateway(_MANY, backends.settings(_MANY, 0)) as many,
        backends.gateway(_FEW, backends.settings(_FEW, 1)) as few,
    ):
        async with connected(many.ports) as to_many, connected(few.ports) as to_few:
            await open_sessions(to_many)
            await open_sessions(to_few)
            figures = await measuring.against_echo(to_many, effort)
            figures += await measuring.among_users(to_few, to_many, sizes, effort)
            return figures + await measuring.large_archive(to_many, effort)


def _loaded(population: Population, loaded: Loaded) -> list[Figure]:
    return [
        Figure("users", population.users, "users"),
        Figure("facts", loaded.facts, "facts"),
        Figure("excerpts", loaded.excerpts, "excerpts"),
        Figure("load_rate", loaded.rate, "excerpts/s", _LOADER_BAR),
    ]


def main(arguments: Sequence[str]) -> int:
    """The command. Gives the exit code: 2 where it could not measure."""
    options = _parse(arguments)
    parent: Path = options.data_dir
    try:
        parent.mkdir(parents=True, exist_ok=True)
        require_disk(parent)
        with tempfile.TemporaryDirectory(dir=parent, prefix="scale-") as folder:
            figures = run(measure(Path(folder), options))
    except _FAILURES as error:
        print(f"could not measure: {error}", file=sys.stderr)
        return 2
    except grpc.RpcError as error:
        print(f"could not measure: a call failed: {error}", file=sys.stderr)
        return 2
    publish(figures, "scale")
    return 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    whole = Population()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description="See docs/benchmarks.md.")
    parser.add_argument("--data-dir", type=Path, default=OUT / "data", help="where the servers keep theirs")
    for name, value, what in (
        ("users", whole.users, "users of the large database"),
        ("few-users", 100, "users of the small one"),
        ("facts", whole.facts, "facts of each user"),
        ("excerpts", whole.excerpts, "excerpts of all users together"),
        ("large-excerpts", whole.large_excerpts, "those of one user among them"),
        ("traces", 10_000, "traces to append"),
        ("rounds", 7, "rounds of each measurement"),
        ("calls", 120, "calls of a round at one caller"),
    ):
        parser.add_argument(f"--{name}", type=int, default=value, help=f"{what} ({value:,})")
    options = parser.parse_args(arguments)
    least = MEASURED + 2
    if min(options.users, options.few_users) < least:
        parser.error(f"--users and --few-users: at least {least}")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
