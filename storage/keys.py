"""The one builder of cache and index keys: length-prefixed parts, so that two different lists never give one key.

Joining ids with a separator lets `a:b` + `c` meet `a` + `b:c`; a length in front of each part cannot be forged by
what the part says.
"""

from assemblers.records import SessionRef, UserRef


def build_key(*parts: str) -> bytes:
    """The key of these parts in this order: each as its length in bytes, a colon, and its UTF-8 bytes."""
    key = "".join([f"{len(part)}:{part}" for part in parts])
    if key.isascii():
        return key.encode()
    encoded = [part.encode() for part in parts]
    return b"".join(b"%d:%b" % (len(part), part) for part in encoded)


def user_key(space: str, user: UserRef) -> bytes:
    """A user's key within a space, which names what is kept under it."""
    return build_key(space, user.tenant_id, user.user_id)


def session_key(space: str, session: SessionRef) -> bytes:
    """A session's key within a space, which names what is kept under it."""
    return build_key(space, session.tenant_id, session.user_id, session.session_id)
