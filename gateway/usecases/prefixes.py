"""The use cases of PrefixService: register, read and list the immutable openings of prompts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from assemblers.digests import prefix_digest
from assemblers.prefix_lint import PATTERN_NAMES, Finding, find_dynamic_in_prefix
from assemblers.records import PrefixRevision, ToolDefinition
from gateway.errors import FieldViolation, InvalidArgument, NotFound, Reason
from gateway.usecases.fitting import fitting_page
from storage.ports import Page, PageRequest, PrefixStore, Receipt


@dataclass(frozen=True, slots=True)
class PrefixDraft:
    """A prefix to register. Its tools' definitions are canonical JSON; they stand in the order of the request."""

    tenant_id: str
    prefix_id: str
    text: str
    tools: tuple[ToolDefinition, ...]
    allowed_patterns: tuple[str, ...] = ()


class Prefixes:
    """Prefix revisions over a store."""

    def __init__(self, store: PrefixStore) -> None:
        self._store = store

    async def register(
        self, draft: PrefixDraft, now: datetime, receipt: Receipt[PrefixRevision]
    ) -> PrefixRevision:
        """Store the revision; an equal one is given back as it was stored first."""
        return await self._store.register(check(draft, now), receipt)

    async def get(self, tenant_id: str, prefix_id: str, digest: str) -> PrefixRevision:
        """The revision, the newest for digest "". Raises NotFound."""
        revision = await self._store.find(tenant_id, prefix_id, digest)
        if revision is None:
            raise NotFound
        return revision

    async def list(self, tenant_id: str, prefix_id: str, page: PageRequest) -> Page[PrefixRevision]:
        """A page of revisions, newest first, of at most 1 MiB."""
        return await fitting_page(
            lambda request: self._store.revisions(tenant_id, prefix_id, request), page, _size
        )


def check(draft: PrefixDraft, now: datetime) -> PrefixRevision:
    """The revision that a draft makes, named by the hash of what a provider sees of it.

    Raises InvalidArgument for a prefix that is empty, names a tool twice or an unknown pattern, or looks dynamic.
    """
    _check_shape(draft)
    findings = find_dynamic_in_prefix(draft.text, draft.tools, draft.allowed_patterns)
    if findings:
        raise _dynamic(findings)
    revision = PrefixRevision(
        tenant_id=draft.tenant_id,
        prefix_id=draft.prefix_id,
        digest="",
        text=draft.text,
        tools=tuple(sorted(draft.tools, key=lambda tool: tool.name)),
        create_time=now,
        allowed_patterns=draft.allowed_patterns,
    )
    return replace(revision, digest=prefix_digest(revision))


def _check_shape(draft: PrefixDraft) -> None:
    if not draft.text and not draft.tools:
        raise InvalidArgument.of("text", "is empty and there are no tools: send a system text, tools or both")
    seen: set[str] = set()
    for index, tool in enumerate(draft.tools):
        if tool.name in seen:
            raise InvalidArgument.of(
                f"tools[{index}].name", f"{tool.name!r} occurs twice: send each tool once"
            )
        seen.add(tool.name)
    for index, name in enumerate(draft.allowed_patterns):
        if name not in PATTERN_NAMES:
            raise InvalidArgument.of(
                f"allowed_patterns[{index}]", f"is not a pattern: use one of {', '.join(PATTERN_NAMES)}"
            )


def _dynamic(findings: Sequence[Finding]) -> InvalidArgument:
    first = findings[0]
    violations = [
        FieldViolation(
            finding.field,
            f"line {finding.line}, column {finding.column}: {finding.snippet!r} looks like {finding.in_words}, which "
            f"would change the prefix from call to call: take it out, or put {finding.pattern!r} into allowed_patterns",
        )
        for finding in findings
    ]
    place = {
        "field": first.field,
        "pattern": first.pattern,
        "offset": str(first.offset),
        "line": str(first.line),
        "column": str(first.column),
        "found": first.snippet,
    }
    return InvalidArgument(violations, Reason.PREFIX_DYNAMIC, place)


def _size(revision: PrefixRevision) -> int:
    texts = (revision.text, *(tool.definition_json for tool in revision.tools))
    return sum(len(text.encode()) for text in texts)
