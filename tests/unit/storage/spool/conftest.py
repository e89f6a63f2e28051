"""Spools in a temporary folder, under keys that can be destroyed."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from storage.spool import Spool, open_spools
from tests.unit.storage.spool.keys import Keys

SIZE = 64 << 10
Opening = Callable[[], Awaitable[Spool]]


@pytest.fixture
def keys() -> Keys:
    return Keys()


@pytest.fixture
def reopen(tmp_path: Path, keys: Keys) -> Opening:
    """Opens the folder as a new process would."""

    async def opened() -> Spool:
        (own, *left) = await open_spools(tmp_path, SIZE, keys)
        assert left == []
        return own

    return opened


def names(folder: Path) -> list[str]:
    """What lies in a folder."""
    return sorted(path.name for path in folder.iterdir())
