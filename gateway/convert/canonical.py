"""JSON texts of the wire in their one canonical spelling (RFC 8785)."""

import rfc8785

from gateway.errors import InvalidArgument
from gateway.server.json_rules import Json, JsonFault, parse_json


def parse(field: str, text: str | bytes) -> Json:
    """The value of a JSON text in a request's `field`. Raises InvalidArgument with the fault's place."""
    try:
        return parse_json(text)
    except JsonFault as fault:
        raise InvalidArgument.of(field, str(fault)) from None


def canonical(value: Json) -> str:
    """The canonical text. Whole numbers stay whole numbers; everything that `parse` lets through has one."""
    return rfc8785.dumps(value).decode()
