"""Tools for working on the repository; nothing of it is installed."""
