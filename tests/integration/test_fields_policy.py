"""Every field of a policy, made wrong: a diagnostic names the field by its path, the rule and the remedy."""

import pytest

from gateway.policies.reading import PolicyReader
from muniment.v1 import policy_pb2
from tests.integration.field_cases import Case, Place, cases, choices, places
from tests.integration.requests import DESK

READER = PolicyReader()
GOOD = READER.from_yaml(DESK.encode()).message

# Fields that allow every value, with the reason.
ANY_VALUE = {
    "model": "what is in it is checked",
    "budget": "what is in it is checked",
    "facts": "what is in it is checked",
    "slots": "what is in it is checked",
    "archive": "what is in it is checked",
    "ttl": "what is in it is checked",
    "prefix": "what is in it is checked",
    "history": "what is in it is checked",
    "material": "what is in it is checked",
    "session": "what is in it is checked",
    "question": "what is in it is checked",
    "required": "a flag",
    "focus_terms": "a flag",
    "skip_current_session": "a flag",
    "show_today": "a flag",
    "keep_turns": "a flag",
    "on_end_session": "a flag: needs keep_turns",
    "include_assistant": "a flag",
}


def told(case: Case) -> str:
    """What is wrong with the diagnostics; empty where they are as they should be."""
    policy = policy_pb2.Policy()
    policy.CopyFrom(GOOD)
    case.spoil(policy)
    draft = READER.from_message(policy)
    found = [d for d in draft.diagnostics if d.field == case.field and d.severity == "ERROR"]
    if draft.valid or not found:
        return f"told as {[(d.field, d.message) for d in draft.diagnostics]}"
    return (
        "" if ": " in found[0].message or "must be" in found[0].message or found[0].suggestion else str(found)
    )


def ways(place: Place) -> list[Case]:
    return list(cases(place))


@pytest.mark.parametrize("place", list(places(GOOD)), ids=lambda place: place.path)
def test_a_wrong_value_of_any_field_of_a_policy_is_told_with_path_and_remedy(place):
    found = ways(place)
    assert found or place.field.name in ANY_VALUE
    assert [f"{case.field} ({case.what}) {text}" for case in found if (text := told(case))] == []


def test_a_section_that_is_none_is_told():
    assert [text for case in choices(GOOD) if (text := told(case))] == []


def test_the_policy_that_is_spoilt_is_a_good_one():
    assert READER.from_message(GOOD).valid
