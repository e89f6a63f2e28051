"""Turns bytes into a request that keeps every rule of the contract, or says in one answer all that is wrong."""

import protovalidate
from google.protobuf.descriptor import Descriptor
from google.protobuf.internal import api_implementation
from google.protobuf.message import DecodeError, Message

from gateway.errors import InvalidArgument, MalformedRequest
from gateway.remedies import field_violation
from gateway.server.call import Call, Handler, Method
from gateway.server.content_rules import content_violations, holds_nul
from gateway.server.plain_requests import plain


class UnsafeProtobufError(RuntimeError):
    """The protobuf runtime is the pure Python one, which does not bound recursion."""


def assert_safe_protobuf() -> None:
    """Refuse to run on protobuf's pure Python backend: only the C one (upb) stops at a depth of 100."""
    backend = api_implementation.Type()
    if backend != "upb":
        raise UnsafeProtobufError(
            f"protobuf runs on its {backend} backend: unset PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION and install a "
            "protobuf wheel with the upb backend"
        )


_validator = protovalidate.Validator()
"""One for all methods: it keeps the compiled rules."""


def validation(method: Method, following: Handler) -> Handler:
    """Decode and check, then go on."""
    decode, descriptor = method.request_class.FromString, method.descriptor
    is_plain = plain(descriptor, _validator)

    async def validate(call: Call) -> bytes:
        try:
            request = decode(call.body)
        except DecodeError:
            raise MalformedRequest from None
        # A string with NUL has a zero byte in its encoding, so most requests are cleared by one scan of the bytes.
        if b"\x00" in call.body and holds_nul(request):
            raise MalformedRequest
        if not is_plain(request):
            check(descriptor, request)
        call.request = request
        return await following(call)

    return validate


def check(descriptor: Descriptor, request: Message) -> None:
    """Raise `InvalidArgument` unless every rule holds."""
    violations = [field_violation(descriptor, v) for v in _validator.collect_violations(request)]
    broken = {violation.field for violation in violations}
    violations += (v for v in content_violations(request) if v.field not in broken)
    if violations:
        raise InvalidArgument(violations)


def warm(request_class: type[Message]) -> None:
    """Compile the rules of a type before the first call needs them."""
    _validator.collect_violations(request_class())
    content_violations(request_class())
