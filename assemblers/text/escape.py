"""Makes stored text safe to show: it stays on its line and can neither open a section nor imitate a token.

The user's own question never passes through here. What comes in is kept beside the trace; what goes out is
for the model and the auditor, and says visibly where something was replaced.
"""

import re
import unicodedata

from assemblers.text.hidden import LINE_BREAK, show_breaks, show_controls, strip_hidden
from assemblers.text.neutral import neutralise

QUOTE = "  > "
"""What each line of a quoted block starts with: no heading, role label or item line starts so."""

# Printable ASCII that can neither start nor end anything of meaning needs no second look.
_SUSPICIOUS = re.compile(r"[^ -;=?-Z\\^_a-{}]")


def inline(text: str) -> str:
    """The text as a safe piece of a rendered line: no line break, no blank at either end, in NFC. Idempotent.

    Line breaks and controls become visible escapes (`\\n`, `\\x07`), terminal sequences and hidden characters
    go, special tokens, tags and Markdown images are made inert. Empty where nothing visible was there.
    """
    if text.isascii() and not _SUSPICIOUS.search(text):
        return text.strip(" ")
    return inline_counted(text)[0]


def inline_counted(text: str) -> tuple[str, int]:
    """As `inline`, with the number of hidden characters and controls that were taken out or made visible."""
    if text.isascii() and not _SUSPICIOUS.search(text):
        return text.strip(" "), 0
    bare, hidden = strip_hidden(text)
    shown, controls = show_controls(show_breaks(bare.strip()))
    return _plain(shown).strip(), hidden + controls


def hidden_characters(*texts: str) -> int:
    """How many characters `inline` takes out of the texts or makes visible, without rendering them."""
    count = 0
    for text in texts:
        printable = text.isprintable()
        if printable and text.isascii():
            continue
        bare, hidden = strip_hidden(text)
        count += hidden if printable else hidden + show_controls(show_breaks(bare.strip()))[1]
    return count


def block(text: str) -> str:
    """The text as quoted lines, each `QUOTE` + line + one line feed; empty where nothing visible was there.

    Indentation within a line stays, blank lines at both ends and blanks at line ends go.
    """
    return block_counted(text)[0]


def block_counted(text: str) -> tuple[str, int]:
    """As `block`, with the number of hidden characters and controls that were taken out or made visible."""
    bare, hidden = strip_hidden(text)
    lines, removed = [], hidden
    for line in LINE_BREAK.split(bare.expandtabs(4)):
        shown, controls = show_controls(line)
        lines.append(_plain(shown).rstrip())
        removed += controls
    return "".join(f"{QUOTE}{line}".rstrip() + "\n" for line in _without_blank_ends(lines)), removed


def _plain(text: str) -> str:
    return unicodedata.normalize("NFC", neutralise(unicodedata.normalize("NFC", text)))


def _without_blank_ends(lines: list[str]) -> list[str]:
    filled = [index for index, line in enumerate(lines) if line]
    return lines[filled[0] : filled[-1] + 1] if filled else []
