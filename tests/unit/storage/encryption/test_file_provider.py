"""Wrapping by the file's first key, unwrapping by any of them, and following a file that changes."""

from pathlib import Path

import pytest

from storage.encryption import FileKeyProvider, MasterKeyMissing, MasterKeyWrong, Wrapped, create_key_file
from storage.encryption.key_file import add_master_key, read_key_file

KEY = bytes(range(32))
PLACE = b"tenant_keys"


async def test_what_it_wraps_it_unwraps(provider: FileKeyProvider):
    wrapped = await provider.wrap(KEY, PLACE)
    assert wrapped.master_key_id == await provider.current()
    assert KEY not in wrapped.wrapped
    assert await provider.unwrap(wrapped, PLACE) == KEY


async def test_it_does_not_unwrap_in_another_place(provider: FileKeyProvider):
    with pytest.raises(MasterKeyWrong):
        await provider.unwrap(await provider.wrap(KEY, PLACE), PLACE + b"2")


@pytest.mark.parametrize("cut", [0, 5, 12, 30])
async def test_what_was_cut_does_not_unwrap(provider: FileKeyProvider, cut: int):
    wrapped = await provider.wrap(KEY, PLACE)
    with pytest.raises(MasterKeyWrong):
        await provider.unwrap(Wrapped(wrapped.master_key_id, wrapped.wrapped[:cut]), PLACE)


async def test_an_unknown_id_is_named(provider: FileKeyProvider):
    with pytest.raises(MasterKeyMissing, match="mk-elsewhere") as raised:
        await provider.unwrap(Wrapped("mk-elsewhere", bytes(60)), PLACE)
    assert raised.value.master_key_id == "mk-elsewhere"


async def test_another_key_under_the_same_id_is_a_wrong_one(provider: FileKeyProvider, tmp_path: Path):
    wrapped = await provider.wrap(KEY, PLACE)
    other = tmp_path / "other.key"
    create_key_file(other)
    own_id = read_key_file(other)[0].key_id
    other.write_text(other.read_text().replace(own_id, wrapped.master_key_id))
    with pytest.raises(MasterKeyWrong, match=wrapped.master_key_id):
        await FileKeyProvider(other).unwrap(wrapped, PLACE)


async def test_a_rotated_file_is_followed_by_whoever_holds_it_open(provider: FileKeyProvider, key_file: Path):
    old = await provider.wrap(KEY, PLACE)
    new = add_master_key(key_file)
    assert await provider.current() == new.key_id
    assert (await provider.wrap(KEY, PLACE)).master_key_id == new.key_id
    assert await provider.unwrap(old, PLACE) == KEY


async def test_what_another_process_wrapped_by_a_new_key_is_unwrapped(
    provider: FileKeyProvider, key_file: Path
):
    add_master_key(key_file)
    wrapped = await FileKeyProvider(key_file).wrap(KEY, PLACE)
    assert await provider.unwrap(wrapped, PLACE) == KEY


async def test_a_file_that_became_unusable_leaves_what_was_read_in_force(
    provider: FileKeyProvider, key_file: Path
):
    wrapped = await provider.wrap(KEY, PLACE)
    for change in (lambda: key_file.write_text("broken"), key_file.unlink):
        change()
        assert await provider.unwrap(wrapped, PLACE) == KEY
        assert (await provider.wrap(KEY, PLACE)).master_key_id == wrapped.master_key_id
