"""The audit trail of an assembly: what is recorded, how it is replayed, how it explains presence and absence.

A trace has two sides. The *record* (`TraceRecord`) holds no content: figures, decisions, names of revisions,
keyed pseudonyms and salted digests; the ledger chains its bytes. The *content* (`TraceContent`) holds texts
and the salt, lies beside the chain and can be erased without breaking it.
"""
