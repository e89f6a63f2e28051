"""Text on a terminal: nothing that is shown can act on the terminal or hide."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.cli.show.visible import short_name, shortened, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("café 👩‍🍳 ☕", "café 👩‍🍳 ☕"),
        ("\x1b[2J", "\\u{1b}[2J"),
        ("a\rb", "a\\u{d}b"),
        ("a\u202eb", "a\\u{202e}b"),
        ("a\u2028b", "a\\u{2028}b"),
        ("a\nb", "a\\nb"),
    ],
)
def test_what_would_act_on_the_terminal_is_shown_by_its_code(text: str, shown: str):
    assert visible(text) == shown


@given(st.text())
def test_a_visible_line_is_one_line_without_control_characters(text: str):
    shown = visible(text)
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in shown)
    assert len(shown.splitlines()) <= 1


@given(st.text(), st.integers(3, 40))
def test_a_shortened_line_keeps_its_width(text: str, width: int):
    assert len(shortened(text, width)) <= width


def test_a_shortened_line_keeps_its_head_and_its_end():
    assert shortened("archived-session/kiel-opening", 20) == "archived-ses…opening"


def test_a_revision_is_named_as_the_command_line_takes_it():
    digest = "3f2b9c81d0aa" + "0" * 52
    assert short_name(f"tenants/acme/policies/support/revisions/{digest}") == "support@3f2b9c81d0aa"
    assert short_name("tenants/acme/users/dana/facts/12") == "facts/12"
