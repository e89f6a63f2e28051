"""The Postgres adapter: any number of gateways on one database, each tenant behind row-level security."""

from storage.postgres.factory import PostgresStorage, open_postgres

__all__ = ["PostgresStorage", "open_postgres"]
