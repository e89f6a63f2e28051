"""Between the wire's messages and the records: shape only, one module for each .proto file."""
