"""What is wrong with a policy, said so that its author can mend it."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum

from assemblers.text import inline, is_id


class Severity(StrEnum):
    """Whether the policy can be registered all the same."""

    ERROR = "ERROR"
    WARNING = "WARNING"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `field` is the path by the names of `muniment.v1.Policy`; `suggestion` may be empty."""

    severity: Severity
    rule_id: str
    field: str
    message: str
    suggestion: str = ""


Diagnostics = Iterator[Diagnostic]

ID_RULE = "use 1 to 128 letters, digits and ._:@|+=/-"


def error(rule_id: str, field: str, message: str, suggestion: str = "") -> Diagnostic:
    """A finding that stops registration."""
    return Diagnostic(Severity.ERROR, rule_id, field, message, suggestion)


def warning(rule_id: str, field: str, message: str, suggestion: str = "") -> Diagnostic:
    """A finding that is worth a thought."""
    return Diagnostic(Severity.WARNING, rule_id, field, message, suggestion)


def did_you_mean(name: str, known: Collection[str]) -> str:
    """The known name that looks most like `name`, as a question; else the known names; "" where there are
    none."""
    near = get_close_matches(name, known, n=1)
    if near:
        return f"did you mean {near[0]}?"
    return f"use one of {', '.join(sorted(known)[:20])}" if known else ""


def check_id(rule_id: str, field: str, name: str) -> Diagnostics:
    """An id has the one alphabet of ids."""
    if not is_id(name):
        yield error(rule_id, field, f"{name!r} is no id", ID_RULE)


def check_unique(rule_id: str, field: str, names: Sequence[str], what: str) -> Diagnostics:
    """No name occurs twice. `field` has one `{}` for the place."""
    for index, name in enumerate(names):
        if name in names[:index]:
            yield error(
                rule_id, field.format(index), f"the {what} {name!r} is there twice", "keep one of them"
            )


def check_lookalikes(rule_id: str, field: str, names: Sequence[str], what: str) -> Diagnostics:
    """No two names differ only in case. `field` has one `{}` for the place."""
    folded = Counter(name.casefold() for name in set(names))
    for index, name in enumerate(names):
        if folded[name.casefold()] > 1:
            yield warning(
                rule_id,
                field.format(index),
                f"another {what} differs from {name!r} only in case",
                "rename one of them",
            )


def check_range(rule_id: str, field: str, number: int, low: int, high: int) -> Diagnostics:
    """A number lies between two, both included."""
    if not low <= number <= high:
        yield error(rule_id, field, f"{number} is out of range", f"use {low} to {high}")


def check_line(rule_id: str, field: str, text: str, limit: int) -> Diagnostics:
    """A text that stands on a line of the prompt is one short line, and is shown as it was written.

    A first character other than a letter or digit would be counted together with the line before.
    """
    if len(text) > limit:
        yield error(rule_id, field, f"the text has {len(text)} characters", f"use at most {limit}")
    elif len(text.strip().splitlines()) > 1:
        yield error(rule_id, field, "the text has a line break in it", "write one line")
    elif text.strip() and inline(text) != text.strip():
        yield warning(rule_id, field, "the text is not shown as it was written", f"write {inline(text)!r}")
    elif text.strip() and not text.strip()[0].isalnum():
        yield warning(rule_id, field, "the text is shown like an item", "begin with a letter or digit")


def check_values(rule_id: str, field: str, values: Sequence[str], limit: int) -> Diagnostics:
    """The words of a vocabulary: each once, none blank, none too long, all shown as they were written."""
    yield from check_unique(rule_id, field, values, "value")
    for index, value in enumerate(values):
        if not value.strip() or len(value) > limit:
            problem = f"a value has 1 to {limit} characters"
            yield error(
                rule_id, field.format(index), problem, "shorten it" if value.strip() else "take it out"
            )
        elif inline(value) != value:
            problem = "the value is not shown as it was written"
            yield warning(rule_id, field.format(index), problem, f"write {inline(value)!r}")
