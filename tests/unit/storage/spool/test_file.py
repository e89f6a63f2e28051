"""What is on the disk after a crash at any point: everything acknowledged, and nothing else."""

import errno
import os
from pathlib import Path

import pytest

from storage.errors import StorageDamaged, StorageFull, StorageUnavailable
from storage.spool.file import SpoolFile
from storage.spool.frames import HEAD_BYTES, MOST_PAYLOAD_BYTES
from storage.spool.headers import DATA_OFFSET, SLOT_BYTES, Header, encode_header, present_header

SIZE = 64 << 10


def opened(path: Path) -> tuple[SpoolFile, list[bytes]]:
    """The file with what is in it."""
    file = SpoolFile.open(path)
    assert file is not None
    places = file.recover()
    file.allocate(SIZE)
    if file.header is None:
        file.begin(b"key-1")
    return file, [file.read(place) for place in places]


def refilled(path: Path, *payloads: bytes) -> None:
    """Open the file, write the payloads in one go each, and go away."""
    file, _ = opened(path)
    for payload in payloads:
        file.append([payload])
    file.close()


def payloads_of(path: Path) -> list[bytes]:
    file, payloads = opened(path)
    file.close()
    return payloads


def test_records_are_there_after_closing_in_their_order(tmp_path: Path):
    refilled(tmp_path / "s", b"one", b"", b"three")
    assert payloads_of(tmp_path / "s") == [b"one", b"", b"three"]
    refilled(tmp_path / "s", b"four")
    assert payloads_of(tmp_path / "s") == [b"one", b"", b"three", b"four"]


def test_the_room_is_taken_from_the_disk_at_once(tmp_path: Path):
    file, _ = opened(tmp_path / "s")
    assert (tmp_path / "s").stat().st_blocks * 512 >= SIZE
    assert file.capacity == SIZE - DATA_OFFSET
    file.close()


def test_a_smaller_size_keeps_the_records_and_gives_back_the_rest(tmp_path: Path):
    refilled(tmp_path / "s", b"x" * 10_000)
    file = SpoolFile.open(tmp_path / "s")
    assert file is not None
    assert len(file.recover()) == 1
    file.allocate(DATA_OFFSET)
    assert (tmp_path / "s").stat().st_size == DATA_OFFSET + HEAD_BYTES + 10_000
    assert not file.fits(0)
    file.close()


@pytest.mark.parametrize("cut", range(HEAD_BYTES + 6))
def test_a_write_that_was_cut_short_at_any_byte_counts_for_nothing(tmp_path: Path, cut: int):
    path = tmp_path / "s"
    refilled(path, b"first")
    whole = path.read_bytes()
    refilled(path, b"second")
    end = DATA_OFFSET + HEAD_BYTES + len(b"first")
    path.write_bytes(path.read_bytes()[: end + cut] + whole[end + cut :])
    assert payloads_of(path) == [b"first"]


def test_what_follows_a_torn_record_in_one_write_does_not_come_back_behind_another(tmp_path: Path):
    path = tmp_path / "s"
    file, _ = opened(path)
    (torn, _) = file.append([b"torn", b"after"])
    file.close()
    raw = bytearray(path.read_bytes())
    raw[torn.offset] ^= 1
    path.write_bytes(raw)
    # As long as the torn one, so that `after` begins exactly where the next record would.
    refilled(path, b"TORN")
    assert payloads_of(path) == [b"TORN"]


def test_leftovers_of_an_earlier_filling_do_not_count(tmp_path: Path):
    path = tmp_path / "s"
    file, _ = opened(path)
    file.append([b"aaaa", b"bbbb"])
    file.begin(b"key-2")
    assert file.used == 0
    file.append([b"cccc"])
    file.close()
    assert b"bbbb" in path.read_bytes()
    assert payloads_of(path) == [b"cccc"]


@pytest.mark.parametrize("kept", [0, 1, 100, SLOT_BYTES - 1])
def test_a_new_filling_that_was_torn_leaves_the_present_one(tmp_path: Path, kept: int):
    path = tmp_path / "s"
    refilled(path, b"one")
    before = path.read_bytes()
    file, _ = opened(path)
    file.begin(b"key-2" + b"k" * (SLOT_BYTES // 2))
    file.close()
    after = path.read_bytes()
    # Generation 2 lies in the first slot.
    path.write_bytes(after[: min(kept, SLOT_BYTES // 4)] + before[min(kept, SLOT_BYTES // 4) :])
    assert payloads_of(path) == [b"one"]


def test_two_broken_slots_are_damage_and_no_empty_spool():
    first, second = (bytearray(encode_header(Header(number, b"k"))) for number in (2, 1))
    first[20] ^= 1
    assert present_header(bytes(first + second)) == Header(1, b"k")
    second[20] ^= 1
    with pytest.raises(StorageDamaged):
        present_header(bytes(first + second))


def test_the_later_filling_counts():
    slots = encode_header(Header(2, b"two")) + encode_header(Header(3, b"three"))
    assert present_header(slots) == Header(3, b"three")
    assert present_header(bytes(2 * SLOT_BYTES)) is None
    assert present_header(b"") is None


def test_a_length_beyond_all_reason_is_no_record(tmp_path: Path):
    path = tmp_path / "s"
    refilled(path)
    raw = bytearray(path.read_bytes())
    raw[DATA_OFFSET : DATA_OFFSET + 4] = (MOST_PAYLOAD_BYTES + 1).to_bytes(4, "big")
    path.write_bytes(raw)
    assert payloads_of(path) == []


def test_one_process_at_a_time(tmp_path: Path):
    file, _ = opened(tmp_path / "s")
    assert SpoolFile.open(tmp_path / "s") is None
    file.close()
    again = SpoolFile.open(tmp_path / "s")
    assert again is not None
    again.close()


def test_a_record_that_is_cut_off_is_damage(tmp_path: Path):
    file, _ = opened(tmp_path / "s")
    (place,) = file.append([b"x" * 100])
    os.truncate(tmp_path / "s", place.offset + 50)
    with pytest.raises(StorageDamaged):
        file.read(place)
    file.close()


@pytest.mark.parametrize(
    ("number", "kind"),
    [(errno.ENOSPC, StorageFull), (errno.EDQUOT, StorageFull), (errno.EIO, StorageUnavailable)],
)
def test_a_write_that_fails_counts_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[Exception]
):
    file, _ = opened(tmp_path / "s")
    file.append([b"one"])
    with monkeypatch.context() as patched:
        patched.setattr(
            os, "fdatasync", lambda _: (_ for _ in ()).throw(OSError(number, "no", "/secret/path"))
        )
        with pytest.raises(kind) as failed:
            file.append([b"two"])
    assert "secret" not in str(failed.value)
    file.append([b"three"])
    file.close()
    assert payloads_of(tmp_path / "s") == [b"one", b"three"]


def test_a_disk_without_room_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = SpoolFile.open(tmp_path / "s")
    assert file is not None

    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(StorageFull):
        file.allocate(SIZE)
    file.close()


def test_a_folder_that_is_not_there_is_unavailable(tmp_path: Path):
    with pytest.raises(StorageUnavailable):
        SpoolFile.open(tmp_path / "missing" / "s")
