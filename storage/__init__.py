"""Ports and adapters for everything that is kept."""
