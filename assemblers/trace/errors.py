"""What can go wrong with a trace, as types that name the thing and the remedy."""

from __future__ import annotations


class TraceError(Exception):
    """The root of all errors about traces."""


class MalformedTrace(TraceError):
    """Bytes that are not a trace of a known format. `what` names the wrong part, never its content."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"the trace cannot be read: {what}")


class ContentErased(TraceError):
    """Something that the trace needs is gone for good. `item` names it: `fact/5`, or `content` for all."""

    def __init__(self, item: str) -> None:
        self.item = item
        super().__init__(f"{item} was erased: the trace proves that it was there, and cannot show it again")


class UnknownRenderer(TraceError):
    """The trace was rendered by a version that this release does not carry."""

    def __init__(self, version: int) -> None:
        self.version = version
        super().__init__(f"renderer {version} is not in this release: replay with the release of the trace")


class WrongSurroundings(TraceError):
    """What was looked up for a replay is not what the record names. `field` says which, with both names."""

    def __init__(self, field: str, recorded: str, given: str) -> None:
        self.field, self.recorded, self.given = field, recorded, given
        super().__init__(f"{field}: the trace names {recorded!r}, not {given!r}; look it up by that name")


class NotInPrompt(TraceError):
    """The item is not in this prompt, so that there is nothing to explain."""

    def __init__(self, item: str) -> None:
        self.item = item
        super().__init__(f"{item} is not among this prompt's items: ask why it is absent instead")
