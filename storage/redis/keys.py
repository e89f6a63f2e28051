"""Names of Redis keys: a hash tag, then the parts with their lengths from the one builder of keys.

The tag is a digest, so that no brace in an id can move a key to another slot; it comes first, because a cluster takes
the first pair of braces. Keys with equal tags lie on one server.
"""

from functools import lru_cache
from hashlib import blake2b

from assemblers.records import SessionRef, UserRef
from storage.keys import build_key


def session_name(space: str, session: SessionRef) -> bytes:
    """A session's key within a space; all keys of the session have one tag."""
    return _name(space, session.tenant_id, session.user_id, session.session_id)


def user_name(space: str, user: UserRef) -> bytes:
    """A user's key within a space; all keys of the user have one tag."""
    return _name(space, user.tenant_id, user.user_id)


def tenant_name(space: str, tenant_id: str) -> bytes:
    """A tenant's key within a space."""
    return _name(space, tenant_id)


def request_name(space: str, user: UserRef, method: str, request_id: str) -> bytes:
    """The key of one of a user's requests within a space."""
    return _name(space, user.tenant_id, user.user_id, method, request_id)


# Most calls are for the sessions and users of the calls just before.
@lru_cache(maxsize=16_384)
def _name(space: str, *parts: str) -> bytes:
    tag = blake2b(build_key(*parts), digest_size=8).hexdigest()
    return b"muniment:{%b}:%b" % (tag.encode(), build_key(space, *parts))
