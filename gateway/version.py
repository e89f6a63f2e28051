"""The release, as traces and clients see it."""

from importlib.metadata import PackageNotFoundError, version


def _installed() -> str:
    try:
        return version("muniment")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "0+unknown"


ENGINE_VERSION = _installed()

LIBRARY_VERSIONS = {name: version(name) for name in ("numpy", "regex", "snowballstemmer")}
"""The libraries whose behaviour a prompt depends on: they are recorded in each trace."""
