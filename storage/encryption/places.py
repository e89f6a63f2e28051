"""Where sealed things belong: the associated data that ties a ciphertext to its column, owner and row.

Each place is a list of length-prefixed parts (`storage.keys`), so that no two places can read as the same bytes.
"""

from functools import cache
from typing import Final

from assemblers.records import UserRef
from storage.keys import build_key

MASTER_PROOF: Final = build_key("master_keys.proof")
"""What is wrapped once by each master key, to be known again by it."""

FACT_CONTENT: Final = "facts.content"
FACT_SALT: Final = "facts.salt"
EXCERPT_CONTENT: Final = "excerpts.content"
EXCERPT_SALT: Final = "excerpts.salt"
POSTING_TERMS: Final = "postings.terms"
TURN_CONTENT: Final = "turns.content"
TRACE_CONTENT: Final = "traces.content"
REQUEST_BODY: Final = "requests.body"
RECEIPT_RESPONSE: Final = "receipts.response"


def row_place(column: str, user: UserRef, *identity: str) -> bytes:
    """The place of a column (`table.column`) of a user's row. `identity` tells the row from the user's others.

    A receipt of the tenant's has the user id "", which no user has.
    """
    return column_place(column) + owner_place(user) + build_key(*identity)


@cache
def column_place(column: str) -> bytes:
    """The part of a place that says which column it is; there are a dozen."""
    return build_key(column)


def owner_place(user: UserRef) -> bytes:
    """The part of a place that says whose row it is. Parts have their lengths, so places are put together of them."""
    return build_key(user.tenant_id, user.user_id)


def tenant_key_place(tenant_id: str, key_no: int) -> bytes:
    """The place of a tenant's wrapped key."""
    return build_key("tenant_keys.wrapped", tenant_id, str(key_no))


def user_key_place(user: UserRef, key_no: int) -> bytes:
    """The place of a user's wrapped key."""
    return build_key("user_keys.wrapped", user.tenant_id, user.user_id, str(key_no))
