"""Whatever a crash leaves of the spool's file, what comes back is a beginning of what was written, and all of it that
was on the disk."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from storage.spool.file import SpoolFile
from storage.spool.frames import HEAD_BYTES
from storage.spool.headers import DATA_OFFSET

SIZE = 32 << 10
batches = st.lists(st.lists(st.binary(max_size=60), min_size=1, max_size=4), min_size=1, max_size=5)


def filled(path: Path, written: list[list[bytes]], fillings: int) -> None:
    """A file with some fillings, the last of which has these batches."""
    file = SpoolFile.open(path)
    assert file is not None
    file.recover()
    file.allocate(SIZE)
    for number in range(fillings):
        file.begin(b"key-%d" % number)
        for batch in written:
            file.append(batch)
    file.close()


def recovered(path: Path) -> list[bytes]:
    file = SpoolFile.open(path)
    assert file is not None
    payloads = [file.read(place) for place in file.recover()]
    file.close()
    return payloads


@given(batches, st.integers(1, 3), st.data())
def test_a_changed_byte_ends_the_records_exactly_there(
    written: list[list[bytes]], fillings: int, data: st.DataObject
):
    payloads = [payload for batch in written for payload in batch]
    ends = [DATA_OFFSET]
    for payload in payloads:
        ends.append(ends[-1] + HEAD_BYTES + len(payload))
    place = data.draw(st.integers(DATA_OFFSET, ends[-1] - 1))
    flip = data.draw(st.integers(1, 255))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s"
        filled(path, written, fillings)
        assert recovered(path) == payloads
        raw = bytearray(path.read_bytes())
        raw[place] ^= flip
        path.write_bytes(raw)
        whole = sum(end <= place for end in ends[1:])
        assert recovered(path) == payloads[:whole]


@given(batches, batches, st.data())
def test_a_write_of_which_any_pages_reached_the_disk_takes_nothing_else_with_it(
    before: list[list[bytes]], last: list[list[bytes]], data: st.DataObject
):
    """A disk may write the parts of an unsynced write in any order: each byte is either the old one or the new one."""
    kept = [payload for batch in before for payload in batch]
    torn = [payload for batch in last for payload in batch]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s"
        filled(path, before, 1)
        old = path.read_bytes()
        file = SpoolFile.open(path)
        assert file is not None
        file.recover()
        file.allocate(SIZE)
        file.append(torn)
        file.close()
        new = path.read_bytes()
        sector = data.draw(st.sampled_from([1, 7, 64]))
        sectors = range(DATA_OFFSET, len(new), sector)
        reached = data.draw(st.sets(st.sampled_from([s for s in sectors if s < DATA_OFFSET + 600])))
        mixed = bytearray(old)
        for start in reached:
            mixed[start : start + sector] = new[start : start + sector]
        path.write_bytes(mixed)
        found = recovered(path)
    assert found[: len(kept)] == kept
    assert found[len(kept) :] == torn[: len(found) - len(kept)]
