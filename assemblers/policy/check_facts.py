"""Checks of what may outlive a session: the allowlist of keys and the times to live."""

from collections.abc import Sequence
from datetime import timedelta

from assemblers.policy.diagnostics import (
    Diagnostics,
    check_id,
    check_lookalikes,
    check_unique,
    check_values,
    error,
    warning,
)
from assemblers.policy.model import FactKey, Policy
from assemblers.records import SectionKind, ValueType

VALUE_CHARACTERS = 200


def check_facts(policy: Policy) -> Diagnostics:
    """All findings on `facts`."""
    keys = policy.facts.allowlist
    names = [key.key for key in keys]
    yield from check_unique("facts.key_duplicate", "facts.allowlist[{}].key", names, "key")
    yield from check_lookalikes("facts.key_lookalike", "facts.allowlist[{}].key", names, "key")
    for index, key in enumerate(keys):
        yield from _check_key(key, f"facts.allowlist[{index}]")
    for kind, ttl in policy.facts.ttl.items():
        yield from _check_ttl(ttl, f"facts.ttl.{kind.lower()}")
    yield from _check_shown(policy, keys)


def _check_shown(policy: Policy, keys: Sequence[FactKey]) -> Diagnostics:
    section = policy.section(SectionKind.FACTS)
    if section and not keys:
        place = f"sections[{policy.sections.index(section)}]"
        yield warning(
            "facts.no_keys", place, "no key is on the allowlist: there will be no facts", "add keys"
        )
    if keys and not section:
        problem = "there is no FACTS section: facts would be kept and never shown"
        yield warning("facts.not_shown", "facts.allowlist", problem, "add `- facts: {}` to the sections")


def _check_key(key: FactKey, path: str) -> Diagnostics:
    yield from check_id("facts.key", f"{path}.key", key.key)
    if not key.purpose.strip():
        problem = f"the key {key.key!r} has no purpose"
        yield error(
            "facts.purpose", f"{path}.purpose", problem, "say which measured gap it fills, or take it out"
        )
    if key.values and key.type is not ValueType.TEXT:
        problem = f"values are listed for a key of type {key.type}"
        yield error("facts.values_type", f"{path}.values", problem, "use type TEXT, or leave the values out")
    yield from check_values("facts.values", f"{path}.values[{{}}]", key.values, VALUE_CHARACTERS)
    if key.ttl is not None:
        yield from _check_ttl(key.ttl, f"{path}.ttl")


def _check_ttl(ttl: timedelta, path: str) -> Diagnostics:
    if ttl <= timedelta(0):
        yield error("facts.ttl", path, "a time to live is above zero", "write a duration such as 90d")
