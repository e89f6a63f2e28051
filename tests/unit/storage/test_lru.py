"""The bounded map: nothing is known twice, and nothing can be known."""

from storage.lru import Lru


def test_the_one_used_longest_ago_gives_way() -> None:
    known: Lru[str, int] = Lru(2)
    known.put("a", 1)
    known.put("b", 2)
    assert known.get("a") == 1
    known.put("c", 3)
    assert [known.get(key) for key in "abc"] == [1, None, 3]
    assert len(known) == 2


def test_a_known_nothing_is_not_looked_up_again() -> None:
    known: Lru[str, int | None] = Lru(2)
    looked_up: list[str] = []

    def find() -> None:
        looked_up.append("x")

    assert known.get_or("x", find) is None
    assert known.get_or("x", find) is None
    assert looked_up == ["x"]
    known.forget("x")
    known.get_or("x", find)
    assert looked_up == ["x", "x"]
