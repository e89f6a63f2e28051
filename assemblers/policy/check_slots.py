"""Checks of the session's vocabulary and of how tools set slots."""

from datetime import timedelta

from assemblers.policy.diagnostics import (
    Diagnostics,
    check_id,
    check_line,
    check_lookalikes,
    check_unique,
    check_values,
    did_you_mean,
    error,
    warning,
)
from assemblers.policy.model import FilterKey, Policy, SlotRules, ToolBinding

LABEL_CHARACTERS = 128
VALUE_CHARACTERS = 200
FORMAT_CHARACTERS = 128
MAX_TTL = timedelta(days=30)


def check_slots(policy: Policy) -> Diagnostics:
    """All findings on `slots`."""
    rules = policy.slots
    yield from _check_focus_types(rules)
    keys = [item.key for item in rules.filters]
    yield from check_unique("slots.filter_duplicate", "slots.filters[{}].key", keys, "filter")
    yield from check_lookalikes("slots.filter_lookalike", "slots.filters[{}].key", keys, "filter")
    for index, item in enumerate(rules.filters):
        yield from _check_filter(item, f"slots.filters[{index}]")
    yield from check_values("slots.formats", "slots.formats[{}]", rules.formats, FORMAT_CHARACTERS)
    tools = [binding.tool for binding in rules.tool_bindings]
    yield from check_unique("slots.tool_duplicate", "slots.tool_bindings[{}].tool", tools, "tool")
    for index, binding in enumerate(rules.tool_bindings):
        yield from _check_binding(binding, rules, f"slots.tool_bindings[{index}]")
    if not timedelta(0) < rules.ttl <= MAX_TTL:
        yield error("slots.ttl", "slots.ttl", "slots live above zero and at most 30 days", "write such as 1h")


def _check_focus_types(rules: SlotRules) -> Diagnostics:
    names = rules.focus_types
    for index, name in enumerate(names):
        yield from check_id("slots.focus_type", f"slots.focus_types[{index}]", name)
    yield from check_unique("slots.focus_duplicate", "slots.focus_types[{}]", names, "focus type")
    yield from check_lookalikes("slots.focus_lookalike", "slots.focus_types[{}]", names, "focus type")


def _check_filter(item: FilterKey, path: str) -> Diagnostics:
    yield from check_id("slots.filter", f"{path}.key", item.key)
    yield from check_line("slots.filter_label", f"{path}.label", item.label, LABEL_CHARACTERS)
    yield from check_values("slots.filter_values", f"{path}.values[{{}}]", item.values, VALUE_CHARACTERS)


def _check_binding(binding: ToolBinding, rules: SlotRules, path: str) -> Diagnostics:
    yield from check_id("slots.tool", f"{path}.tool", binding.tool)
    yield from _check_focus(binding, rules, path)
    declared = [item.key for item in rules.filters]
    for index, (key, argument) in enumerate(binding.filter_arguments.items()):
        place = f"{path}.filter_arguments[{index}]"
        if key not in declared:
            problem = f"the filter {key!r} is not declared"
            yield error(
                "slots.filter_unknown",
                f"{place}.filter",
                problem,
                did_you_mean(key, declared) or "declare it",
            )
        yield from _check_path(argument, f"{place}.argument")
    if not binding.focus_type and not binding.filter_arguments:
        yield warning(
            "slots.binding_empty", path, f"the tool {binding.tool!r} sets nothing", "take the binding out"
        )


def _check_focus(binding: ToolBinding, rules: SlotRules, path: str) -> Diagnostics:
    kind = binding.focus_type
    if not kind:
        if binding.focus_id_field or binding.focus_label_field:
            problem = "the focus has fields but no type"
            yield error(
                "slots.focus_missing", f"{path}.focus_type", problem, "name the type, or take the fields out"
            )
        return
    if kind not in rules.focus_types:
        hint = did_you_mean(kind, rules.focus_types) or "declare it in focus_types"
        yield error(
            "slots.focus_unknown", f"{path}.focus_type", f"the focus type {kind!r} is not declared", hint
        )
    if not binding.focus_id_field:
        problem = "a focus needs an id"
        yield error(
            "slots.focus_id",
            f"{path}.focus_id_field",
            problem,
            "give its path in the result, such as customer.id",
        )
    else:
        yield from _check_path(binding.focus_id_field, f"{path}.focus_id_field")
    if binding.focus_label_field:
        yield from _check_path(binding.focus_label_field, f"{path}.focus_label_field")


def _check_path(path: str, field: str) -> Diagnostics:
    if not all(path.split(".")):
        yield error("slots.path", field, f"the path {path!r} has an empty step", "write such as customer.id")
    elif "[" in path or path.startswith("$"):
        # A JSONPath is the likeliest mistake here, and as a dotted path it would silently find nothing.
        yield warning(
            "slots.path", field, f"the path {path!r} looks like JSONPath", "write such as items.0.id"
        )
