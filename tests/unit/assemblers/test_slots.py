"""The slots of a session: what questions, tools and callers make of them, and what they are refused."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assemblers.policy.model import FilterKey, SlotRules, ToolBinding
from assemblers.records import (
    Certainty,
    Filter,
    Focus,
    RecentQuestion,
    Slots,
    ToolCall,
    ToolResult,
)
from assemblers.slot_values import read_value
from assemblers.slots import InvalidSlotsError, after_question, after_tool_results, with_updates

RULES = SlotRules(
    focus_types=("customer", "invoice"),
    filters=(FilterKey("period"), FilterKey("status", values=("open", "paid"))),
    formats=("short", "table"),
    tool_bindings=(
        ToolBinding(
            tool="find_customer",
            focus_type="customer",
            focus_id_field="customer.id",
            focus_label_field="customer.name",
            filter_arguments={"period": "range.month", "status": "status"},
        ),
    ),
)
TENTATIVE = Focus("invoice", "INV-1", "the invoice", Certainty.TENTATIVE, "caller", "t0")


def found(
    document: object, *, call_id: str = "c1", tool_name: str = "find_customer", is_error: bool = False
) -> ToolResult:
    text = document if isinstance(document, str) else json.dumps(document)
    return ToolResult(call_id, tool_name, is_error, text)


def asked(arguments: object) -> ToolCall:
    return ToolCall("c1", "find_customer", json.dumps(arguments))


CUSTOMER = {"customer": {"id": 4711, "name": "Acme Corp"}}


class TestQuestions:
    def test_the_newest_three_stay_in_order(self):
        slots = Slots()
        for number in range(10):
            slots = after_question(slots, f"question {number}", f"t{number}", 240)
        assert [q.text for q in slots.recent_questions] == ["question 7", "question 8", "question 9"]

    def test_one_turn_is_remembered_once(self):
        slots = after_question(Slots(), "first", "t1", 240)
        assert after_question(slots, "first, sent again", "t1", 240) == slots

    def test_a_long_question_is_shortened_at_a_word(self):
        slots = after_question(Slots(), "  what about their credit terms?  ", "t1", 20)
        assert slots.recent_questions == (RecentQuestion("t1", "what about their…"),)

    @pytest.mark.parametrize("question", ["", "  \n"])
    def test_a_blank_question_changes_nothing(self, question):
        assert after_question(Slots(), question, "t1", 240) == Slots()


class TestToolResults:
    def test_a_result_sets_the_focus_surely_and_says_who_set_it(self):
        slots, notes = after_tool_results(Slots(), RULES, [], [found(CUSTOMER)], "t2")
        assert slots.focus == Focus(
            "customer", "4711", "Acme Corp", Certainty.CONFIRMED, "tool/find_customer", "t2"
        )
        assert notes == ()

    def test_arguments_set_filters_sorted_by_key(self):
        call = asked({"status": "open", "range": {"month": "2026-11"}})
        slots, _ = after_tool_results(Slots(), RULES, [call], [found(CUSTOMER)], "t2")
        assert [(f.key, f.value, f.certainty) for f in slots.filters] == [
            ("period", "2026-11", Certainty.CONFIRMED),
            ("status", "open", Certainty.CONFIRMED),
        ]

    def test_a_tentative_focus_yields(self):
        slots, _ = after_tool_results(Slots(focus=TENTATIVE), RULES, [], [found(CUSTOMER)], "t2")
        assert slots.focus is not None
        assert slots.focus.id == "4711"

    def test_a_failed_call_sets_nothing(self):
        before = Slots(focus=TENTATIVE)
        result = found(CUSTOMER, is_error=True)
        assert after_tool_results(before, RULES, [asked({"status": "open"})], [result], "t2") == (before, ())

    def test_an_unbound_tool_sets_nothing(self):
        assert after_tool_results(Slots(), RULES, [], [found(CUSTOMER, tool_name="other")], "t") == (
            Slots(),
            (),
        )

    def test_the_later_of_two_results_wins(self):
        second = found({"customer": {"id": "C-2"}}, call_id="c2")
        slots, _ = after_tool_results(Slots(), RULES, [], [found(CUSTOMER), second], "t2")
        assert slots.focus is not None
        assert (slots.focus.id, slots.focus.label) == ("C-2", "")

    def test_a_label_known_for_the_same_id_stays(self):
        first, _ = after_tool_results(Slots(), RULES, [], [found(CUSTOMER)], "t1")
        again, _ = after_tool_results(first, RULES, [], [found({"customer": {"id": "4711"}})], "t2")
        assert again.focus is not None
        assert (again.focus.label, again.focus.turn_id) == ("Acme Corp", "t2")

    def test_one_found_customer_is_the_focus_and_of_several_none(self):
        one, _ = after_tool_results(Slots(), RULES, [], [found([CUSTOMER])], "t")
        two, notes = after_tool_results(Slots(), RULES, [], [found([CUSTOMER, CUSTOMER])], "t")
        assert one.focus is not None
        assert two.focus is None
        assert notes == ("tool/find_customer: focus_id_field 'customer.id' is one of several in a list",)

    @pytest.mark.parametrize(
        "value", [None, {}, [], {"x": 1}, "", " ", "a b", "x" * 129, "a\x00", "\ud800", 1.5e300]
    )
    def test_what_is_no_id_is_noted_and_sets_nothing(self, value):
        slots, notes = after_tool_results(Slots(), RULES, [], [found({"customer": {"id": value}})], "t")
        if isinstance(value, float):
            assert slots.focus is not None  # a number keeps its digits, and those are an id
        else:
            assert slots.focus is None
            assert len([note for note in notes if "focus_id_field" in note]) == 1

    @pytest.mark.parametrize(
        "document", ["[" * 100_000, '{"customer":' * 5_000, "NaN", "", "{", "1" * 10_000, "null"]
    )
    def test_hostile_json_sets_nothing_and_raises_nothing(self, document):
        slots, notes = after_tool_results(Slots(), RULES, [], [found(document)], "t")
        assert slots == Slots()
        assert notes

    def test_a_long_label_is_shortened_and_an_unstorable_one_left_out(self):
        long, _ = after_tool_results(
            Slots(), RULES, [], [found({"customer": {"id": 1, "name": "x" * 999}})], "t"
        )
        bad, notes = after_tool_results(
            Slots(), RULES, [], [found({"customer": {"id": 1, "name": "a\x00"}})], "t"
        )
        assert long.focus is not None
        assert len(long.focus.label) == 200
        assert bad.focus is not None
        assert bad.focus.label == ""
        assert "cannot be stored" in notes[0]

    def test_values_outside_the_vocabulary_are_noted_without_being_quoted(self):
        call = asked({"status": "stolen", "range": {"month": "y" * 201}})
        slots, notes = after_tool_results(Slots(), RULES, [call], [found(CUSTOMER)], "t")
        assert slots.filters == ()
        assert len(notes) == 2
        assert "stolen" not in " ".join(notes)

    def test_an_argument_left_out_keeps_the_filter(self):
        before = Slots(filters=(Filter("status", "paid", Certainty.CONFIRMED, "caller", "t0"),))
        slots, notes = after_tool_results(before, RULES, [asked({})], [found(CUSTOMER)], "t")
        assert (slots.filters, notes) == (before.filters, ())

    def test_a_binding_to_an_undeclared_type_sets_no_focus(self):
        rules = replace(RULES, focus_types=("invoice",))
        assert after_tool_results(Slots(), rules, [], [found(CUSTOMER)], "t")[0].focus is None


class TestUpdates:
    def test_named_slots_are_replaced_and_others_stay(self):
        before = Slots(focus=TENTATIVE, answer_format="table", recent_questions=(RecentQuestion("t", "q"),))
        values = Slots(answer_format="short")
        assert with_updates(before, RULES, ["answer_format"], values) == replace(
            before, answer_format="short"
        )

    def test_an_empty_value_clears(self):
        before = Slots(focus=TENTATIVE, filters=(Filter("period", "x", Certainty.TENTATIVE, "c", ""),))
        assert with_updates(before, RULES, ["focus", "filters"], Slots()) == Slots()

    def test_the_writer_is_recorded_and_filters_are_sorted(self):
        filters = tuple(
            Filter(key, "open", Certainty.CONFIRMED, "forged", "") for key in ("status", "period")
        )
        focus = replace(TENTATIVE, set_by="forged")
        slots = with_updates(Slots(), RULES, ["filters", "focus"], Slots(focus=focus, filters=filters))
        assert [(f.key, f.set_by) for f in slots.filters] == [("period", "caller"), ("status", "caller")]
        assert slots.focus == replace(TENTATIVE, set_by="caller")

    @pytest.mark.parametrize(
        ("paths", "values", "field", "said"),
        [
            ([], Slots(), "update_mask", "focus, filters, answer_format"),
            (["recent_questions"], Slots(), "update_mask", "cannot be set"),
            (
                ["focus"],
                Slots(focus=replace(TENTATIVE, type="custmer")),
                "focus.type",
                "did you mean customer?",
            ),
            (["focus"], Slots(focus=replace(TENTATIVE, id="a b")), "focus.id", "letters, digits"),
            (["focus"], Slots(focus=replace(TENTATIVE, label="x" * 201)), "focus.label", "shorten it"),
            (["focus"], Slots(focus=replace(TENTATIVE, label="\x00")), "focus.label", "NUL"),
            (["answer_format"], Slots(answer_format="tabel"), "answer_format", "did you mean table?"),
        ],
    )
    def test_what_the_policy_does_not_declare_is_refused_with_what_it_does(self, paths, values, field, said):
        with pytest.raises(InvalidSlotsError) as caught:
            with_updates(Slots(), RULES, paths, values)
        assert [fault.field for fault in caught.value.faults] == [field]
        assert said in caught.value.faults[0].message

    @pytest.mark.parametrize(
        ("filters", "field"),
        [
            ([("region", "x")], "filters[0].key"),
            ([("period", "x"), ("period", "y")], "filters[1].key"),
            ([("period", "x"), ("status", "opened")], "filters[1].value"),
            ([("period", " ")], "filters[0].value"),
        ],
    )
    def test_filters_are_checked_one_by_one(self, filters, field):
        values = Slots(
            filters=tuple(Filter(key, value, Certainty.CONFIRMED, "", "") for key, value in filters)
        )
        with pytest.raises(InvalidSlotsError) as caught:
            with_updates(Slots(), RULES, ["filters"], values)
        assert [fault.field for fault in caught.value.faults] == [field]

    def test_all_faults_are_told_at_once_and_no_value_is_quoted(self):
        values = Slots(focus=replace(TENTATIVE, type="secret1", id="secret 2"), answer_format="secret3")
        with pytest.raises(InvalidSlotsError) as caught:
            with_updates(Slots(), RULES, ["focus", "answer_format"], values)
        assert len(caught.value.faults) == 3
        assert "secret" not in str(caught.value)

    def test_a_policy_without_vocabulary_says_so(self):
        with pytest.raises(InvalidSlotsError, match="declares none"):
            with_updates(Slots(), SlotRules(), ["answer_format"], Slots(answer_format="short"))

    def test_a_long_vocabulary_is_listed_in_part(self):
        rules = SlotRules(formats=tuple(f"f{n:03}" for n in range(32)))
        with pytest.raises(InvalidSlotsError, match="f019 and 12 more"):
            with_updates(Slots(), rules, ["answer_format"], Slots(answer_format="zzz"))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["customer", "id", "name", "x"]), inner)
    ),
    max_leaves=12,
)


@given(json_values, json_values)
def test_whatever_a_tool_says_the_slots_stay_within_their_vocabulary(arguments, value):
    slots, _ = after_tool_results(Slots(), RULES, [asked(arguments)], [found(value)], "t")
    if slots.focus:
        assert (slots.focus.type, len(slots.focus.id) <= 128, len(slots.focus.label) <= 200) == (
            "customer",
            True,
            True,
        )
    assert {f.key for f in slots.filters} <= {"period", "status"}


@pytest.mark.parametrize(
    ("document", "path", "value"),
    [
        ('{"a":{"b":"x"}}', "a.b", "x"),
        ('{"a":[{"b":"x"},{"b":"y"}]}', "a.1.b", "y"),
        ('[[["x"]]]', "0.0.0", "x"),
        ('{"0":"x"}', "0", "x"),
        ('{"n":12345678901234567890}', "n", "12345678901234567890"),
        ('{"n":0.10}', "n", "0.10"),
        ('{"n":true}', "n", "true"),
        ('{"n":[" x "]}', "n", "x"),
    ],
)
def test_values_are_found_by_path(document, path, value):
    assert read_value(document, path) == value
