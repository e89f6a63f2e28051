"""The Postgres adapter: any number of gateways on one database, each tenant behind row-level security."""
