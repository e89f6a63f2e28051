"""Finds the tenant that a request names and holds it against the caller's."""

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from gateway.errors import NotFound
from gateway.server.call import Call, Handler, Method

# Where a request names its tenant, the surest place first. Resource names begin with `tenants/{t}/`.
_HOLDERS = ("session", "user", "request")
_NAMES = ("name", "trace", "prefix", "policy")

# Requests have different types; each finder is made from the descriptor of the type it is given.
Finder = Callable[[Any], str]


def tenancy(method: Method, following: Handler) -> Handler:
    """Set the call's tenant and refuse another's.

    A foreign `tenant_id` is PERMISSION_DENIED, a foreign resource name NOT_FOUND.
    """
    descriptor = method.descriptor
    by_id = _id_finder(descriptor)
    find = by_id or _name_finder(descriptor)
    if find is None:
        return following

    async def admit(call: Call) -> bytes:
        call.tenant_id = tenant_id = find(call.request)
        principal = call.principal
        if principal is not None and principal.tenant_id is not None and tenant_id:
            if by_id is None and principal.tenant_id != tenant_id:
                raise NotFound
            principal.admit(tenant_id)
        return await following(call)

    return admit


def _id_finder(descriptor: Descriptor) -> Finder | None:
    if "tenant_id" in descriptor.fields_by_name:
        return lambda request: str(request.tenant_id)
    for holder in _HOLDERS:
        field = descriptor.fields_by_name.get(holder)
        below = (
            _id_finder(field.message_type) if field is not None and field.message_type is not None else None
        )
        if below is not None:
            return _through(holder, below)
    return None


def _through(holder: str, below: Finder) -> Finder:
    return lambda request: below(getattr(request, holder))


def _name_finder(descriptor: Descriptor) -> Finder | None:
    name = next((n for n in _NAMES if n in descriptor.fields_by_name), None)
    return None if name is None else lambda request: _tenant_of(getattr(request, name))


def _tenant_of(resource_name: str | Message) -> str:
    """The tenant of a resource name; empty for names without one, such as `policies/memory`."""
    parts = resource_name.split("/", 2) if isinstance(resource_name, str) else []
    return unquote(parts[1]) if len(parts) > 1 and parts[0] == "tenants" else ""
