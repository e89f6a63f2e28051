"""The command line: the same API as every other client uses, for people and for scripts."""
