"""Evidence recall, and the refusal of data that is not what the bars were measured on."""

from pathlib import Path

import pytest

from benchmarks import locomo
from benchmarks.locomo_data import DIALOGUES, Question, WrongDataError, read_dialogues
from benchmarks.recall import Found, at_least, figures


def question(category: int, *evidence: str, corrected: tuple[str, ...] = ()) -> Question:
    return Question("q", "When?", category, frozenset(evidence), frozenset(corrected or evidence))


FOUND = [
    Found(question(1, "D1:1", "D2:1"), {"D1:1", "D9:9"}),
    Found(question(2, "D1:1", corrected=("D1:2",)), {"D1:2"}),
    Found(question(3, "D3:1"), {"D3:1"}),
    Found(question(4, "D4:1"), {"D4:1", "D4:2"}),
    Found(question(4), {"D4:1"}),
    Found(question(5, "D5:1"), ()),
]


def test_recall_is_the_mean_share_of_evidence_over_answerable_questions() -> None:
    values = {figure.name: figure.rounded for figure in figures(512, FOUND, at_least(60.0))}
    assert values["recall_512"] == 62.5
    assert values["all_evidence_512"] == 50
    assert values["recall_corrected_512"] == 87.5
    assert values["recall_multi_hop_512"] == 50
    assert values["recall_single_hop_512"] == 100


def test_the_questions_about_what_was_never_said_are_apart() -> None:
    values = {figure.name: figure.rounded for figure in figures(512, FOUND, at_least(60.0))}
    assert values["recall_adversarial_512"] == 0


def test_only_the_published_recall_has_a_bar() -> None:
    assert [f.name for f in figures(512, FOUND, at_least(60.0)) if f.bar is not None] == ["recall_512"]


def test_other_data_is_refused_by_its_checksum(tmp_path: Path) -> None:
    for name in ("locomo10.json", "audit_errors.json"):
        path = tmp_path / DIALOGUES.parent / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("[]")
    with pytest.raises(WrongDataError, match="SHA-256"):
        read_dialogues(tmp_path)


def test_a_folder_without_the_data_cannot_be_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert locomo.main([str(tmp_path)]) == 2
    assert "is not there" in capsys.readouterr().err


def test_no_folder_skips_with_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert locomo.main([]) == 0
    assert capsys.readouterr().out.startswith("skipped: ")
