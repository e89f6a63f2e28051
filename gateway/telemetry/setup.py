"""Switches telemetry on: with exporters of our choice, or with the providers that the process has set up."""

import sys
from collections.abc import Iterable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from gateway.config import TelemetryMode
from gateway.telemetry.state import GAUGES, SCOPE, STATE, Instruments

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation
    from opentelemetry.sdk.metrics.export import MetricExporter
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import TracerProvider

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_TOKENS = (0, 16, 64, 256, 1024, 4096, 16384, 65536, 262144)


class ExporterMissingError(RuntimeError):
    """The exporter that was asked for is not installed."""


def configure(mode: TelemetryMode = TelemetryMode.OFF) -> None:
    """Set up providers for CONSOLE or OTLP (which reads the `OTEL_*` variables).

    With OFF, providers that something else in the process has set up are used; where there are none, nothing is
    imported from the SDK and all of this package costs nothing.
    """
    if mode is TelemetryMode.OFF:
        _use_foreign_providers()
        return
    spans, metrics = _console_exporters() if mode is TelemetryMode.CONSOLE else _otlp_exporters()
    activate(*_providers(spans, metrics))


def activate(tracers: "TracerProvider", meters: "MeterProvider") -> None:
    """Make the instruments from these providers and switch on."""
    meter = meters.get_meter(SCOPE)
    STATE.instruments = Instruments(
        tracer=tracers.get_tracer(SCOPE),
        meter=meter,
        call_duration=meter.create_histogram(
            "rpc.server.call.duration",
            "s",
            "How long calls take",
            explicit_bucket_boundaries_advisory=_SECONDS,
        ),
        calls=meter.create_counter("muniment.calls", "{call}", "Calls by method and code"),
        stage_duration=meter.create_histogram(
            "muniment.stage.duration",
            "s",
            "How long stages take",
            explicit_bucket_boundaries_advisory=_SECONDS,
        ),
        tokens=meter.create_histogram(
            "muniment.prompt.tokens",
            "{token}",
            "Tokens of prompts by section",
            explicit_bucket_boundaries_advisory=_TOKENS,
        ),
        degradations=meter.create_counter(
            "muniment.degradations", "{degradation}", "What prompts did without"
        ),
        confirmations=meter.create_counter(
            "muniment.epochs.confirmed", "{confirmation}", "Who said what is current of a user"
        ),
    )
    for name, (unit, description) in GAUGES.items():
        meter.create_observable_gauge(name, [partial(_read, name)], unit, description)


def shutdown() -> None:
    """Send what is left and switch off. Providers of the process are left to it."""
    from opentelemetry import metrics, trace

    STATE.instruments = None
    for provider in (trace.get_tracer_provider(), metrics.get_meter_provider()):
        flush = getattr(provider, "force_flush", None)
        if flush is not None:
            flush()


def _read(gauge: str, _: "CallbackOptions") -> "Iterable[Observation]":
    from opentelemetry.metrics import Observation

    total = STATE.total(gauge)
    return [] if total is None else [Observation(total)]


def _use_foreign_providers() -> None:
    # Whoever set up a provider has imported the SDK; otherwise its import (40 ms) is saved.
    if "opentelemetry.sdk.trace" not in sys.modules:
        return
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.trace import TracerProvider

    if isinstance(trace.get_tracer_provider(), TracerProvider):
        activate(trace.get_tracer_provider(), metrics.get_meter_provider())


def _console_exporters() -> "tuple[SpanExporter, MetricExporter]":
    from opentelemetry.sdk.metrics.export import ConsoleMetricExporter
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter

    return ConsoleSpanExporter(out=sys.stderr), ConsoleMetricExporter(out=sys.stderr)


def _otlp_exporters() -> "tuple[SpanExporter, MetricExporter]":
    try:
        package = "opentelemetry.exporter.otlp.proto.http"
        spans = import_module(f"{package}.trace_exporter").OTLPSpanExporter
        metrics = import_module(f"{package}.metric_exporter").OTLPMetricExporter
    except ImportError:
        raise ExporterMissingError(
            "MUNIMENT_OTEL=otlp needs the OTLP exporter: install it with pip install 'muniment[otel]'"
        ) from None
    return spans(), metrics()


def _providers(
    spans: "SpanExporter", metrics_out: "MetricExporter"
) -> "tuple[TracerProvider, MeterProvider]":
    """Providers of the SDK, made the process's own. Sampling follows OTEL_TRACES_SAMPLER."""
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create({"service.name": SCOPE})
    tracers = TracerProvider(resource=resource)
    tracers.add_span_processor(BatchSpanProcessor(spans))
    meters = MeterProvider([PeriodicExportingMetricReader(metrics_out)], resource=resource)
    trace.set_tracer_provider(tracers)
    metrics.set_meter_provider(meters)
    return tracers, meters
