"""What people type for a resource, as the resource's name: ids, numbers, the beginning of a digest, `last`."""

import re

from assemblers.records import UserRef
from gateway import names
from gateway.cli.exits import ExitCode
from gateway.cli.options import Who
from gateway.cli.run.output import fail
from gateway.cli.show.prompt import SESSION_ITEM, SESSION_SHOWN
from gateway.client import Client
from muniment.v1.policy_service_pb2 import ListPolicyRevisionsRequest
from muniment.v1.trace_pb2 import ListTracesRequest

_TRACE_ID = re.compile(r"[0-9a-f]{32}")
_NUMBERED = re.compile(r"(?:(?:facts?|excerpts?)/)?([1-9][0-9]{0,17})")
_MOST_REVISIONS = 500


def trace_name(client: Client, reference: str, who: Who) -> str:
    """A trace by its name, its id, or `last`."""
    if reference != "last" and not _TRACE_ID.fullmatch(reference):
        return reference
    if not who.tenant:
        fail(
            f"--tenant is needed to find the trace {reference!r}: give it, or the trace's full name",
            ExitCode.USAGE,
        )
    if reference != "last":
        return names.trace_name(who.tenant, reference)
    request = ListTracesRequest(tenant_id=who.tenant, user_id=who.user, page_size=1)
    traces = client.call(client.traces.ListTraces, request).traces
    if not traces:
        fail(
            "there is no trace yet: assemble a prompt first, or name another tenant or user",
            ExitCode.NOT_FOUND,
        )
    return traces[0].name


def item_id(reference: str) -> str:
    """An item by its id, or by what stands left of its lines."""
    if reference.startswith(SESSION_SHOWN):
        return SESSION_ITEM + reference.removeprefix(SESSION_SHOWN)
    return reference


def fact_name(reference: str, who: Who) -> str:
    """A fact by its name, `fact/12` or `12`."""
    return (
        names.fact_name(UserRef(who.tenant, who.user), _number(reference)) if _short(reference) else reference
    )


def excerpt_name(reference: str, who: Who) -> str:
    """An excerpt by its name, `excerpt/345` or `345`."""
    return (
        names.excerpt_name(UserRef(who.tenant, who.user), _number(reference))
        if _short(reference)
        else reference
    )


def _short(reference: str) -> bool:
    return _NUMBERED.fullmatch(reference) is not None


def _number(reference: str) -> int:
    return int(reference.rpartition("/")[2])


def need(who: Who) -> Who:
    """The same, or the end of the command where tenant or user is missing for a short reference."""
    if not who.tenant or not who.user:
        fail("--tenant and --user are needed for a short name: give them, or the full name", ExitCode.USAGE)
    return who


def policy_name(reference: str, tenant: str) -> str:
    """A policy by its name or id."""
    if reference.startswith(("tenants/", "policies/")):
        return reference
    if not tenant:
        fail(
            f"--tenant is needed to find the policy {reference!r}: give it, or the full name", ExitCode.USAGE
        )
    return names.policy_name(tenant, reference)


def revision_name(client: Client, reference: str, tenant: str) -> str:
    """A policy revision by its name, by `ID@DIGEST` with the first digits of the digest, or by id: the newest."""
    if "/revisions/" in reference:
        return reference
    policy, _, digest = reference.partition("@")
    request = ListPolicyRevisionsRequest(policy=policy_name(policy, tenant), page_size=_MOST_REVISIONS)
    revisions = client.call(client.policies.ListPolicyRevisions, request).revisions
    found = [revision.name for revision in revisions if revision.sha256.startswith(digest)]
    if not found:
        fail(
            f"no revision fits {reference!r}: `muniment policy revisions` lists those there are",
            ExitCode.NOT_FOUND,
        )
    if digest and len(found) > 1:
        fail(f"{len(found)} revisions fit {reference!r}: give more digits", ExitCode.USAGE)
    return found[0]


def prefix_name(reference: str, tenant: str) -> str:
    """A prefix by its name or id."""
    if reference.startswith("tenants/"):
        return reference
    if not tenant:
        fail(
            f"--tenant is needed to find the prefix {reference!r}: give it, or the full name", ExitCode.USAGE
        )
    return names.prefix_name(tenant, reference)
