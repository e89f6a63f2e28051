"""The demo as its user runs it: a process of its own, without a terminal, from the first line to the last."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.cli.exits import ExitCode
from gateway.demo.process import GatewayFailed, running_gateway
from tests.integration.gateway_process import ROOT

OWN = [
    {"type": "conversation", "tenant": "acme", "user": "dana", "policy": "policies/memory"},
    {
        "type": "fact",
        "key": "language",
        "value": "Italian",
        "origin": "STATED",
        "source": "chat",
        "writer": "agent",
    },
    {"type": "session", "session_id": "spring", "start": "2026-03-31T09:00:00Z"},
    {"type": "turn", "role": "USER", "text": "The grinder is loud."},
    {"type": "session", "session_id": "today", "start": "now"},
    {"type": "turn", "role": "USER", "text": "What did I say of the grinder?"},
]


def demo(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "gateway.demo", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=90,
        cwd=ROOT,
        env=dict(os.environ) | {"COLUMNS": "80", "PYTHONIOENCODING": "utf-8"} | environment,
        check=False,
    )


@pytest.fixture(scope="module")
def recorded() -> "subprocess.CompletedProcess[str]":
    return demo()


def test_the_demo_keeps_all_its_promises(recorded: "subprocess.CompletedProcess[str]"):
    assert recorded.returncode == 0, recorded.stdout + recorded.stderr
    assert "promises kept" in recorded.stdout
    assert "✘" not in recorded.stdout
    assert recorded.stderr == ""


def test_the_demo_shows_everything_that_can_be_asked(recorded: "subprocess.CompletedProcess[str]"):
    text = recorded.stdout
    headings = [
        "The prompt of the last turn", "The budget", "Why is ", "Why is something else not there?",
        "identical", "Where a provider may cache", "Checked",
    ]  # fmt: skip
    places = [text.index(heading) for heading in headings]
    assert places == sorted(places)


def test_the_demo_fits_eighty_columns_and_has_no_colour_without_a_terminal(
    recorded: "subprocess.CompletedProcess[str]",
):
    assert "\x1b" not in recorded.stdout
    assert max(len(line) for line in recorded.stdout.splitlines()) <= 80


def test_the_demo_plays_a_conversation_of_the_users_own_where_the_terminal_knows_only_ascii(tmp_path: Path):
    file = tmp_path / "own.jsonl"
    file.write_text("\n".join(map(json.dumps, OWN)), encoding="utf-8")
    done = demo(str(file), PYTHONIOENCODING="ascii", COLUMNS="60")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The grinder is loud." in done.stdout


def test_a_line_that_does_not_fit_ends_the_demo_before_a_gateway_is_started(tmp_path: Path):
    file = tmp_path / "own.jsonl"
    file.write_text(json.dumps(OWN[0]) + '\n{"type": "turn"}\n', encoding="utf-8")
    done = demo(str(file))
    assert done.returncode == ExitCode.INVALID
    assert done.stderr.startswith(f"error: {file}:2: `type` stands before the first session")
    assert done.stdout == ""


def test_a_gateway_that_cannot_start_is_told_with_the_end_of_its_log(tmp_path: Path):
    occupied = tmp_path / "data"
    occupied.write_text("a file where the folder should be", encoding="utf-8")
    with pytest.raises(GatewayFailed, match="did not start"), running_gateway(occupied, tmp_path / "log"):
        pass
