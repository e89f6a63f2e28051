"""Makes text safe for a terminal: what would move the cursor, colour, hide or turn text is shown by its code."""

import unicodedata

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_DIGEST_DIGITS = 64
# Joins emoji such as a cook's; alone it changes nothing that could mislead.
_ZERO_WIDTH_JOINER = "\u200d"


def visible(text: str, keep_lines: bool = False) -> str:
    """The text with control, format and separator characters written as `\\u{…}`; line feeds stay where asked for."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(character, keep_lines) for character in text)


def _visible(character: str, keep_lines: bool) -> str:
    if character == "\n":
        return character if keep_lines else "\\n"
    if character == "\t":
        return "  "
    if character == _ZERO_WIDTH_JOINER or unicodedata.category(character) not in _HIDDEN:
        return character
    return f"\\u{{{ord(character):x}}}"


def short_name(name: str) -> str:
    """The end of a resource name, a digest cut to 12 digits: `facts/12`, `support@3f2b9c81d0aa`."""
    head, slash, last = name.rpartition("/")
    if len(last) == _DIGEST_DIGITS:
        return f"{head.rpartition('/revisions')[0].rpartition('/')[2]}@{last[:12]}"
    return f"{head.rpartition('/')[2]}{slash}{last}"


def shortened(text: str, width: int) -> str:
    """One visible line of at most `width` characters; the middle gives way."""
    line = visible(text)
    if len(line) <= width:
        return line
    head = (width - 1) * 2 // 3
    return f"{line[:head]}…{line[len(line) - (width - 1 - head) :]}"
