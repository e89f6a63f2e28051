"""Page tokens hold for the list that gave them out, and for no other."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import InvalidArgument, Reason
from gateway.paging import Pager
from storage.ports import PageRequest

PAGER = Pager("ListFacts", b"arguments")


@given(st.text(min_size=1), st.integers(1, 500))
def test_a_token_leads_back_to_its_cursor(cursor: str, size: int):
    assert PAGER.request(PAGER.token(cursor), size) == PageRequest(size, cursor)


def test_the_first_page_needs_no_token_and_is_of_the_default_size():
    assert PAGER.request("", 0) == PageRequest(50, "")


def test_after_the_last_page_there_is_no_token():
    assert PAGER.token("") == ""


@pytest.mark.parametrize(
    "other",
    [Pager("ListTraces", b"arguments"), Pager("ListFacts", b"argumentS"), Pager("ListFactsa", b"rguments")],
)
def test_a_token_of_another_list_is_refused(other: Pager):
    with pytest.raises(InvalidArgument) as caught:
        other.request(PAGER.token("n7"), 10)
    assert caught.value.reason is Reason.PAGE_TOKEN_INVALID
    assert caught.value.metadata == {"field": "page_token"}
    assert "leave it empty to begin anew" in caught.value.message


def test_a_token_with_any_character_changed_or_lost_is_refused():
    token = PAGER.token("n12345")
    changed = [token[:i] + ("A" if c != "A" else "B") + token[i + 1 :] for i, c in enumerate(token)]
    for damaged in [*changed, *(token[:i] for i in range(1, len(token)))]:
        with pytest.raises(InvalidArgument):
            PAGER.request(damaged, 10)


@given(st.text(min_size=1))
def test_arbitrary_text_is_refused(token: str):
    with pytest.raises(InvalidArgument):
        PAGER.request(token, 10)


def test_a_forged_token_whose_cursor_is_no_text_is_refused():
    forged = base64.urlsafe_b64encode(PAGER._digest(b"\xff") + b"\xff").rstrip(b"=").decode()
    with pytest.raises(InvalidArgument) as caught:
        PAGER.request(forged, 10)
    assert caught.value.reason is Reason.PAGE_TOKEN_INVALID
