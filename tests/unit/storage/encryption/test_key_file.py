"""The file of master keys: its form, who may read it, and that it is never half written."""

import os
import threading
from base64 import b64encode
from dataclasses import replace
from pathlib import Path

import pytest

from storage.encryption import KeyFileError, create_key_file
from storage.encryption.errors import KeyFileExists
from storage.encryption.key_file import (
    add_master_key,
    add_spare_key,
    make_current,
    read_key_file,
    remove_master_keys,
)

ONE = b64encode(bytes(32)).decode()
TWO = b64encode(bytes(range(32))).decode()


def written(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_a_new_file_holds_one_key_and_is_private(tmp_path: Path):
    path = tmp_path / "master.key"
    key = create_key_file(path)
    assert read_key_file(path) == (key,)
    assert path.stat().st_mode & 0o777 == 0o600
    assert names_in(tmp_path) == ["master.key"]


def test_two_new_files_hold_different_keys(tmp_path: Path):
    first, second = (create_key_file(tmp_path / name) for name in "ab")
    assert first.secret != second.secret
    assert first.key_id != second.key_id


def test_an_existing_file_is_not_overwritten(key_file: Path):
    before = key_file.read_bytes()
    with pytest.raises(KeyFileExists, match="exists"):
        create_key_file(key_file)
    assert key_file.read_bytes() == before
    assert names_in(key_file.parent) == [key_file.name]


def test_a_folder_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(KeyFileError, match="folder"):
        create_key_file(tmp_path / "missing" / "master.key")


def test_comments_and_blank_lines_say_nothing_and_the_first_key_leads(tmp_path: Path):
    path = written(tmp_path / "k", f"# a comment\n\nb {TWO}\r\n   \na {ONE}\n")
    assert [key.key_id for key in read_key_file(path)] == ["b", "a"]
    assert read_key_file(path)[0].secret == bytes(range(32))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no current key"),
        ("# only a comment\n", "no current key"),
        (f"a {ONE} spare\n", "no current key"),
        (f"{ONE}\n", "line 1"),
        (f"a {ONE}\nb {ONE[:-4]}\n", "line 2"),
        ("a not-base64!\n", "line 1"),
        (f"a {ONE} more\n", "line 1"),
        (f"ä {ONE}\n", "line 1"),
        (f"a {ONE}\na {TWO}\n", "twice"),
    ],
)
def test_a_malformed_file_is_refused_by_line_and_without_its_words(tmp_path: Path, text: str, told: str):
    with pytest.raises(KeyFileError, match=told) as raised:
        read_key_file(written(tmp_path / "k", text))
    assert ONE not in str(raised.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644, 0o660, 0o700 | 0o001])
def test_a_file_that_others_can_reach_is_refused(key_file: Path, mode: int):
    key_file.chmod(mode)
    with pytest.raises(KeyFileError, match="chmod 600"):
        read_key_file(key_file)


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_private_file_is_taken(key_file: Path, mode: int):
    key_file.chmod(mode)
    assert len(read_key_file(key_file)) == 1


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path):
    with pytest.raises(KeyFileError, match="keys create"):
        read_key_file(tmp_path / "missing")
    with pytest.raises(KeyFileError):
        read_key_file(tmp_path)


def test_a_new_key_leads_and_the_others_stay(key_file: Path):
    (first,) = read_key_file(key_file)
    second = add_master_key(key_file)
    assert read_key_file(key_file) == (second, first)
    assert key_file.stat().st_mode & 0o777 == 0o600


def test_a_key_is_taken_out_but_never_the_current_one(key_file: Path):
    (first,) = read_key_file(key_file)
    second = add_master_key(key_file)
    with pytest.raises(KeyFileError, match="current"):
        remove_master_keys(key_file, frozenset({second.key_id}))
    remove_master_keys(key_file, frozenset({first.key_id}))
    assert read_key_file(key_file) == (second,)


def test_a_spare_key_comes_last_until_it_is_made_current(key_file: Path):
    (first,) = read_key_file(key_file)
    spare = add_spare_key(key_file)
    assert read_key_file(key_file) == (first, spare)
    assert spare.spare
    make_current(key_file, spare.key_id)
    assert read_key_file(key_file) == (replace(spare, spare=False), first)


def test_keys_added_at_the_same_time_are_all_there(key_file: Path):
    added = []
    threads = [threading.Thread(target=lambda: added.append(add_master_key(key_file))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {key.key_id for key in added} < {key.key_id for key in read_key_file(key_file)}
    assert len(read_key_file(key_file)) == 9


def test_a_change_that_fails_before_it_is_durable_leaves_the_old_file(
    key_file: Path, monkeypatch: pytest.MonkeyPatch
):
    before = key_file.read_bytes()

    def fail(_: int) -> None:
        raise OSError("no space")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(KeyFileError, match="cannot be written"):
        add_master_key(key_file)
    assert key_file.read_bytes() == before
    assert names_in(key_file.parent) == [key_file.name]


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_changed_file_keeps_its_owner_and_mode(key_file: Path, mode: int, monkeypatch: pytest.MonkeyPatch):
    """Else an administrator's rotation would lock out the gateway's user."""
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "chown", lambda _, uid, gid: given.append((uid, gid)))
    key_file.chmod(mode)
    owner = key_file.stat()
    add_master_key(key_file)
    assert key_file.stat().st_mode & 0o777 == mode
    assert given == [(owner.st_uid, owner.st_gid)]


def test_a_folder_that_is_not_there_is_told_when_adding(tmp_path: Path):
    with pytest.raises(KeyFileError):
        add_spare_key(tmp_path / "missing" / "master.key")


def test_a_link_to_the_file_stays_a_link(key_file: Path, tmp_path: Path):
    link = tmp_path / "link"
    link.symlink_to(key_file)
    add_master_key(link)
    assert link.is_symlink()
    assert len(read_key_file(key_file)) == 2


def test_a_key_does_not_show_its_secret(key_file: Path):
    (key,) = read_key_file(key_file)
    assert str(key.secret) not in repr(key)
