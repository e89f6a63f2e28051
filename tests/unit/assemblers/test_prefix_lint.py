"""A prefix with something that changes is refused with the place; text that only looks alike is let pass."""

import json
from datetime import UTC, datetime
from time import perf_counter

import pytest

from assemblers.prefix_lint import MAX_FINDINGS, PATTERN_NAMES, find_dynamic, find_dynamic_in_prefix
from assemblers.records import ToolDefinition

DYNAMIC = [
    ("date", "Today is 2026-11-15."),
    ("date", "As of 2026/11/15 the"),
    ("date", "seen 2026-11-15T10:00:00Z by"),
    ("date", "seen 20261115T101500Z"),
    ("date", "on 11/15/2026 we"),
    ("date", "am 15.11.2026 war"),
    ("date", "May 8, 2023"),
    ("date", "May 8th 2023"),
    ("date", "8 May 2023"),
    ("date", "the 8th of May, 2023"),
    ("date", "Sun, 15 Nov 2026"),
    ("date", "Sunday, November 15"),
    ("date", "8. Mai 2023"),
    ("date", "8 de mayo de 2023"),
    ("date", "le 8 août 2023"),
    ("date", "2026年11月15日です"),
    ("time", "It is 10:31 now"),
    ("time", "at 23:59:59.123"),
    ("time", "at 5 pm"),
    ("time", "at 11:05 a.m."),
    ("time", "um 14 Uhr"),
    ("time", "now=1763208000"),
    ("time", "ts: 1763208000123"),
    ("uuid", "user 3f2504e0-4f89-11d3-9a0c-0305e82c3301"),
    ("uuid", "ID 3F2504E0-4F89-11D3-9A0C-0305E82C3301."),
    ("email", "write to jane.doe+x@example.co.uk"),
    ("email", "<max@müller.de>"),
    ("template", "Hello {{ name }}"),
    ("template", "{{#if user.admin}}"),
    ("template", "{{ items | join(', ') }}"),
    ("template", "{% if admin %}"),
    ("template", "Hello ${user.name}"),
    ("template", "${NAME:-you}"),
    ("template", "Hello {name}"),
    ("template", "{user[name]!r}"),
    ("template", "Sum {total:.2f}"),
    ("template", "Sum {total:02d}"),
    ("template", "Hello {0}"),
    ("template", "Hello <%= name %>"),
    ("template", "Hello %(name)s"),
    ("template", "Hello %s,"),
]

STATIC = [
    '{"a": 1, "b": {"c": {}}}',
    "{a: 1}",
    "{ return x; }",
    "if (x) { y() }",
    "import {useState} from 'react'",
    "style={{color: 'red'}}",
    "int m[2][2] = {{1, 2}, {3, 4}};",
    r"\frac{a}{b} and x^{n}",
    r"^\d{4}-[a-z]{2}$ and .{3}",
    "strftime %Y-%m-%d %H:%M:%S",
    "100% sure, 5%",
    "Use gpt-4o-2024-08-06 or claude-3-5-sonnet-20241022.",
    "Version 1.2.3, 10.0.0.1, RFC 2822, ISO-8601, 24/7, 2026-2027",
    "a ratio of 16:9, port localhost:8080, aa:bb:cc:dd:ee:ff, 12:34:56:78:9a:bc",
    "The knowledge ends in October 2023.",
    "I am, you may, march on; call 911, item 1234567",
    "Escalate to @support, see a@b, user@localhost",
    "deadbeef-1234, sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "Answer within 3 days. At most 10 000 000 000 items, or 99999999999.",
    "{}, {{}}, ${}, $5, {1,2}",
]


@pytest.mark.parametrize(("pattern", "text"), DYNAMIC)
def test_what_changes_from_call_to_call_is_found_under_its_name(pattern, text):
    assert pattern in {found.pattern for found in find_dynamic(text)}


@pytest.mark.parametrize(("pattern", "text"), DYNAMIC)
def test_what_is_allowed_by_name_passes(pattern, text):
    assert pattern not in {found.pattern for found in find_dynamic(text, [pattern])}
    assert find_dynamic(text, PATTERN_NAMES) == ()


@pytest.mark.parametrize("text", STATIC)
def test_static_text_passes(text):
    assert find_dynamic(text) == ()


def test_the_place_is_told_in_lines_and_columns():
    (found,) = find_dynamic("You help.\n\nToday: 2026-11-15, as ever.")
    assert (found.offset, found.line, found.column, found.snippet) == (18, 3, 8, "2026-11-15")
    assert str(found) == (
        "text, line 3, column 8: '2026-11-15' looks like a date: take it out, or allow 'date'"
    )


def test_findings_come_in_the_order_of_the_text_and_not_without_end():
    found = find_dynamic("{name} at 10:31, " * 50)
    assert len(found) == MAX_FINDINGS
    assert [f.offset for f in found] == sorted(f.offset for f in found)


def test_every_string_of_a_tool_is_looked_at():
    definition = {
        "description": "Finds invoices of jane@example.com",
        "parameters": {
            "type": "object",
            "properties": {
                "a/b": {"type": "string", "examples": ["x", "2026-11-15"]},
                "n": {"maximum": 1763208000},
            },
        },
    }
    tools = [ToolDefinition("plain", "{}"), ToolDefinition("find", json.dumps(definition))]
    found = find_dynamic_in_prefix("You help {name}.", tools)
    assert [(f.pattern, f.field) for f in found] == [
        ("template", "text"),
        ("email", "tools[1].definition_json#/description"),
        ("date", "tools[1].definition_json#/parameters/properties/a~1b/examples/1"),
    ]
    assert find_dynamic_in_prefix("You help {name}.", tools, ["template", "email", "date"]) == ()


def test_a_schema_is_not_taken_for_a_template():
    schema = {
        "description": "Looks up",
        "parameters": {"properties": {"id": {"pattern": "^[A-Z]{3}-\\d{4}$"}}},
    }
    text = f"You help. Answer as JSON, like {json.dumps(schema)}"
    assert find_dynamic_in_prefix(text, [ToolDefinition("find", json.dumps(schema))]) == ()


@pytest.mark.parametrize(
    "format_", ["%c", "%x %X", "%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "%H:%M", "%I:%M %p", "%s"]
)
def test_a_clock_in_any_usual_form_is_found(format_):
    now = datetime(2026, 11, 15, 10, 31, tzinfo=UTC)
    text = str(int(now.timestamp())) if format_ == "%s" else now.strftime(format_)
    assert find_dynamic(f"Now: {text}.")


@pytest.mark.parametrize(
    "unit",
    ["a", "a.", "1", "1-", "{", "{{", "{{a", "{a", "${a", "<%", "%(", "a@", "a@a.", "2026-", "{%", " ", "\n"],
)
def test_long_text_takes_linear_time(unit):
    begin = perf_counter()
    find_dynamic(unit * (262_144 // len(unit)))
    assert perf_counter() - begin < 5


def test_the_names_are_those_of_the_contract():
    assert PATTERN_NAMES == ("date", "time", "uuid", "email", "template")
