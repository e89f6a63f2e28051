"""The master key of a data folder: a file in it, made before anything is encrypted under it.

It guards against who sees the database alone, such as a copy or a backup of it. Who has the whole folder has the key as
well; `--master-key-file` keeps it elsewhere.
"""

from pathlib import Path
from typing import Final

from storage.encryption.errors import KeyFileError
from storage.encryption.file_provider import FileKeyProvider
from storage.encryption.key_file import create_key_file

KEY_FILE_NAME: Final = "master.key"


def embedded_provider(folder: Path, in_use: bool) -> FileKeyProvider:
    """The provider on the folder's key file. `in_use`: something is encrypted already; else a missing file is made.

    Raises `KeyFileError` where the file is unusable, cannot be made, or is missing beside a database that needs it.
    """
    path = folder / KEY_FILE_NAME
    if not path.exists():
        if in_use:
            raise KeyFileError(
                "the database is encrypted and master.key is missing beside it: put it back, "
                "or name the file with --master-key-file"
            )
        create_key_file(path)
    return FileKeyProvider(path)
