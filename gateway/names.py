"""Resource names: how they are built and read. Ids in them are percent-encoded, since an id may hold a slash.

Reading accepts any character of an id as itself or percent-encoded, except the slash, and refuses everything
else with the form that was expected. Whether the thing exists is not asked here.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, unquote

from assemblers.records import UserRef
from gateway.errors import InvalidArgument

_ID = re.compile(r"[A-Za-z0-9._:@|+=/-]{1,128}")
# Eighteen digits: the numbers of all backends are 64-bit integers.
_NUMBER = re.compile(r"[1-9][0-9]{0,17}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_TRACE_ID = re.compile(r"[0-9a-f]{32}")

_FACT = "tenants/{t}/users/{u}/facts/{n}"
_EXCERPT = "tenants/{t}/users/{u}/excerpts/{n}"
_TRACE = "tenants/{t}/traces/{id}"
_PREFIX = "tenants/{t}/prefixes/{p}"
_POLICY = "tenants/{t}/policies/{p}"
_BUILT_IN = "policies/{p}"
_REVISION = "/revisions/{sha256}"

_POLICY_FORMS = (_POLICY + _REVISION, _BUILT_IN + _REVISION, _POLICY, _BUILT_IN)

_RULES = {"n": _NUMBER, "sha256": _SHA256, "id": _TRACE_ID}


@dataclass(frozen=True, slots=True)
class NumberedName:
    """A fact or an excerpt: its number within its user."""

    user: UserRef
    no: int


@dataclass(frozen=True, slots=True)
class TraceName:
    """A trace. The id is 32 hex digits."""

    tenant_id: str
    trace_id: str


@dataclass(frozen=True, slots=True)
class PrefixName:
    """A prefix, or with a `digest` (SHA-256, hex) one revision of it."""

    tenant_id: str
    prefix_id: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class PolicyName:
    """A policy, or with a `digest` (SHA-256, hex) one revision of it. Built-ins have an empty tenant."""

    tenant_id: str
    policy_id: str
    digest: str = ""


def fact_name(user: UserRef, no: int) -> str:
    """`tenants/{t}/users/{u}/facts/{n}`."""
    return f"{user_name(user)}/facts/{no}"


def excerpt_name(user: UserRef, no: int) -> str:
    """`tenants/{t}/users/{u}/excerpts/{n}`."""
    return f"{user_name(user)}/excerpts/{no}"


def user_name(user: UserRef) -> str:
    """`tenants/{t}/users/{u}`."""
    return f"tenants/{_encode(user.tenant_id)}/users/{_encode(user.user_id)}"


def trace_name(tenant_id: str, trace_id: str) -> str:
    """`tenants/{t}/traces/{id}`."""
    return f"tenants/{_encode(tenant_id)}/traces/{trace_id}"


def prefix_name(tenant_id: str, prefix_id: str, digest: str = "") -> str:
    """`tenants/{t}/prefixes/{p}`, with a digest followed by `/revisions/{sha256}`."""
    return f"tenants/{_encode(tenant_id)}/prefixes/{_encode(prefix_id)}{_revision(digest)}"


def policy_name(tenant_id: str, policy_id: str, digest: str = "") -> str:
    """`tenants/{t}/policies/{p}`, `policies/{p}` without a tenant; a digest adds `/revisions/{sha256}`."""
    head = f"tenants/{_encode(tenant_id)}/" if tenant_id else ""
    return f"{head}policies/{_encode(policy_id)}{_revision(digest)}"


def parse_fact_name(field: str, name: str) -> NumberedName:
    """The fact that a request's `field` names. Raises InvalidArgument with the form, as all readers here do."""
    return _numbered(field, name, _FACT)


def parse_excerpt_name(field: str, name: str) -> NumberedName:
    """The name of an excerpt."""
    return _numbered(field, name, _EXCERPT)


def parse_trace_name(field: str, name: str) -> TraceName:
    """The name of a trace."""
    return TraceName(*_parse(field, name, _TRACE))


def parse_prefix_name(field: str, name: str) -> PrefixName:
    """The name of a prefix, without a revision."""
    return PrefixName(*_parse(field, name, _PREFIX))


def parse_prefix_revision_name(field: str, name: str) -> PrefixName:
    """The name of a prefix revision, or of a prefix (digest "")."""
    return PrefixName(*_parse(field, name, _PREFIX + _REVISION, _PREFIX))


def parse_policy_name(field: str, name: str) -> PolicyName:
    """The name of a policy without a revision, of a tenant or built in."""
    return _policy(name, _parse(field, name, _POLICY, _BUILT_IN))


def parse_policy_revision_name(field: str, name: str) -> PolicyName:
    """The name of a policy revision or of a policy (digest ""), of a tenant or built in."""
    return _policy(name, _parse(field, name, *_POLICY_FORMS))


def parse_policy_reference(field: str, reference: str, tenant_id: str) -> PolicyName:
    """The policy that a call names: by resource name, or by the id of one of the tenant's policies."""
    if _ID.fullmatch(reference) and not reference.startswith(("tenants/", "policies/")):
        return PolicyName(tenant_id, reference)
    return parse_policy_revision_name(field, reference)


def _policy(name: str, ids: list[str]) -> PolicyName:
    return PolicyName(*ids) if name.startswith("tenants/") else PolicyName("", *ids)


def _numbered(field: str, name: str, form: str) -> NumberedName:
    tenant_id, user_id, number = _parse(field, name, form)
    return NumberedName(UserRef(tenant_id, user_id), int(number))


def _parse(field: str, name: str, *forms: str) -> list[str]:
    """The ids in the name, by the first form that fits."""
    segments = name.split("/")
    for form in forms:
        ids = _match(segments, form.split("/"))
        if ids is not None:
            return ids
    wanted = " or ".join(forms)
    raise InvalidArgument.of(field, f"is not a name of this kind: write {wanted}, ids percent-encoded")


def _match(segments: list[str], form: list[str]) -> list[str] | None:
    if len(segments) != len(form):
        return None
    ids = []
    for segment, expected in zip(segments, form, strict=True):
        if expected.startswith("{"):
            value = unquote(segment)
            if not _RULES.get(expected[1:-1], _ID).fullmatch(value):
                return None
            ids.append(value)
        elif segment != expected:
            return None
    return ids


def _revision(digest: str) -> str:
    return f"/revisions/{digest}" if digest else ""


# Few ids come with most calls.
@lru_cache(maxsize=4096)
def _encode(value: str) -> str:
    return quote(value, safe="")
