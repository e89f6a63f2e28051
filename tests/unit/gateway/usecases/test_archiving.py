"""Cutting past sessions into excerpts."""

from datetime import UTC, datetime

import pytest

from assemblers.policy.model import ArchiveRules
from assemblers.records import Role, Text, ToolCall, Turn
from gateway.usecases.archiving import KnownSession, PastSession, cut_session

MAY = datetime(2023, 5, 8, 23, 30, tzinfo=UTC)
RULES = ArchiveRules(excerpt_characters=100)


def said(turn_id: str, text: str, role: Role = Role.USER, speaker: str = "") -> Turn:
    return Turn(turn_id, role, (Text(text),), MAY, speaker)


def past(*turns: Turn) -> PastSession:
    return PastSession("s1", MAY, turns)


def test_excerpts_are_numbered_through_the_session():
    cut = cut_session(past(said("t1", "Apples. " * 30), said("t2", "Pears")), RULES, KnownSession())
    drafts = cut.archived.excerpts
    assert [draft.position for draft in drafts] == list(range(len(drafts)))
    assert "".join(d.text for d in drafts if d.turn_id == "t1") == "Apples. " * 30
    assert {d.turn_id for d in drafts} == {"t1", "t2"}


@pytest.mark.parametrize("role", [Role.ASSISTANT, Role.TOOL, Role.SYSTEM, Role.DEVELOPER])
def test_only_the_users_words_are_kept_unless_the_policy_says_so(role: Role):
    session = past(said("t1", "Apples", role), said("t2", "Pears"))
    cut = cut_session(session, RULES, KnownSession())
    assert ([d.turn_id for d in cut.archived.excerpts], cut.skipped) == (["t2"], 1)
    cut = cut_session(session, ArchiveRules(include_assistant=True), KnownSession())
    assert len(cut.archived.excerpts) == (2 if role is Role.ASSISTANT else 1)


def test_speaker_and_day_are_terms_the_name_is_kept_as_given():
    (named,) = cut_session(past(said("t", "Hello", speaker="Ann")), RULES, KnownSession()).archived.excerpts
    assert (named.speaker, named.terms["ann"], named.terms["may"], named.terms["8"]) == ("Ann", 1, 1, 1)
    (unnamed,) = cut_session(past(said("t", "Hello")), RULES, KnownSession()).archived.excerpts
    assert unnamed.speaker == ""
    assert "user" in unnamed.terms


def test_what_is_known_of_a_session_is_counted_and_new_turns_come_behind_it():
    known = KnownSession({"t1": 3}, next_position=7)
    cut = cut_session(past(said("t1", "Apples"), said("t2", "Pears")), RULES, known)
    assert [(d.turn_id, d.position) for d in cut.archived.excerpts] == [("t2", 7)]
    assert cut.known == 3


@pytest.mark.parametrize("content", [Text("  \n"), Text(""), ToolCall("c", "crm", "{}")])
def test_a_turn_without_words_leaves_no_excerpt(content: Text | ToolCall):
    cut = cut_session(past(Turn("t", Role.USER, (content,), MAY)), RULES, KnownSession())
    assert (cut.archived.excerpts, cut.skipped) == ((), 0)
