"""Benchmarks: measured through the gateway's own API, written as rows that say whether a bar holds."""
