"""Text as it is shown: escaping, shortening, dates, and what is refused."""

from assemblers.text.dates import age, local_date, until_next_midnight
from assemblers.text.escape import QUOTE, block, block_counted, hidden_characters, inline, inline_counted
from assemblers.text.graphemes import ELLIPSIS, shorten
from assemblers.text.validity import find_invalid, is_id

__all__ = [
    "ELLIPSIS",
    "QUOTE",
    "age",
    "block",
    "block_counted",
    "find_invalid",
    "hidden_characters",
    "inline",
    "inline_counted",
    "is_id",
    "local_date",
    "shorten",
    "until_next_midnight",
]
