"""Keys for spools without a master key: the wrapped form is a number, and forgetting it destroys the key."""

from dataclasses import dataclass, field
from secrets import token_bytes

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from storage.errors import StorageUnavailable


@dataclass
class Key:
    """AES-256-GCM with a random nonce before the ciphertext."""

    secret: bytes = field(default_factory=lambda: token_bytes(32))

    def seal(self, place: bytes, content: bytes, /) -> bytes:
        nonce = token_bytes(12)
        return nonce + AESGCM(self.secret).encrypt(nonce, content, place)

    def open(self, place: bytes, sealed: bytes, /) -> bytes:
        return AESGCM(self.secret).decrypt(sealed[:12], sealed[12:], place)


@dataclass
class Keys:
    """All keys that were made, by the number in their wrapped form."""

    made: list[Key] = field(default_factory=list)

    async def create(self) -> tuple[Key, bytes]:
        self.made.append(Key())
        return self.made[-1], str(len(self.made) - 1).encode()

    async def unwrap(self, wrapped: bytes, /) -> Key:
        if int(wrapped) >= len(self.made):
            raise StorageUnavailable("no such key")
        return self.made[int(wrapped)]
