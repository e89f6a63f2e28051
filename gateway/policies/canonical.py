"""A policy's canonical form and the name that follows from it."""

import hashlib

import rfc8785
from google.protobuf.json_format import MessageToDict, Parse, ParseError

from muniment.v1.policy_pb2 import Policy


def canonical_form(policy: Policy) -> bytes:
    """RFC 8785 JSON of the fields that are explicitly set, by the proto's names: the same policy gives the same bytes.

    64-bit integers do not occur in policies; JSON's numbers hold all others exactly.
    """
    return rfc8785.dumps(MessageToDict(policy, preserving_proto_field_name=True))


def digest_of(document: bytes) -> str:
    """SHA-256 (hex) of a canonical form, which is the revision's id."""
    return hashlib.sha256(document).hexdigest()


def parse_canonical(document: bytes) -> Policy:
    """The policy of a canonical form. Raises ValueError where this release cannot read it."""
    try:
        return Parse(document, Policy())
    except ParseError:
        raise ValueError("the stored policy has a form that this release does not know") from None
