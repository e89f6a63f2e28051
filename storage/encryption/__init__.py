"""Encryption at rest: master keys, tenant keys, users' data keys; what is sealed opens in its own place only."""

from storage.encryption.data_key import DataKey
from storage.encryption.errors import (
    KeyFileError,
    MasterKeyError,
    MasterKeyInUse,
    MasterKeyMissing,
    MasterKeyWrong,
    UnknownKey,
)
from storage.encryption.file_provider import FileKeyProvider
from storage.encryption.key_file import create_key_file
from storage.encryption.key_ring import KeyRing
from storage.encryption.providers import KeyProvider, Wrapped

__all__ = [
    "DataKey", "FileKeyProvider", "KeyFileError", "KeyProvider", "KeyRing", "MasterKeyError", "MasterKeyInUse",
    "MasterKeyMissing", "MasterKeyWrong", "UnknownKey", "Wrapped", "create_key_file",
]  # fmt: skip
