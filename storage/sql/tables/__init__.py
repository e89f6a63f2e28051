"""The tables of every SQL backend, by what they hold; `storage.sql.schema` has them all."""
