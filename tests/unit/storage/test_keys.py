"""Keys: two different lists of parts never give one key."""

from hypothesis import given
from hypothesis import strategies as st

from assemblers.records import SessionRef, UserRef
from storage.keys import build_key, session_key, user_key

parts = st.lists(
    st.text(st.characters(codec="utf-8") | st.sampled_from("0123456789:|/\x00"), max_size=6), max_size=5
)


@given(parts, parts)
def test_different_parts_give_different_keys(one: list[str], other: list[str]) -> None:
    assert (build_key(*one) == build_key(*other)) == (one == other)


@given(parts, st.integers(0, 30), st.integers(0, 30))
def test_moving_a_boundary_gives_another_key(given_parts: list[str], first: int, second: int) -> None:
    text = ":".join(given_parts)
    one = [text[:first], text[first:]]
    other = [text[:second], text[second:]]
    assert (build_key(*one) == build_key(*other)) == (one == other)


def test_the_key_of_a_user_is_not_that_of_a_neighbour() -> None:
    assert user_key("facts", UserRef("a:b", "c")) != user_key("facts", UserRef("a", "b:c"))
    assert user_key("facts", UserRef("a", "b")) != user_key("slots", UserRef("a", "b"))


def test_the_key_of_a_session_says_what_it_is_made_of() -> None:
    assert session_key("slots", SessionRef("acme", "änn", "s1")) == "5:slots4:acme4:änn2:s1".encode()
