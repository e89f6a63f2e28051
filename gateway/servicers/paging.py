"""The pager of a List request."""

from google.protobuf.message import Message

from gateway.paging import Pager

_PAGE_FIELDS = ("page_size", "page_token")


def pager_for(request: Message) -> Pager:
    """The pager of a request: its tokens hold for this type of request with these arguments."""
    arguments = type(request)()
    arguments.CopyFrom(request)
    for field in _PAGE_FIELDS:
        arguments.ClearField(field)
    return Pager(request.DESCRIPTOR.full_name, arguments.SerializeToString(deterministic=True))
