"""The backends that the suites run on."""

from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

# Before the suites are imported, so that their assertions explain themselves.
pytest.register_assert_rewrite("storage.conformance")

from storage.conformance import Backend  # noqa: E402
from storage.ports import Storage  # noqa: E402
from storage.sqlite import open_sqlite  # noqa: E402
from storage.sqlite.connection import DATABASE_NAME, connect_reader  # noqa: E402


@pytest.fixture
def backend(tmp_path: Path) -> Backend:
    async def open_again() -> Storage:
        return await open_sqlite(tmp_path / "data")

    async def count_rows() -> dict[str, int]:
        with closing(connect_reader(tmp_path / "data" / DATABASE_NAME)) as reader:
            tables = [
                name for (name,) in reader.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            counts = {name: reader.execute(f"SELECT count(*) FROM {name}").fetchone() for name in tables}
        return {name: int(count) for name, (count,) in counts.items()}

    return Backend("sqlite", open_again, count_rows)


@pytest.fixture
async def storage(backend: Backend) -> AsyncIterator[Storage]:
    opened = await backend.open()
    yield opened
    await opened.close()
