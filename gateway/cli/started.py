"""The line by which `muniment serve` says where it serves, for whoever starts it with port 0."""

STARTED = "muniment is serving on "
"""How the line begins; `HOST:PORT` follows."""
