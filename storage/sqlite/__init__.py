"""The SQLite adapter: one folder, one process, the standard library's driver."""

from storage.sqlite.factory import open_sqlite

__all__ = ["open_sqlite"]
