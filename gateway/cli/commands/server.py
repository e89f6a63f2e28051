"""`muniment serve` and `muniment demo`."""

from pathlib import Path
from typing import Annotated

import typer

# The options of `serve`, each also read from its variable.
_Listen = Annotated[
    str | None,
    typer.Option(
        help="Where to listen; port 0 lets the system choose.",
        metavar="HOST:PORT",
        show_default="127.0.0.1:7463",
    ),
]
_DataDir = Annotated[
    Path | None,
    typer.Option(
        help="The folder of the database, or of the spool with --database-url; made where it is missing.",
        file_okay=False,
        show_default="data",
    ),
]
_DatabaseUrl = Annotated[
    str | None,
    typer.Option(help="Keep everything in this Postgres.", metavar="URL", show_default="the data folder"),
]
_RedisUrl = Annotated[
    str | None,
    typer.Option(
        help="The Redis that gateways share sessions through. Required with --database-url.",
        metavar="URL",
        show_default=False,
    ),
]
_MasterKeyFile = Annotated[
    Path | None,
    typer.Option(
        help="The file of master keys, mode 0600. Required with --database-url.",
        dir_okay=False,
        show_default="DATA_DIR/master.key",
    ),
]
_EmbedderName = Annotated[
    str | None,
    typer.Option(
        help="What finds history by meaning beside keywords: none, or minilm (needs muniment\\[embed]).",
        metavar="NAME",
        show_default="none",
    ),
]
_ReusePort = Annotated[
    bool | None,
    typer.Option(
        "--reuse-port", help="Let several gateways share the port (SO_REUSEPORT).", show_default=False
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(serve)
    app.command()(demo)


def serve(
    listen: _Listen = None,
    data_dir: _DataDir = None,
    database_url: _DatabaseUrl = None,
    redis_url: _RedisUrl = None,
    master_key_file: _MasterKeyFile = None,
    embedder: _EmbedderName = None,
    reuse_port: _ReusePort = None,
) -> None:
    """Run the gateway on this machine, until SIGTERM or Ctrl-C, which drain.

    Each option is also read from its variable: MUNIMENT_LISTEN, MUNIMENT_DATA_DIR, MUNIMENT_DATABASE_URL,
    MUNIMENT_REDIS_URL, MUNIMENT_MASTER_KEY_FILE, MUNIMENT_EMBEDDER, MUNIMENT_REUSE_PORT. Give URLs with passwords in
    the environment: arguments can be seen by others on the machine. Only read there: MUNIMENT_LOG_LEVEL, MUNIMENT_OTEL,
    and the sizes and time-outs that docs/operations.md lists.

    TLS: postgresql://…?sslmode=verify-full (and &sslrootcert=FILE for a private authority), rediss://… for Redis.
    Certificates and host names are always verified.

    Example: muniment serve --listen 127.0.0.1:7463 --data-dir data

    Example: muniment serve --database-url postgresql://app@db/muniment --redis-url redis://cache
    --master-key-file master.key
    """
    from gateway.cli.run.serve import Arguments, serve

    serve(
        Arguments(
            listen=listen,
            data_dir=data_dir,
            database_url=database_url,
            redis_url=redis_url,
            master_key_file=master_key_file,
            embedder=embedder,
            reuse_port=reuse_port,
        )
    )


def demo(
    conversation: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            exists=True,
            dir_okay=False,
            help="A conversation of your own.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Start a gateway of its own, play a recorded conversation, show the prompt and where it comes from.

    Example: muniment demo
    """
    from gateway.demo.main import demo as run

    raise typer.Exit(run(conversation))
