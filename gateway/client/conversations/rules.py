"""Holds a message against the contract's own annotations, so that the server's rules are known before it is asked."""

from typing import cast

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from protovalidate import Validator

from gateway.client.conversations.fields import Fields
from gateway.remedies import field_violation

_validator = Validator()


def check(message: Message, fields: Fields, renamed: dict[str, str] | None = None) -> None:
    """Refuse the first field of the message that breaks its rule; `renamed` maps proto fields to those of the line."""
    for violation in _validator.collect_violations(message):
        problem = field_violation(cast("Descriptor", message.DESCRIPTOR), violation)
        head, dot, rest = problem.field.partition(".")
        fields.refuse((renamed or {}).get(head, head) + dot + rest, problem.description)
