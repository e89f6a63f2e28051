"""What people type for an item, as the gateway names it."""

import pytest

from gateway.cli.run.references import item_id


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("session/kiel-opening", "archived-session/kiel-opening"),
        ("archived-session/kiel-opening", "archived-session/kiel-opening"),
        ("fact/3", "fact/3"),
        ("slot/focus", "slot/focus"),
    ],
)
def test_an_item_is_meant_as_the_left_column_names_it(typed: str, meant: str):
    assert item_id(typed) == meant
