"""`serve`: the gateway itself."""

from pathlib import Path

import typer
from pydantic import ValidationError

from gateway import app
from gateway.cli.exits import ExitCode
from gateway.cli.run.output import fail
from gateway.cli.started import STARTED
from gateway.config import AddressError, ListenAddress, Settings
from gateway.logs import configure_logs
from gateway.server.serve import run
from gateway.server.server import AddressUnavailableError
from gateway.telemetry import ExporterMissingError
from storage.errors import StorageError


def serve(listen: str | None, data_dir: Path | None) -> None:
    """Serve until SIGTERM or SIGINT, which drain."""
    try:
        settings = _settings(listen, data_dir)
        settings.listen.require_loopback()
    except ValidationError as error:
        fail(_first(error), ExitCode.USAGE)
    except AddressError as error:
        fail(str(error), ExitCode.USAGE)
    configure_logs(settings.log_level)
    host = settings.listen.target.rpartition(":")[0]
    try:
        run(app.serve(settings, lambda port: typer.echo(f"{STARTED}{host}:{port}")))
    except (AddressError, AddressUnavailableError) as error:
        fail(str(error), ExitCode.UNAVAILABLE)
    except ExporterMissingError as error:
        fail(str(error), ExitCode.USAGE)
    except StorageError as error:
        fail(f"data folder {settings.data_dir}: {error}", ExitCode.UNAVAILABLE)


def _settings(listen: str | None, data_dir: Path | None) -> Settings:
    """Arguments first, then the environment, then defaults."""
    if listen is not None and data_dir is not None:
        return Settings(listen=ListenAddress.parse(listen), data_dir=data_dir)
    if listen is not None:
        return Settings(listen=ListenAddress.parse(listen))
    return Settings(data_dir=data_dir) if data_dir is not None else Settings()


def _first(error: ValidationError) -> str:
    """The first thing wrong with the settings, by its name."""
    problem = error.errors()[0]
    name = ".".join(map(str, problem["loc"]))
    message = str(problem["msg"]).removeprefix("Value error, ")
    return message if message.startswith(name) else f"{name}: {message}"
