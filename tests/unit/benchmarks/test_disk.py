"""The refusal of folders that lie in memory."""

from pathlib import Path

import pytest

from benchmarks import disk, latency
from benchmarks.disk import NotDurableError, filesystem_of, require_disk

MOUNTS = [
    "1 0 254:0 / / rw - ext4 /dev/vda rw",
    "2 1 0:30 / /tmp rw,nosuid shared:7 master:1 - tmpfs tmpfs rw",
    "3 2 254:1 / /tmp/with\\040space rw - xfs /dev/vdb rw",
    "4 1 0:31 / /again rw - ext4 /dev/vdc rw",
    "5 4 0:32 / /again rw - tmpfs tmpfs rw",
]


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/work", "ext4"),
        ("/tmp", "tmpfs"),
        ("/tmp/below/it", "tmpfs"),
        ("/tmpfoo", "ext4"),
        ("/tmp/with space/data", "xfs"),
        ("/again", "tmpfs"),
    ],
)
def test_the_deepest_and_latest_mount_decides(folder: str, kind: str) -> None:
    assert filesystem_of(Path(folder), MOUNTS) == kind


@pytest.fixture
def all_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text("1 0 0:1 / / rw - tmpfs tmpfs rw\n")
    monkeypatch.setattr(disk, "_MOUNTS", mounts)


@pytest.mark.usefixtures("all_in_memory")
def test_a_folder_in_memory_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(NotDurableError, match=r"tmpfs.*--data-dir"):
        require_disk(tmp_path)


def test_a_system_without_a_list_of_mounts_is_taken_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "_MOUNTS", tmp_path / "absent")
    require_disk(tmp_path)


@pytest.mark.usefixtures("all_in_memory")
def test_the_benchmark_that_cannot_measure_fails_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "stores"
    assert latency.main(["--data-dir", str(folder)]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("could not measure: ")
    assert printed.out == ""
    assert list(folder.iterdir()) == []
