"""The examples of the README, run as they stand."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.gateway_process import ROOT, running_gateway


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_gateway(tmp_path_factory.mktemp("examples")) as client:
        yield client.address


def output(*command: str) -> str:
    # `buf` is installed beside the interpreter.
    tools = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    paths = os.pathsep.join((str(ROOT / "proto"), str(ROOT)))
    environment = dict(os.environ) | {"PATH": tools, "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        cwd=ROOT,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_python_example_prints_a_prompt_and_the_origin_of_its_bytes(address: str):
    text = output(sys.executable, "examples/python/assemble.py", address)
    body = json.loads(text.splitlines()[0])
    assert body["messages"][-1]["content"].endswith("Question: How long do we have to pay Nordwind?")
    assert "material/0 | '- Framework contract" in text


def test_the_shell_example_needs_no_proto_file(address: str):
    answer = json.loads(output("sh", "examples/shell/assemble.sh", address))
    assert answer["prompt"]["budgetReport"]["limit"] == 800
    assert answer["trace"].startswith("tenants/acme/traces/")
