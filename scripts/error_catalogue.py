"""Write `docs/errors.md` from the comments of `ErrorReason` in errors.proto."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path("proto/muniment/v1/errors.proto")
TARGET = Path("docs/errors.md")

_INTRODUCTION = """\
# Errors

<!-- Written by scripts/error_catalogue.py from proto/muniment/v1/errors.proto. Do not edit. -->

Every error of a Muniment method is a `google.rpc.Status` in the trailing metadata `grpc-status-details-bin`. Its first
detail is always a `google.rpc.ErrorInfo`: branch on its `reason`, never on the message. The domain is `muniment.v1`.
Further details follow where they fit: `BadRequest` lists every violation by field path, `RetryInfo` says when to try
again, `QuotaFailure` names the limit, `PreconditionFailure` the state that stands in the way.

| code | repeat the call? |
| --- | --- |
| `INVALID_ARGUMENT` | no: change the request |
| `NOT_FOUND`, `PERMISSION_DENIED` | no: another's thing and none at all are told in the same bytes |
| `ALREADY_EXISTS` | no: choose a new id |
| `FAILED_PRECONDITION` | no: change the state first |
| `ABORTED` | yes, after reading again |
| `RESOURCE_EXHAUSTED` | where a `RetryInfo` is there, after its delay |
| `UNAVAILABLE` | yes, after the delay in `RetryInfo`, with the same ids |
| `DEADLINE_EXCEEDED` | yes, with the same ids and more time |
| `INTERNAL` | once; then report the incident id |

Refusals of the transport itself carry no details: an unknown method (`UNIMPLEMENTED`), a message over 4 MiB or metadata
over 8 KiB (`RESOURCE_EXHAUSTED`), and a call that its client cancelled or whose own deadline passed. A list of
violations is cut where it would outgrow the 8 KiB that clients accept.
"""


@dataclass(frozen=True, slots=True)
class ReasonEntry:
    """One value of the enum: its gRPC code, what it means, and an example of its metadata."""

    name: str
    code: str
    text: str
    metadata: dict[str, str]


def entries(source: str) -> Iterator[ReasonEntry]:
    """The reasons with their comments, in the order of the file. Raises `ValueError` for a comment out of form."""
    for comment, name in re.findall(r"((?:^ +//.*\n)+) +ERROR_REASON_(\w+) = [1-9]", source, re.MULTILINE):
        text = " ".join(line.strip().removeprefix("//").strip() for line in comment.splitlines())
        match = re.fullmatch(r"([A-Z_]+)(?: with \w+)?\. (.*?) Metadata: (\{.*\})", text)
        if match is None:
            raise ValueError(f"ERROR_REASON_{name}: begin with the code and end with `Metadata: {{...}}`")
        yield ReasonEntry(name, match[1], match[2], json.loads(match[3]))


def render(source: str) -> str:
    """The text of the catalogue."""
    lines = [_INTRODUCTION]
    code = ""
    for entry in entries(source):
        if entry.code != code:
            code = entry.code
            lines += [f"## {code}", ""]
        lines += [f"### {entry.name}", "", entry.text, ""]
        if entry.metadata:
            lines += [f"Metadata: `{json.dumps(entry.metadata, ensure_ascii=False)}`", ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    TARGET.write_text(render(SOURCE.read_text(encoding="utf-8")), encoding="utf-8")
