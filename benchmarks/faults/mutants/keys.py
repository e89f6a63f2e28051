"""Keys of caches that let two people meet. Nothing of the gateway may be imported before these are called.

The places that ciphertexts are tied to are left alone: a database that a mutant has written must serve others after it.
"""

import storage.keys
from assemblers.records import SessionRef, UserRef


def join_with_colons() -> None:
    """`a:b` + `c` and `a` + `b:c` become one key."""

    def build_key(*parts: str) -> bytes:
        return ":".join(parts).encode()

    def session_key(space: str, session: SessionRef) -> bytes:
        return build_key(space, session.tenant_id, session.user_id, session.session_id)

    storage.keys.session_key = session_key

    from storage.redis import (
        keys,
    )  # it binds what is patched above, and has a name of its own for the builder

    keys.build_key = build_key  # type: ignore[attr-defined]  # a name that it has by its import


def drop_the_tenant() -> None:
    """Users of one name become one, whatever their tenants."""
    build_key = storage.keys.build_key

    def user_key(space: str, user: UserRef) -> bytes:
        return build_key(space, user.user_id)

    def session_key(space: str, session: SessionRef) -> bytes:
        return build_key(space, session.user_id, session.session_id)

    storage.keys.user_key = user_key
    storage.keys.session_key = session_key

    from storage.redis import keys  # as above

    name = keys._name

    def without_tenant(space: str, tenant_id: str, *parts: str) -> bytes:
        return name(space, *parts) if parts else name(space, tenant_id)

    keys._name = without_tenant  # type: ignore[assignment]  # takes what it is called with
