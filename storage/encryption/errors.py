"""What can go wrong with keys, as types. No path and no key is ever in them."""

from storage.errors import StorageDamaged, StorageError, StorageUnavailable


class KeyFileError(StorageError):
    """The file of master keys cannot be used: it is not there, not private, or not in its form."""


class KeyFileExists(KeyFileError):
    """There is a file already where a new one was to be made."""


class MasterKeyError(StorageUnavailable):
    """A master key that is needed cannot be used. At start this refuses the start; later the call."""


class MasterKeyMissing(MasterKeyError):
    """Something is wrapped by a master key that the provider does not have. `master_key_id` says which."""

    def __init__(self, master_key_id: str) -> None:
        self.master_key_id = master_key_id
        super().__init__(
            f"the data is encrypted under master key {master_key_id}, which is not there; provide it"
        )


class MasterKeyWrong(MasterKeyError):
    """The provider's key of this id is another one than the data was encrypted under."""

    def __init__(self, master_key_id: str) -> None:
        self.master_key_id = master_key_id
        super().__init__(
            f"master key {master_key_id} is not the one that the data is encrypted under; provide that one"
        )


class MasterKeyInUse(StorageError):
    """Tenant keys are still wrapped by a master key that was to be removed."""

    def __init__(self, master_key_id: str) -> None:
        self.master_key_id = master_key_id
        super().__init__(f"tenant keys are still wrapped by master key {master_key_id}; rotate first")


class UnknownKey(StorageDamaged):
    """Something is sealed under a version of a key that is not among its owner's."""
