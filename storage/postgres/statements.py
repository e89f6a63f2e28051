"""Statements of the stores as Postgres wants them: `$1` for `?`, and the tenant bound within a look-up itself.

A look-up runs on its own, without BEGIN and COMMIT. It binds its tenant by a condition in front of it that is evaluated
once, before any row is read, and that holds as long as the statement's own transaction: nothing of the tenant is left
on the connection, also behind a pooler. That saves two of three round trips.

The order is not luck. `OFFSET 0` keeps the planner from merging the look-up with what is around it, so the condition is
the one-time filter of a `Result` above the look-up's whole plan, which asks for no row before the filter holds.
The policies read the setting by a subquery, which runs when the first row is asked for, not when the parts of a table
are chosen at the start. Tests hold Postgres to it, with plans of both kinds.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_KEPT: Final = 1_024
_TOKEN: Final = re.compile(r"""'(?:[^']|'')*'|"[^"]*"|\?(\d*)""")
_GIVES_ROWS: Final = re.compile(r"\s*(?:SELECT|WITH|VALUES)\b|.*\bRETURNING\b", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with `$n` for its parameters, as it is and as a look-up, whose last parameter is the tenant."""

    text: str
    look_up: str
    gives_rows: bool


@lru_cache(_KEPT)
def statement_of(written: str) -> Statement:
    """The statement for what the stores wrote with `?` or `?1`."""
    numbers = _Numbers()
    text = _TOKEN.sub(numbers.replace, written)
    bound = f"(SELECT set_config('muniment.tenant', ${numbers.highest + 1}, true)) IS NOT NULL"
    return Statement(
        text,
        f"SELECT found.* FROM (SELECT * FROM ({text}) AS asked OFFSET 0) AS found WHERE {bound}",
        _GIVES_ROWS.match(text) is not None,
    )


class _Numbers:
    """The numbers of parameters as SQLite gives them: a bare `?` gets the one behind the highest so far."""

    def __init__(self) -> None:
        self.highest = 0

    def replace(self, token: re.Match[str]) -> str:
        number = token[1]
        if number is None:
            return token[0]
        own = int(number) if number else self.highest + 1
        self.highest = max(self.highest, own)
        return f"${own}"
