"""Faults: traffic through real gateways while a store is stopped, killed, slowed, filled or refused, and a checker."""
