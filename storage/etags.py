"""Etags: short names of an item's mutable state, equal on every backend."""

import hashlib

from assemblers.records import Fact


def fact_etag(fact: Fact) -> str:
    """The etag of a fact (16 hex digits): it changes with each change of state, and with nothing else."""
    invalidated = fact.invalidated_time.isoformat() if fact.invalidated_time else ""
    state = f"{fact.no} {fact.state} {fact.superseded_by} {invalidated}"
    return hashlib.sha256(state.encode()).hexdigest()[:16]
