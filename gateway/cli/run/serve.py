"""`serve`: the gateway itself."""

from dataclasses import asdict, dataclass
from pathlib import Path

import typer
from pydantic import ValidationError

from gateway import app
from gateway.backends import UnusableSettingError
from gateway.cli.exits import ExitCode
from gateway.cli.run.output import fail
from gateway.cli.started import STARTED
from gateway.config import AddressError, Settings
from gateway.embedders import EmbedderUnavailable
from gateway.logs import configure_logs
from gateway.server.serve import run
from gateway.server.server import AddressUnavailableError
from gateway.telemetry import ExporterMissingError
from storage.errors import StorageError


@dataclass(frozen=True, slots=True)
class Arguments:
    """What the command line said, under the names of the settings. None: nothing."""

    listen: str | None = None
    data_dir: Path | None = None
    database_url: str | None = None
    redis_url: str | None = None
    master_key_file: Path | None = None
    embedder: str | None = None
    reuse_port: bool | None = None


def serve(arguments: Arguments) -> None:
    """Serve until SIGTERM or SIGINT, which drain."""
    try:
        settings = _settings(arguments)
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
    except (UnusableSettingError, EmbedderUnavailable, ExporterMissingError) as error:
        fail(str(error), ExitCode.USAGE)
    except StorageError as error:
        # With a database elsewhere the text names what it is about.
        place = f"data folder {settings.data_dir}: " if settings.database_url is None else ""
        fail(f"{place}{error}", ExitCode.UNAVAILABLE)


def _settings(arguments: Arguments) -> Settings:
    """Arguments first, then the environment, then defaults."""
    given = {name: value for name, value in asdict(arguments).items() if value is not None}
    # Settings read each of them as they read the variable of the same name.
    return Settings(**given)


def _first(error: ValidationError) -> str:
    """The first thing wrong with the settings, by its name."""
    problem = error.errors()[0]
    name = ".".join(map(str, problem["loc"]))
    message = str(problem["msg"]).removeprefix("Value error, ")
    return message if message.startswith(name) else f"{name}: {message}"
