"""Traces that were recorded by former code replay to the same bytes with today's.

A failure here means that users' traces no longer replay. Do not record the files again: keep the former
renderer or decoder beside the new one, under its version."""

from pathlib import Path

import pytest

from assemblers.trace.codec import decode_record, encode_record
from assemblers.trace.content_codec import decode_content
from assemblers.trace.record import RECORD_FORMAT, RENDERER_VERSION
from assemblers.trace.replay import compare, content_matches, evidence_matches, replay
from tests.replay.fixtures import FOLDER, prompt_texts, read_trace
from tests.replay.record import SCENES
from tests.replay.scene import COUNTER

TRACES = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_a_recorded_trace_replays_to_the_same_bytes(path: Path):
    recorded = read_trace(path, {"bytes": COUNTER})
    record, content = decode_record(recorded.captured.record), decode_content(recorded.captured.content)
    again = replay(record, content, recorded.surroundings)
    assert prompt_texts(again.prompt) == recorded.prompt
    assert compare(record, content, again).identical


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_a_recorded_trace_still_proves_what_it_did(path: Path):
    recorded = read_trace(path, {"bytes": COUNTER})
    record, content = decode_record(recorded.captured.record), decode_content(recorded.captured.content)
    assert encode_record(record) == recorded.captured.record
    assert content_matches(record, content, recorded.captured.content)
    assert evidence_matches(record, recorded.surroundings)


def test_every_scene_is_recorded_under_todays_versions():
    today = f"format-{RECORD_FORMAT}-renderer-{RENDERER_VERSION}"
    recorded = {path.stem for path in TRACES}
    assert {f"{today}-{name}" for name in SCENES} <= recorded, "run python -m tests.replay.record and commit"
