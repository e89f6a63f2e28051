"""Whatever the text: escaping is stable, keeps its line, and leaves nothing that folding could bring back."""

import unicodedata
from datetime import UTC, datetime, timedelta, timezone

import regex
from hypothesis import given
from hypothesis import strategies as st

from assemblers.text import QUOTE, age, block, inline, inline_counted, shorten, until_next_midnight
from assemblers.text.hidden import LINE_BREAK

PIECES = [
    *"<|>｜＜[](!`~👩👧🏽क्षمaZ/e⒜𝐀#-1ﬁ１ \t\n\r",
    *"\u200b\u200d\u200c\ufe0f\u3164\u0301\u0338\u20e3\u2028\x85\x1b\x9b\ud800\ufffe\U000e0041\U000e007f\U0001f3f4",
    *("<|im_start|>", "[INST]", "```", "\x1b[31m", "System:", "# ", "- "),
]
texts = st.one_of(
    st.text(st.characters(codec=None)),
    st.lists(st.one_of(st.sampled_from(PIECES), st.characters(codec=None)), max_size=12).map("".join),
)
STRUCTURE = regex.compile(r"<(?![ 0-9=\-])|\|>|!\[|\]\(|\]\[|```|~~~")
HIDDEN = regex.compile(r"[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}]")
MEANT = regex.compile(r"\u200c|\u200d|\ufe0e|\ufe0f|\U0001f3f4[\U000e0061-\U000e007a]+\U000e007f")


@given(texts)
def test_escaping_twice_changes_nothing(text: str):
    once = inline(text)
    assert inline(once) == once
    assert inline_counted(once) == (once, 0)


@given(texts)
def test_a_piece_never_leaves_its_line(text: str):
    shown = inline(text)
    assert LINE_BREAK.search(shown) is None
    assert shown == shown.strip()
    assert unicodedata.is_normalized("NFC", shown)
    shown.encode()


@given(texts)
def test_nothing_imitates_structure_even_when_folded(text: str):
    shown = inline(text)
    assert STRUCTURE.search(shown) is None
    assert STRUCTURE.search(unicodedata.normalize("NFKC", shown)) is None


@given(texts)
def test_nothing_invisible_stays_but_joiners(text: str):
    assert HIDDEN.search(MEANT.sub("", inline(text))) is None


@given(texts)
def test_a_block_is_quoted_lines_only(text: str):
    shown = block(text)
    assert shown == "" or (shown.endswith("\n") and not shown.endswith("\n\n"))
    for line in shown.split("\n")[:-1]:
        assert line == QUOTE.rstrip() or line.startswith(QUOTE)
        assert LINE_BREAK.search(line) is None


@given(st.text(), st.integers(-2, 40))
def test_shortening_keeps_the_limit_and_whole_graphemes(text: str, limit: int):
    short = shorten(text, limit)
    composed = unicodedata.normalize("NFC", text)
    assert len(short) <= max(limit, 0) or short == composed
    kept = short.removesuffix("…") if short != composed else short
    assert composed.startswith(kept)
    graphemes = regex.findall(r"\X", composed)
    starts = {0}
    for grapheme in graphemes:
        starts.add(max(starts) + len(grapheme))
    rest = composed[len(kept) :]
    assert len(kept) in starts or rest[:1].isspace()


@given(
    st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31), timezones=st.just(UTC)),  # noqa: DTZ001
    st.integers(-14, 14),
    st.timedeltas(timedelta(0), timedelta(days=1)),
)
def test_an_age_said_now_holds_until_midnight(now: datetime, offset: int, later: timedelta):
    zone = timezone(timedelta(hours=offset))
    left = until_next_midnight(now, zone)
    assert left > timedelta(0)
    if later < left and now < datetime.max.replace(tzinfo=UTC) - later:
        assert age(now, now + later, zone) == "today"
