"""`make serve-prod-local`: production on one machine, from nothing, and again over what it left."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gateway.client import connect
from muniment.v1 import context_pb2, trace_pb2, types_pb2
from scripts.servers import ports, process_tree
from tests.commands import check_muniment
from tests.documents import ROOT, commands

SESSION = types_pb2.SessionRef(tenant_id="acme", user_id="dana", session_id="monday")


@dataclass(frozen=True, slots=True)
class Running:
    """The addresses of its gateways, and what it said."""

    addresses: tuple[str, ...]
    told: str


def program(folder: Path, listen: list[int]) -> list[str]:
    """The command that the Makefile runs."""
    return [
        sys.executable,
        "-m",
        "scripts.serve_prod_local",
        "--data-dir",
        str(folder),
        "--listen",
        *map(str, listen),
    ]


def surroundings() -> dict[str, str]:
    return dict(os.environ) | {"PYTHONPATH": os.pathsep.join((str(ROOT / "proto"), str(ROOT)))}


@contextmanager
def production(folder: Path) -> Iterator[Running]:
    """The program over a folder, ended as by Ctrl-C."""
    chosen = [ports.free_port(), ports.free_port()]
    with subprocess.Popen(
        program(folder, chosen),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=surroundings(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        told = ""
        for line in process.stdout:
            told += line
            if "Ctrl-C" in line:
                break
        else:
            pytest.fail(process.stderr.read())
        tree = process_tree.descendants(process.pid)
        try:
            yield Running(tuple(f"{ports.HOST}:{port}" for port in chosen), told)
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert errors == ""
        assert [pid for pid in tree if process_tree.alive(pid)] == []


def ask(address: str, turn_id: str) -> str:
    """The name of the trace of a question."""
    request = context_pb2.AssembleContextRequest(
        session=SESSION,
        turn=types_pb2.Turn(
            turn_id=turn_id, role=types_pb2.ROLE_USER, contents=[types_pb2.Content(text="What is due?")]
        ),
    )
    with connect(address) as client:
        return client.call(client.context.AssembleContext, request).trace


def question(address: str, trace: str) -> str:
    with connect(address) as client:
        found = client.call(client.traces.GetTrace, trace_pb2.GetTraceRequest(name=trace))
    return found.trace.turn_id


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that `nobody` may enter too, who runs Postgres where root may not make user namespaces."""
    with tempfile.TemporaryDirectory(prefix="muniment-prod-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.timeout(300)
def test_what_one_gateway_wrote_the_other_reads_and_the_next_start_finds_again(folder: Path):
    with production(folder) as running:
        trace = ask(running.addresses[0], "turn-1")
        assert question(running.addresses[1], trace) == "turn-1"
        told = [words for words in commands(running.told) if words[0].endswith("muniment")]
    assert len(told) == 2
    for words in told:
        check_muniment(words[1:])
    key = (folder / "master.key").read_bytes()
    with production(folder) as running:
        assert question(running.addresses[0], trace) == "turn-1"
        ask(running.addresses[1], "turn-2")
    assert (folder / "master.key").read_bytes() == key
    assert (folder / "passwords.json").stat().st_mode & 0o077 == 0


def test_a_port_that_is_taken_is_told_with_the_remedy_before_anything_is_made(tmp_path: Path):
    with ports_taken() as port:
        done = subprocess.run(
            program(tmp_path, [port]),
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=surroundings(),
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert f"something listens on 127.0.0.1:{port} already: stop it, or choose with --listen" in done.stderr
    assert list(tmp_path.iterdir()) == []


@contextmanager
def ports_taken() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind((ports.HOST, 0))
        taken.listen()
        yield int(taken.getsockname()[1])
