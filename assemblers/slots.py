"""How the slots of a session change: by a question, by the results of tools, by the caller. Pure functions.

A result of a tool sets slots as CONFIRMED, since its values came back from a system of record. What is
confirmed yields only to what is confirmed later, and to the caller's own word."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from assemblers.policy.model import FilterKey, SlotRules, ToolBinding
from assemblers.records import Certainty, Filter, Focus, RecentQuestion, Slots, ToolCall, ToolResult
from assemblers.slot_values import MAX_VALUE_CHARACTERS, NOT_THERE, Refusal, read_value
from assemblers.text import find_invalid, is_id, shorten

RECENT_QUESTIONS = 3
"""How many earlier questions a session remembers."""

UPDATABLE = ("focus", "filters", "answer_format")
"""The slots that a caller may set."""

SHOWN_VALUES = 20
"""How many words of a vocabulary a message lists."""


@dataclass(frozen=True, slots=True)
class SlotFault:
    """One thing wrong with an update. `field` is its path within the slots; `message` names the remedy."""

    field: str
    message: str


class InvalidSlotsError(ValueError):
    """An update that the policy's vocabulary does not allow, with everything that is wrong with it."""

    def __init__(self, faults: Sequence[SlotFault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(f"{fault.field} {fault.message}" for fault in faults))


def after_question(slots: Slots, question: str, turn_id: str, max_characters: int) -> Slots:
    """The slots with the question remembered, shortened to `max_characters`; the newest three stay, oldest
    first.

    A turn that is remembered already changes nothing, nor does a blank question.
    """
    text = shorten(question.strip(), max_characters)
    if not text or turn_id in [known.turn_id for known in slots.recent_questions]:
        return slots
    questions = (*slots.recent_questions, RecentQuestion(turn_id, text))
    # Every turn comes by here, and `replace` would cost five times as much.
    return Slots(slots.focus, slots.filters, slots.answer_format, questions[-RECENT_QUESTIONS:])


def after_tool_results(
    slots: Slots, rules: SlotRules, calls: Iterable[ToolCall], results: Iterable[ToolResult], turn_id: str
) -> tuple[Slots, tuple[str, ...]]:
    """The slots as the policy's bindings read them out of the results, and notes on what could not be read.

    A failed call sets nothing. Of several results the later one wins. Notes name tools and paths, never
    values."""
    made = {call.call_id: call for call in calls}
    notes: list[str] = []
    for result in results:
        for binding in rules.tool_bindings:
            if binding.tool == result.tool_name and not result.is_error:
                reading = _Reading(rules, binding, turn_id, notes)
                slots = reading.applied_to(slots, made.get(result.call_id), result)
    return slots, tuple(notes)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One result as one binding reads it. Adds to `notes` what could not be read."""

    rules: SlotRules
    binding: ToolBinding
    turn_id: str
    notes: list[str]

    @property
    def set_by(self) -> str:
        return f"tool/{self.binding.tool}"

    def applied_to(self, slots: Slots, call: ToolCall | None, result: ToolResult) -> Slots:
        filters = {item.key: item for item in slots.filters}
        if call is not None and call.tool_name == result.tool_name:
            filters |= {item.key: item for item in self._filters(call.arguments_json)}
        return replace(slots, focus=self._focus(slots.focus, result.result_json), filters=_sorted(filters))

    def _focus(self, known: Focus | None, document: str) -> Focus | None:
        kind, path = self.binding.focus_type, self.binding.focus_id_field
        if not kind or kind not in self.rules.focus_types:
            return known
        found = read_value(document, path)
        if isinstance(found, str) and not is_id(found):
            found = Refusal("is no id: 1 to 128 letters, digits and ._:@|+=/-")
        if isinstance(found, Refusal):
            self._note(f"focus_id_field {path!r} {found.reason}")
            return known
        label = self._label(document)
        if not label and known and (known.type, known.id) == (kind, found):
            label = known.label
        return Focus(kind, found, label, Certainty.CONFIRMED, self.set_by, self.turn_id)

    def _label(self, document: str) -> str:
        """The label, "" where there is none: a focus is worth having without."""
        path = self.binding.focus_label_field
        if not path:
            return ""
        found = read_value(document, path)
        if isinstance(found, Refusal):
            self._note(f"focus_label_field {path!r} {found.reason}")
            return ""
        return shorten(found, MAX_VALUE_CHARACTERS)

    def _filters(self, document: str) -> Iterator[Filter]:
        declared = {item.key: item for item in self.rules.filters}
        for key, path in self.binding.filter_arguments.items():
            value = read_value(document, path)
            if isinstance(value, Refusal):
                # An argument that was left out says nothing about the filter; only an odd one is worth a
                # note.
                if value.reason != NOT_THERE:
                    self._note(f"argument {path!r} {value.reason}")
            elif key not in declared or _value_problem(declared[key], value):
                self._note(f"argument {path!r} holds no value of filter {key!r}")
            else:
                yield Filter(key, value, Certainty.CONFIRMED, self.set_by, self.turn_id)

    def _note(self, text: str) -> None:
        self.notes.append(f"{self.set_by}: {text}")


def with_updates(
    slots: Slots, rules: SlotRules, paths: Collection[str], values: Slots, set_by: str = "caller"
) -> Slots:
    """The slots with those of `values` that `paths` names (see `UPDATABLE`), replaced whole; empty ones are
    cleared.

    InvalidSlotsError with every fault where the policy does not declare what is set.
    """
    faults = [*_path_faults(paths)]
    if "focus" in paths and values.focus:
        faults += _focus_faults(rules, values.focus)
    if "filters" in paths:
        faults += _filter_faults(rules, values.filters)
    if "answer_format" in paths and values.answer_format and values.answer_format not in rules.formats:
        faults.append(SlotFault("answer_format", _undeclared("format", values.answer_format, rules.formats)))
    if faults:
        raise InvalidSlotsError(faults)
    if "focus" in paths:
        slots = replace(slots, focus=values.focus and replace(values.focus, set_by=set_by))
    if "filters" in paths:
        slots = replace(
            slots, filters=_sorted({item.key: replace(item, set_by=set_by) for item in values.filters})
        )
    return replace(slots, answer_format=values.answer_format) if "answer_format" in paths else slots


def _path_faults(paths: Collection[str]) -> list[SlotFault]:
    known = ", ".join(UPDATABLE)
    if not paths:
        return [SlotFault("update_mask", f"is empty: name what to set, of {known}")]
    if all(path in UPDATABLE for path in paths):
        return []
    return [SlotFault("update_mask", f"names something that cannot be set: use {known}")]


def _focus_faults(rules: SlotRules, focus: Focus) -> list[SlotFault]:
    faults = []
    if focus.type not in rules.focus_types:
        faults.append(SlotFault("focus.type", _undeclared("focus type", focus.type, rules.focus_types)))
    if not is_id(focus.id):
        faults.append(SlotFault("focus.id", "is no id: use 1 to 128 letters, digits and ._:@|+=/-"))
    if problem := _text_problem(focus.label):
        faults.append(SlotFault("focus.label", problem))
    return faults


def _filter_faults(rules: SlotRules, filters: Sequence[Filter]) -> list[SlotFault]:
    declared = {item.key: item for item in rules.filters}
    faults = []
    for index, item in enumerate(filters):
        if item.key not in declared:
            faults.append(SlotFault(f"filters[{index}].key", _undeclared("filter", item.key, declared)))
        elif any(other.key == item.key for other in filters[:index]):
            faults.append(SlotFault(f"filters[{index}].key", "is there twice: send each filter once"))
        elif problem := _value_problem(declared[item.key], item.value):
            faults.append(SlotFault(f"filters[{index}].value", problem))
    return faults


def _value_problem(declared: FilterKey, value: str) -> str:
    if not value.strip():
        return "is blank: send a value, or leave the filter out to clear it"
    if declared.values and value not in declared.values:
        return _undeclared(f"value of filter {declared.key!r}", value, declared.values)
    return _text_problem(value)


def _text_problem(text: str) -> str:
    if len(text) > MAX_VALUE_CHARACTERS:
        return f"is longer than {MAX_VALUE_CHARACTERS} characters: shorten it"
    return find_invalid(text) or ""


def _undeclared(what: str, value: str, allowed: Collection[str]) -> str:
    """That something is not in the policy's vocabulary, and what is. Quotes the vocabulary, never the
    value."""
    if not allowed:
        return f"is no {what}: the policy declares none"
    near = get_close_matches(value, allowed, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    shown = ", ".join(list(allowed)[:SHOWN_VALUES])
    more = len(allowed) - SHOWN_VALUES
    return f"is no {what} of the policy: {hint}use one of {shown}" + (f" and {more} more" if more > 0 else "")


def _sorted(filters: Mapping[str, Filter]) -> tuple[Filter, ...]:
    return tuple(filters[key] for key in sorted(filters))
