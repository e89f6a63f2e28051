"""A process that has the gateway imported and forks one for each order: hundreds of starts become affordable.

Orders are JSON lines on its input, each answered by one JSON line. What is forked is the product as `muniment serve`
runs it; only the imports are shared.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypedDict

from benchmarks.faults.launching import ROOT, Child, Launch, environment

_LOOK_SECONDS: Final = 0.005
_STOP_SECONDS: Final = 5.0


class Nursery:
    """The parent's side; a `Launcher`. What it launches is always the product."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def launch(self, launch: Launch) -> Child:
        """As `Launcher` says."""
        order = {
            "arguments": [*launch.arguments],
            "settings": dict(launch.settings),
            "log": str(launch.log),
        }
        answer = self.order("launch", order)
        return _Forked(self, int(answer["pid"]), str(answer["said"]))

    def order(self, what: str, order: Mapping[str, object]) -> dict[str, Any]:
        """Have something done."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"order": what, **order}) + "\n")
        stdin.flush()
        answer: dict[str, Any] = json.loads(stdout.readline())
        return answer


class _Forked:
    def __init__(self, nursery: Nursery, pid: int, said: str) -> None:
        self._nursery, self._pid, self.said = nursery, pid, said

    def signal(self, number: signal.Signals) -> None:
        """As `Child` says."""
        os.kill(self._pid, number)

    def wait(self, seconds: float) -> int:
        """As `Child` says."""
        return int(self._nursery.order("wait", {"pid": self._pid, "seconds": seconds})["code"])


@contextmanager
def running_nursery() -> Iterator[Nursery]:
    """One for the time of a `with`."""
    command = [sys.executable, "-m", "benchmarks.faults.nursery"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment({})
    ) as process:
        try:
            yield Nursery(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def main() -> None:
    """Take orders until the input ends, and leave no gateway behind: who gave them may have been killed."""
    # What a gateway imports when it serves. Nothing is begun: a fork takes no thread and no loop along.
    import storage.postgres
    import storage.redis  # noqa: F401  imported for its children

    alive: set[int] = set()
    try:
        for line in sys.stdin:
            print(json.dumps(_obey(json.loads(line), alive)), flush=True)
    finally:
        for pid in alive:
            os.kill(pid, signal.SIGKILL)


def _obey(order: Mapping[str, Any], alive: set[int]) -> dict[str, object]:
    if order["order"] == "launch":
        launched = _launch(order)
        alive.add(launched["pid"])
        return {**launched}
    ended = _wait(order["pid"], order["seconds"])
    alive.discard(order["pid"])
    return ended


class _Launched(TypedDict):
    pid: int
    said: str


def _launch(order: Mapping[str, Any]) -> _Launched:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _become_gateway(order, writing)
    os.close(writing)
    with os.fdopen(reading) as output:
        return {"pid": pid, "said": output.readline()}


def _become_gateway(order: Mapping[str, Any], output: int) -> None:
    """Never returns."""
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    empty = os.open(os.devnull, os.O_RDONLY)
    for ours, theirs in ((empty, 0), (output, 1), (log, 2)):
        os.dup2(ours, theirs)
        os.close(ours)
    os.environ.update(order["settings"])
    sys.argv[1:] = order["arguments"]
    from gateway.cli.main import main as serve

    code = 1
    try:
        serve()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        os._exit(code)


def _wait(pid: int, seconds: float) -> dict[str, object]:
    deadline = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return {"code": os.waitstatus_to_exitcode(status)}
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        time.sleep(_LOOK_SECONDS)


if __name__ == "__main__":
    main()
