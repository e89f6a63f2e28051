"""Real servers from wheels: Postgres with pgvector, Valkey, a Redis Cluster of three nodes.

For tests, benchmarks and `make serve-prod-local`; nothing of it is shipped. No container engine, no package of the
system and no root is needed, and root will do.
"""
