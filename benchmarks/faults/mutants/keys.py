"""Keys of caches that let two people meet. Nothing of the gateway may be imported before these are called."""

import storage.keys
from assemblers.records import SessionRef, UserRef


def join_with_colons() -> None:
    """`a:b` + `c` and `a` + `b:c` become one key."""

    def build_key(*parts: str) -> bytes:
        return ":".join(parts).encode()

    storage.keys.build_key = build_key


def drop_the_tenant() -> None:
    """Users of one name become one, whatever their tenants."""
    build_key = storage.keys.build_key

    def user_key(space: str, user: UserRef) -> bytes:
        return build_key(space, user.user_id)

    def session_key(space: str, session: SessionRef) -> bytes:
        return build_key(space, session.user_id, session.session_id)

    storage.keys.user_key = user_key
    storage.keys.session_key = session_key
