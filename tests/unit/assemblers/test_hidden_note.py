"""Hidden characters that were left out of a prompt are counted by item, in the order of the prompt."""

from dataclasses import replace

from assemblers.policy.model import SectionBudget
from assemblers.records import Certainty, Filter, Focus, RecentQuestion, Slots
from tests.assembling import Case, excerpt, fact, fates, material, policy

TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
NOTE = "hidden characters were left out or made visible: "

SLOTS = Slots(
    Focus("customer", "C-77", "Hof\u200bmann", Certainty.CONFIRMED, "tool", "t1"),
    (Filter("region", "EM\u202eEA", Certainty.CONFIRMED, "tool", "t1"),),
    "sh\x1b[1mort",
    (RecentQuestion("t1", f"What?{TAGS}"),),
)
CASE = Case(
    facts=[
        fact(1, "plan", f"team{TAGS}"),
        fact(2, "diet", "vegan", source="cr\u200bm"),
        fact(3, "trip", "in Rome"),
        fact(4, "unlisted", TAGS),
    ],
    excerpts=[excerpt(1, "credit\x9b1m terms", speaker="An\u2060n"), excerpt(2, "credit terms of SUP-1")],
    material=[
        material(0, "Pay\u00adment\nin\x07 30 days", title="Ter\u200bms"),
        material(1, "Nothing hidden"),
    ],
    question="Which credit terms? \u200b",
    slots=SLOTS,
)


def note(case: Case) -> list[str]:
    return [line for line in case.assemble().warnings if line.startswith(NOTE)]


def test_each_item_with_its_number_in_the_order_of_the_prompt():
    (line,) = note(CASE)
    assert line.removeprefix(NOTE).split(", ") == [
        "fact/2 1", "fact/1 4", "excerpt/1 4", "material/0 3", "slot/focus 1", "slot/filter/region 1", "slot/format 4",
        "slot/question/t1 4",
    ]  # fmt: skip


def test_the_note_repeats_nothing_of_what_was_hidden():
    (line,) = note(CASE)
    assert line.isascii()
    assert line.isprintable()


def test_a_prompt_without_hidden_characters_has_no_note():
    plain = Case(
        facts=[fact(1, "plan", "Fünf Cafés 🙏")],
        excerpts=[excerpt(1, "credit terms\nof 👩\u200d🍳")],
        slots=Slots(),
    )
    assert note(plain) == []


def test_only_items_of_the_prompt_are_named():
    none = SectionBudget(ceiling_tokens=1)
    tight = replace(CASE, policy=policy(facts=none, history=none, session=none, material=none))
    assert "INCLUDED" not in {
        fates(tight.assemble())[item][0] for item in ("fact/1", "excerpt/1", "material/0")
    }
    assert note(tight) == []
    assert (
        note(replace(CASE, facts=[fact(4, "unlisted", TAGS)], excerpts=[], material=[], slots=Slots())) == []
    )


def test_counting_again_gives_the_same_note():
    assert note(CASE) == note(CASE)
