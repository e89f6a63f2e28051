"""One module per revision of the schema, each of them immutable once released."""
