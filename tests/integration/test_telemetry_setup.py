"""Telemetry is switched on in a process of its own, since OpenTelemetry's providers are set once."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CALL = """
from gateway import telemetry
with telemetry.call_span("s/M", {}) as span:
    with telemetry.stage("facts"):
        pass
    span.end("OK", "")
telemetry.record_call("s/M", "OK", 0.001)
telemetry.shutdown()
"""
CONSOLE = """
from gateway import telemetry
from gateway.config import Settings
telemetry.configure(Settings().otel)
"""
FOREIGN = """
import sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=sys.stderr)))
trace.set_tracer_provider(provider)
from gateway import telemetry
telemetry.configure()
"""
UNSAMPLED = "import os\nos.environ['OTEL_TRACES_SAMPLER'] = 'always_off'\n" + CONSOLE


def run(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == ""
    return done.stderr


@pytest.mark.parametrize("program", [CONSOLE, FOREIGN])
def test_spans_go_to_the_console_or_to_the_provider_that_the_process_has(program):
    written = run(program + CALL, MUNIMENT_OTEL="console")
    assert '"name": "s/M"' in written
    assert '"name": "muniment.facts"' in written


def test_metrics_go_to_the_console_too():
    assert "muniment.calls" in run(CONSOLE + CALL, MUNIMENT_OTEL="console")


def test_sampling_follows_the_environment():
    assert '"name": "s/M"' not in run(UNSAMPLED + CALL, MUNIMENT_OTEL="console")


def test_switched_off_the_sdk_is_not_even_imported():
    program = CONSOLE + "import sys\nsys.exit('opentelemetry.sdk.trace' in sys.modules)"
    assert run(program, MUNIMENT_OTEL="off") == ""
