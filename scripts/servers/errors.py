"""What can go wrong with a server of ours."""


class ServerError(RuntimeError):
    """A server cannot be found, started or reached; the text names the remedy."""
