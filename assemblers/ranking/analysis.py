"""Text to index terms: what a stored excerpt can be found by, and what a question asks for.

Pure and deterministic: the same text gives the same terms in every process. Both sides of a search pass
through here, so a change of any rule below is a change of ``INDEX_FORMAT`` and needs a new index.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

import regex
from snowballstemmer.english_stemmer import EnglishStemmer

from assemblers.ranking.stopwords import STOP_WORDS

INDEX_FORMAT: Final[int] = 1
"""Version of the rules in this module; stored with an index and recorded in traces."""

MAX_QUERY_TERMS: Final[int] = 64
"""A question is cut after this many distinct terms, which bounds the cost of one ranking."""

MAX_TERM_CHARACTERS: Final[int] = 64
"""Longer words are cut here on both sides, so that a pasted blob still meets itself by its beginning."""

_MAX_STEMMED_CHARACTERS: Final[int] = 32
"""No English word is longer; what is (hashes, base64) is not worth a stem nor a place in the cache."""

_UNSPACED: Final[str] = (
    r"\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\p{Script=Hangul}\p{Script=Yi}"
    r"\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}"
    r"\p{Script=Javanese}\p{Script=Balinese}\p{Script=Tai_Le}\p{Script=New_Tai_Lue}\p{Script=Tai_Tham}ー"
)
"""Scripts without spaces between words, and Hangul, whose words carry their particles as suffixes."""

_PART: Final = regex.compile(
    rf"[[\p{{L}}\p{{N}}]--[{_UNSPACED}]][[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]*", regex.VERSION1
)
# The joiners and the word characters are disjoint sets, so neither can backtrack into the other: linear.
_TOKEN: Final = regex.compile(
    rf"{_PART.pattern}(?:[-_./:@']{_PART.pattern})*|[[{_UNSPACED}]--\p{{P}}]+", regex.VERSION1
)
_ASCII_TOKEN: Final = re.compile(r"[a-z0-9]+(?:[-_./:@'][a-z0-9]+)*")
"""What ``_TOKEN`` is for ASCII text, eight times as fast."""
_UNSPACED_RUN: Final = regex.compile(rf"[{_UNSPACED}]", regex.VERSION1)
_SYLLABLE: Final = regex.compile(r"\P{M}\p{M}*|\p{M}+")
_IGNORABLE: Final = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
_MARK_RUN: Final = regex.compile(r"(\p{M}{8})\p{M}+")
_ACCENTED: Final = regex.compile(r"([a-z])\p{Mn}+")
_APOSTROPHE: Final = regex.compile("[\u2018\u2019\u02bc]")
_CONTRACTED: Final = re.compile("'(?:s|d|m|ll|re|ve)$")
_DASH: Final = regex.compile(r"\p{Pd}")
_THOUSANDS: Final = regex.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")


def analyze(text: str) -> list[str]:
    """Index terms of ``text`` in reading order, repetitions kept. Empty where there is nothing to find.

    Words are folded (NFKC, case, Latin accents), freed of English stop words and stemmed; text in unspaced
    scripts gives its single characters and their pairs; an identifier such as ``INV-2031`` gives itself and
    its parts. Linear in the length of the text.
    """
    return list(chain.from_iterable(_terms_by_token(text)))


def query_terms(text: str) -> list[str]:
    """Distinct terms of a question in order of first appearance, at most ``MAX_QUERY_TERMS``."""
    distinct: dict[str, None] = {}
    for terms in _terms_by_token(text):
        for term in terms:
            distinct[term] = None
        if len(distinct) >= MAX_QUERY_TERMS:
            return list(distinct)[:MAX_QUERY_TERMS]
    return list(distinct)


def _terms_by_token(text: str) -> Iterator[Sequence[str]]:
    folded = _fold(text)
    pattern = _ASCII_TOKEN if folded.isascii() else _TOKEN
    if len(folded) <= MAX_TERM_CHARACTERS * MAX_QUERY_TERMS:
        return map(_terms_of, pattern.findall(folded))
    # A long one is not read to its end where its beginning has all the terms that are wanted.
    return (_terms_of(match[0]) for match in pattern.finditer(folded))


def _terms_of(token: str) -> Sequence[str]:
    return _short_token_terms(token) if len(token) <= MAX_TERM_CHARACTERS else _token_terms(token)


@lru_cache(maxsize=1 << 15)
def _short_token_terms(token: str) -> Sequence[str]:
    # Stemming in Python costs 50 microseconds and talk repeats its words. Long runs must not fill the cache.
    return _token_terms(token)


def _token_terms(token: str) -> Sequence[str]:
    if _UNSPACED_RUN.match(token):
        return tuple(_grams(token))
    if token.isalnum():
        return _word_terms(token)
    return tuple(_compound_terms(token))


def _fold(text: str) -> str:
    """One spelling per word: NFKC, case, Latin accents, invisible characters, dashes, 1,000 = 1000."""
    if not text.isascii():
        text = _fold_unicode(text)
    return _THOUSANDS.sub("", text.lower()) if "," in text else text.lower()


def _fold_unicode(text: str) -> str:
    # CPython orders the marks of one base by insertion sort: without the cut, 64 KiB of them take seconds.
    text = _MARK_RUN.sub(r"\1", _IGNORABLE.sub("", text))
    text = unicodedata.normalize("NFKC", text).casefold()
    text = _ACCENTED.sub(r"\1", unicodedata.normalize("NFKD", text))
    text = _DASH.sub("-", _APOSTROPHE.sub("'", text))
    return unicodedata.normalize("NFKC", text)


def _grams(run: str) -> Iterator[str]:
    """Every character (with its marks) of an unspaced run, and every neighbouring pair."""
    previous = ""
    for syllable in _SYLLABLE.findall(run):
        yield syllable
        if previous:
            yield previous + syllable
        previous = syllable


def _compound_terms(token: str) -> Iterator[str]:
    """Parts of a joined token, preceded by the whole where a digit, ``_`` or ``@`` marks an identifier.

    Contractions ("she's", "don't") lose what they contract, so that "won't" does not hide the verb "won".
    """
    if token.endswith("n't"):
        return  # all of them auxiliaries
    token = _CONTRACTED.sub("", token)
    if len(token) <= MAX_TERM_CHARACTERS and _is_identifier(token):
        yield token
    for part in _PART.findall(token):
        yield from _word_terms(part)


def _is_identifier(token: str) -> bool:
    return "_" in token or "@" in token or any(character.isdigit() for character in token)


def _word_terms(word: str) -> Sequence[str]:
    if word in STOP_WORDS:
        return ()
    if len(word) == 2 and word[0] == "0" and word[1].isdigit():
        return (word[1],)  # "08 May" and "8 May" are one day
    if len(word) <= _MAX_STEMMED_CHARACTERS and word.isascii() and word.isalpha():
        # The pure Python stemmer by name: ``snowballstemmer.stemmer()`` takes a C one where it is installed.
        # One for each word, since a stemmer holds the word it works on and is not safe between threads.
        return (EnglishStemmer().stemWord(word),)
    return (word[:MAX_TERM_CHARACTERS],)
