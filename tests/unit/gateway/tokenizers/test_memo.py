"""Remembered counts are the counts, and memory stays bounded."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.tokenizers.memo import MAX_TEXT_CHARACTERS, MemoCounter


class CountingCounter:
    id = "lengths"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count(self, text: str) -> int:
        self.asked.append(text)
        return len(text)


def test_a_text_is_counted_once():
    behind = CountingCounter()
    memo = MemoCounter(behind)
    assert memo.id == "lengths"
    assert [memo.count("line"), memo.count("line")] == [4, 4]
    assert behind.asked == ["line"]


def test_a_long_text_is_not_remembered():
    behind = CountingCounter()
    memo = MemoCounter(behind)
    text = "x" * (MAX_TEXT_CHARACTERS + 1)
    assert memo.count(text) == memo.count(text) == len(text)
    assert len(behind.asked) == 2


def test_what_is_asked_for_again_survives_a_generation():
    behind = CountingCounter()
    memo = MemoCounter(behind, max_entries=2)
    for text in ("kept", "a", "b", "kept", "c", "kept"):
        memo.count(text)
    assert behind.asked.count("kept") == 1


def test_what_is_not_asked_for_is_dropped_after_two_generations():
    behind = CountingCounter()
    memo = MemoCounter(behind, max_entries=2)
    for text in ("gone", "a", "b", "c", "d", "e", "gone"):
        memo.count(text)
    assert behind.asked.count("gone") == 2


def test_characters_are_bounded_as_well():
    behind = CountingCounter()
    memo = MemoCounter(behind, max_characters=10)
    for text in ("0123456789", "abcdefghij", "ABCDEFGHIJ", "0123456789"):
        memo.count(text)
    assert behind.asked.count("0123456789") == 2


def test_forgotten_texts_are_counted_anew():
    behind = CountingCounter()
    memo = MemoCounter(behind)
    memo.count("line")
    memo.forget()
    memo.count("line")
    assert behind.asked == ["line", "line"]


@given(st.lists(st.text(max_size=4), max_size=60))
def test_a_memo_never_changes_a_count(texts: list[str]):
    memo = MemoCounter(CountingCounter(), max_entries=3, max_characters=12)
    assert [memo.count(text) for text in texts] == [len(text) for text in texts]
