"""Recorded traces as files: the two sides as they were stored, and what they name as it was stored then.

The records of the domain are written as JSON with their class and field names, so that a file of today is
read by a release whose records have gained fields."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from assemblers import records
from assemblers.assembly import Prompt
from assemblers.policy import model
from assemblers.tokens import TokenCounter
from assemblers.trace.capture import CapturedTrace
from assemblers.trace.replay import Surroundings

FOLDER = Path(__file__).parent / "traces"

_KNOWN = {
    name: found
    for module in (records, model)
    for name, found in vars(module).items()
    if isinstance(found, type)
}


@dataclass(frozen=True)
class RecordedTrace:
    """One file: the stored bytes, what they name, and the prompt that was answered."""

    captured: CapturedTrace
    surroundings: Surroundings
    prompt: list[list[Any]]


def prompt_texts(prompt: Prompt) -> list[list[Any]]:
    """A prompt's bytes for people to read in a diff: roles with the texts of parts, formats with their
    bodies."""
    messages = [[message.role.value, [part.text for part in message.parts]] for message in prompt.messages]
    return [*messages, *([name.value, [body.body.decode()]] for name, body in prompt.rendered.items())]


def write_trace(name: str, captured: CapturedTrace, given: Surroundings, prompt: Prompt) -> None:
    """Write a new file. Raises `FileExistsError`: a recorded trace is never recorded again."""
    document = {
        "record": base64.b64encode(captured.record).decode(),
        "content": base64.b64encode(captured.content).decode(),
        "policy": _dump(given.policy),
        "prefix": _dump(given.prefix),
        "tokenizer": given.counter.id,
        "zone": str(given.zone),
        "facts": _dump(tuple(given.facts.values())),
        "excerpts": _dump(tuple(given.excerpts.values())),
        "prompt": prompt_texts(prompt),
    }
    with (FOLDER / f"{name}.json").open("x", encoding="utf-8") as file:
        json.dump(document, file, ensure_ascii=False, indent=1)
        file.write("\n")


def read_trace(path: Path, counters: Mapping[str, TokenCounter]) -> RecordedTrace:
    """Read a file."""
    document = json.loads(path.read_text(encoding="utf-8"))
    captured = CapturedTrace(base64.b64decode(document["record"]), base64.b64decode(document["content"]))
    given = Surroundings(
        _load(document["policy"]),
        _load(document["prefix"]),
        counters[document["tokenizer"]],
        ZoneInfo(document["zone"]),
        {fact.no: fact for fact in _load(document["facts"])},
        {excerpt.no: excerpt for excerpt in _load(document["excerpts"])},
    )
    return RecordedTrace(captured, given, document["prompt"])


def _dump(value: Any) -> Any:
    if isinstance(value, Enum):
        return {"is": type(value).__name__, "value": value.value}
    if is_dataclass(value):
        return {"is": type(value).__name__} | {
            f.name: _dump(getattr(value, f.name)) for f in fields(value) if f.init
        }
    if isinstance(value, datetime):
        return {"is": "datetime", "value": value.isoformat()}
    if isinstance(value, timedelta):
        return {"is": "timedelta", "value": value.total_seconds()}
    if isinstance(value, bytes):
        return {"is": "bytes", "value": value.hex()}
    if isinstance(value, Mapping):
        return {"is": "mapping", "value": [[_dump(key), _dump(item)] for key, item in value.items()]}
    return [_dump(item) for item in value] if isinstance(value, tuple) else value


def _load(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_load(item) for item in value)
    if not isinstance(value, dict):
        return value
    match value.pop("is"):
        case "datetime":
            return datetime.fromisoformat(value["value"])
        case "timedelta":
            return timedelta(seconds=value["value"])
        case "bytes":
            return bytes.fromhex(value["value"])
        case "mapping":
            return {_load(key): _load(item) for key, item in value["value"]}
        case name if issubclass(_KNOWN[name], Enum):
            return _KNOWN[name](value["value"])
        case name:
            return _KNOWN[name](**{field: _load(item) for field, item in value.items()})
