"""`python -m benchmarks.faults`: faults of Redis and Postgres under traffic, held against what is prescribed.

Starts its own servers and gateways on a folder that must lie on a disk. Writes `benchmarks/out/faults.json`. Ends with
0 when it could measure, whatever the figures are.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.disk import NotDurableError, require_disk
from benchmarks.faults.campaign import Campaign
from benchmarks.faults.gateways import GatewayFailed
from benchmarks.faults.nursery import running_nursery
from benchmarks.faults.sizes import FULL, QUICK
from benchmarks.figures import OUT, Figure, publish
from scripts.servers.errors import ServerError


def main(arguments: Sequence[str]) -> int:
    """The command. Gives the exit code: 2 where it could not measure."""
    options = _parse(arguments)
    parent: Path = options.data_dir
    figures: list[Figure] = []
    try:
        parent.mkdir(parents=True, exist_ok=True)
        require_disk(parent)
        with (
            tempfile.TemporaryDirectory(dir=parent, prefix="faults-") as folder,
            running_nursery() as nursery,
        ):
            campaign = Campaign(Path(folder), QUICK if options.quick else FULL, nursery, options.only)
            figures = campaign.figures
            asyncio.run(campaign.run())
    except (NotDurableError, ServerError, GatewayFailed, OSError) as error:
        print(f"could not measure: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped: the figures are those of what was finished", file=sys.stderr)
    publish(figures, "faults")
    return 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.faults", description="See docs/benchmarks.md."
    )
    parser.add_argument(
        "--data-dir", type=Path, default=OUT / "data", help="where servers and gateways keep theirs"
    )
    parser.add_argument("--quick", action="store_true", help="a few seconds of each, to see that it runs")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="beginnings of what to run")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
