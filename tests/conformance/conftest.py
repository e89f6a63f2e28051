"""The backends that the suites run on."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

# Before the suites are imported, so that their assertions explain themselves.
pytest.register_assert_rewrite("storage.conformance")

from storage.conformance import Backend  # noqa: E402
from storage.ports import Storage  # noqa: E402
from storage.sqlite import open_sqlite  # noqa: E402


@pytest.fixture
def backend(tmp_path: Path) -> Backend:
    async def open_again() -> Storage:
        return await open_sqlite(tmp_path / "data")

    return Backend("sqlite", open_again)


@pytest.fixture
async def storage(backend: Backend) -> AsyncIterator[Storage]:
    opened = await backend.open()
    yield opened
    await opened.close()
