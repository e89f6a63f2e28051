"""Cuts a file into JSON objects, one a line, and refuses what is not one."""

import json
from collections.abc import Iterator
from typing import NoReturn

from gateway.client.conversations.errors import LineError

MAX_LINE_BYTES = 1 << 20


def json_lines(data: bytes, file: str) -> Iterator[tuple[int, dict[str, object]]]:
    """Each object with the number of its line, from 1; blank lines are passed over. Raises `LineError`."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line.strip():
            yield number, _object(line, file, number)


def _object(line: bytes, file: str, number: int) -> dict[str, object]:
    def refuse(reason: str) -> NoReturn:
        raise LineError(file, number, "", reason)

    if len(line) > MAX_LINE_BYTES:
        refuse(f"has {len(line)} bytes: write at most {MAX_LINE_BYTES}")
    try:
        text = line.decode()
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
        text.encode() and json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        refuse(f"is not UTF-8 at byte {error.start + 1}: save the file as UTF-8")
    except UnicodeEncodeError:
        refuse("holds half of a surrogate pair: write the character itself")
    except json.JSONDecodeError as error:
        refuse(f"is not JSON at column {error.colno}: {error.msg}")
    except RecursionError:
        refuse("is nested too deeply: write at most 32 levels")
    except ValueError as error:
        refuse(str(error))
    if not isinstance(value, dict):
        refuse("is not a JSON object: each line is one, such as " + '{"type": "turn", …}')
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"gives `{name}` twice: keep one of them")
    return dict(pairs)


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"holds {word}, which is no JSON: write a number")
