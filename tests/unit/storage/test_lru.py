"""The bounded map: what was used longest ago gives way."""

from storage.lru import Lru


def test_the_one_used_longest_ago_gives_way() -> None:
    known: Lru[str, int] = Lru(2)
    known.put("a", 1)
    known.put("b", 2)
    assert known.get("a") == 1
    known.put("c", 3)
    assert [known.get(key) for key in "abc"] == [1, None, 3]
    assert len(known) == 2


def test_what_was_forgotten_is_not_known() -> None:
    known: Lru[str, int] = Lru(2)
    known.put("a", 1)
    known.forget("a")
    known.forget("b")
    assert known.get("a") is None
