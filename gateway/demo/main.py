"""Runs the demo: nothing is left behind but what is on the screen."""

import tempfile
import time
from pathlib import Path

from gateway.cli.exits import ExitCode
from gateway.cli.options import Connection
from gateway.cli.run.output import console, fail, report
from gateway.cli.run.play import policy_source, read
from gateway.client import CallError, connect
from gateway.client.conversations import Conversation
from gateway.demo.checks import checks
from gateway.demo.pages import show, show_checks
from gateway.demo.process import GatewayFailed, running_gateway
from gateway.demo.story import Story, tell

RECORDED = Path(__file__).parents[2] / "examples" / "conversations" / "coffee-buyer.jsonl"


def demo(file: Path | None) -> int:
    """Play the file, or the recorded conversation, against a gateway that is started for it; the exit code."""
    start = time.perf_counter()
    path = file or RECORDED
    if not path.exists():
        fail(f"{path.name} is part of the repository: run the demo there, or name a file", ExitCode.USAGE)
    # Read at once for its errors, and again when the gateway is up, since its dates count from the start of the play.
    read(path)
    out = console()
    out.print(f"Starting a gateway on loopback, playing {path.name} …", style="dim")
    try:
        story = _tell(path)
    except GatewayFailed as error:
        fail(str(error), ExitCode.INTERNAL)
    show(out, story)
    results = checks(story, recorded=file is None)
    show_checks(out, results, time.perf_counter() - start)
    return ExitCode.OK if all(result.kept for result in results) else ExitCode.DIFFERENT


def _tell(path: Path) -> Story:
    with (
        tempfile.TemporaryDirectory(prefix="muniment-demo-") as folder,
        running_gateway(Path(folder) / "data", Path(folder) / "gateway.log") as address,
    ):
        return _play(address, read(path))


def _play(address: str, conversation: Conversation) -> Story:
    try:
        with connect(address) as client:
            return tell(client, conversation)
    except CallError as error:
        report(error, Connection(address, as_json=False), policy_source(conversation))
