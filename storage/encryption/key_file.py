"""The file of master keys: text, one key in a line, the first is current.

    # comment
    mk-9f86d081884c7d65 q1Yh...44 characters of base64...=

A line is the key's id, a space, and 32 random bytes in base64; then `spare` for a key that is not used yet, until a
rotation makes it the current one. Blank lines and lines that begin with `#` say nothing,
and are not kept when the file is written anew. The file must be a plain one that nobody but its owner can read (mode
0600 or 0400). It is replaced as a whole: whoever reads it finds the old one or the new one. Changes by several
processes come one after another, by a lock on the folder.
"""

import fcntl
import os
import re
import secrets
import stat
import tempfile
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from storage.encryption.data_key import KEY_BYTES, new_secret
from storage.encryption.errors import KeyFileError, KeyFileExists

_HEADER: Final = (
    "# Master keys of Muniment; the first one is current. Whoever has this file can read the data, and without\n"
    "# it nobody can: keep a copy of it, and keep it apart from the backups of the data.\n"
)
_ID: Final = re.compile(r"[A-Za-z0-9._:/-]{1,128}")
_SPARE: Final = " spare"
_MAX_BYTES: Final = 2**20


@dataclass(frozen=True, slots=True)
class MasterKey:
    """A key with its id. `spare`: nothing was wrapped by it yet."""

    key_id: str
    secret: bytes = field(repr=False)
    spare: bool = False


def new_master_key(spare: bool = False) -> MasterKey:
    """A fresh random key under a fresh id."""
    return MasterKey(f"mk-{secrets.token_hex(8)}", new_secret(), spare)


def create_key_file(path: Path) -> MasterKey:
    """Make a file with one key. Raises `KeyFileExists`, and leaves the file that is there as it is."""
    key = new_master_key()
    with _writing(), _temporary(path, (key,)) as temporary:
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise KeyFileExists("the file exists; choose another name") from None
        _sync_folder(path.parent)
    return key


def read_key_file(path: Path) -> tuple[MasterKey, ...]:
    """The keys in their order. Raises `KeyFileError` where the file is missing, not private, or malformed."""
    try:
        with path.open("rb") as file:
            _require_private(os.fstat(file.fileno()))
            text = file.read(_MAX_BYTES)
    except FileNotFoundError:
        raise KeyFileError("the master key file is not there; make one with `muniment keys create`") from None
    except OSError as error:
        raise KeyFileError("the master key file cannot be read") from error
    return _parse(text)


def add_master_key(path: Path) -> MasterKey:
    """Make a new key the current one; it is durable on return."""
    key = new_master_key()
    _change(path, lambda keys: (key, *keys))
    return key


def add_spare_key(path: Path) -> MasterKey:
    """Add a new key behind the others, for a rotation to come; it is durable on return."""
    key = new_master_key(spare=True)
    _change(path, lambda keys: (*keys, key))
    return key


def make_current(path: Path, key_id: str) -> None:
    """Put a key of the file first; it is no spare one any more."""

    def reordered(keys: tuple[MasterKey, ...]) -> Sequence[MasterKey]:
        chosen = [replace(key, spare=False) for key in keys if key.key_id == key_id]
        return chosen + [key for key in keys if key.key_id != key_id]

    _change(path, reordered)


def remove_master_keys(path: Path, key_ids: frozenset[str]) -> None:
    """Take keys out. Raises `KeyFileError` for the current one."""

    def without(keys: tuple[MasterKey, ...]) -> Sequence[MasterKey]:
        if keys[0].key_id in key_ids:
            raise KeyFileError("the current master key cannot be removed; rotate first")
        return [key for key in keys if key.key_id not in key_ids]

    _change(path, without)


def _change(path: Path, changed: Callable[[tuple[MasterKey, ...]], Sequence[MasterKey]]) -> None:
    target = path.resolve()  # a link stays a link
    with _writing(), _locked(target.parent), _temporary(target, changed(read_key_file(target))) as temporary:
        _keep_owner(target, temporary)
        temporary.replace(target)
        _sync_folder(target.parent)


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise KeyFileError("the master key file or its folder cannot be written") from error


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _temporary(path: Path, keys: Sequence[MasterKey]) -> Iterator[Path]:
    """A durable file with these keys in the same folder; it is gone afterwards, unless it was given another name."""
    lines = [_line(key) for key in keys]
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".master-key-")  # mode 0600
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write((_HEADER + "".join(lines)).encode())
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _keep_owner(path: Path, temporary: Path) -> None:
    """An administrator who rotates must not take the file away from the gateway's user."""
    status = path.stat()
    os.chown(temporary, status.st_uid, status.st_gid)
    temporary.chmod(stat.S_IMODE(status.st_mode))


def _line(key: MasterKey) -> str:
    return f"{key.key_id} {b64encode(key.secret).decode()}{_SPARE if key.spare else ''}\n"


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _require_private(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise KeyFileError("the master key file is not a plain file")
    if status.st_mode & 0o077:
        raise KeyFileError("others can read the master key file; run `chmod 600` on it")
    if status.st_uid not in (0, os.geteuid()):
        raise KeyFileError("the master key file belongs to somebody else")


def _parse(text: bytes) -> tuple[MasterKey, ...]:
    keys: dict[str, MasterKey] = {}
    for number, line in enumerate(text.decode("ascii", "replace").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            key = _parse_line(number, line)
            if key.key_id in keys:
                raise KeyFileError(f"line {number} of the master key file: the id stands there twice")
            keys[key.key_id] = key
    found = tuple(keys.values())
    if not found or found[0].spare:
        raise KeyFileError("the master key file has no current key; make one with `muniment keys create`")
    return found


def _parse_line(number: int, line: str) -> MasterKey:
    key_id, _, rest = line.strip().partition(" ")
    encoded = rest.removesuffix(_SPARE)
    try:
        secret = b64decode(encoded, validate=True)
    except ValueError:
        secret = b""
    if not _ID.fullmatch(key_id) or len(secret) != KEY_BYTES:
        raise KeyFileError(f"line {number} of the master key file is not an id and 32 bytes in base64")
    return MasterKey(key_id, secret, spare=encoded != rest)
