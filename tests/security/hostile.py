"""The hostile strings of `tests/data/hostile`, and ways to disguise them."""

import json
from pathlib import Path

_FOLDER = Path(__file__).parents[1] / "data" / "hostile"
_TOKENS = json.loads((_FOLDER / "special_tokens.json").read_text())
_QUERIES = json.loads((_FOLDER / "query_and_markup_injection.json").read_text())

SPECIAL: list[str] = _TOKENS["special_tokens"]
MARKERS: list[str] = _TOKENS["role_and_section_markers"]
SMUGGLED: dict[str, str] = json.loads((_FOLDER / "unicode_smuggling.json").read_text())
QUERIES: list[str] = _QUERIES["fts_tsquery_like"]
LINKS: list[str] = _QUERIES["markdown_exfil"]
BREAKS = ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]


def full_width(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def nested(text: str) -> str:
    middle = len(text) // 2
    return text[:middle] + text + text[middle:]


def with_zero_width(text: str) -> str:
    return "\u200b".join(text)


DISGUISES = [str, full_width, nested, with_zero_width]
