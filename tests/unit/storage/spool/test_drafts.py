"""A draft survives its way through bytes, with everything that a later append needs."""

from dataclasses import replace
from datetime import timedelta

import pytest

from assemblers.records import Role, Text, ToolCall, ToolResult, Turn
from storage.conformance.samples import NOW, trace, turn
from storage.ports import TraceDraft
from storage.spool.drafts import decode_draft, encode_draft

CALLS = Turn("t2", Role.ASSISTANT, (Text("wait"), ToolCall("c1", "find", '{"a":1}')), NOW, "Bot")
RESULTS = Turn("t3", Role.TOOL, (ToolResult("c1", "find", is_error=True, result_json='"none"'),), NOW)


@pytest.mark.parametrize(
    "draft",
    [
        trace("a"),
        trace("a", kept=turn("t1", "größer \U0001f642\n\u2028")),
        trace("a", kept=CALLS),
        replace(trace("a", kept=RESULTS), turn_expire_time=NOW + timedelta(hours=1), request_id="r1"),
        replace(trace("a"), record=b"", content=b"\x00\xff" * 500, policy=""),
    ],
)
def test_a_draft_reads_as_it_was_written(draft: TraceDraft):
    assert decode_draft(encode_draft(draft)) == draft
