"""What the SQL backends share: the schema, its migrations, and the forms of values in columns."""
