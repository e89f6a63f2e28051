"""What is written to Redis says its format, since gateways of two releases may share it for a while."""


class UnknownFormat(ValueError):
    """Bytes of another format than this release writes: they count as not there."""
