"""Takes out of a text what a reader cannot see: terminal sequences, tags, bidi marks, stray joiners.

What carries meaning stays: joiners between the parts of an emoji, within Indic syllables and between Arabic
letters, one presentation selector after an emoji or keycap base, and the three sub-national flags.
"""

import re

import regex

_STRING_END = r"[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"
# Every ESC is part of some match, so nothing that is taken out can leave a new sequence behind.
_TERMINAL = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    rf"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f]){_STRING_END}"  # OSC, DCS, SOS, PM, APC with what they carry
    r"|\x1b[ -/]*[0-~]?"
)

_INDIC = r"\p{Deva}\p{Beng}\p{Guru}\p{Gujr}\p{Orya}\p{Taml}\p{Telu}\p{Knda}\p{Mlym}\p{Sinh}\p{Khmr}\p{Mymr}"
_CURSIVE = r"\p{Arab}\p{Syrc}\p{Nkoo}\p{Mong}"
_FLAGS = "|".join(
    "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
)
# A kept character has visible neighbours on both sides in the text as it came, so a second pass keeps it too.
_KEPT = (
    r"(?<=\p{ExtPict}[\p{EMod}\ufe0f]?)\u200d(?=\p{ExtPict})"
    rf"|(?<=[{_INDIC}])[\u200c\u200d](?=[{_INDIC}])"
    r"|(?<=\p{InSC=Virama})[\u200c\u200d](?=[\p{L}\s\p{P}]|$)"
    rf"|(?<=[{_CURSIVE}])[\u200c\u200d](?=[{_CURSIVE}])"
    r"|(?<=\p{ExtPict})[\ufe0e\ufe0f]"
    r"|(?<=[0-9#*])\ufe0f(?=\u20e3)"
    rf"|(?<=\U0001f3f4)(?:{_FLAGS})"
)
_INVISIBLE = r"[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\ufff9-\ufffb]"
_HIDDEN = regex.compile(rf"({_KEPT})|{_INVISIBLE}")
_ANY_HIDDEN = regex.compile(_INVISIBLE)
_TERMINAL_START = re.compile("[\x1b\x90\x98\x9b\x9d-\x9f]")

LINE_BREAK = re.compile("\r\n|[\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
"""The ten line breaks of Unicode, and the pair that counts as one."""

_BREAK_NAMES = {"\r\n": r"\n", "\n": r"\n", "\r": r"\r", "\x0b": r"\v", "\x0c": r"\f"}
_CONTROL = regex.compile(r"[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]")


def strip_hidden(text: str) -> tuple[str, int]:
    """The text without terminal sequences and invisible characters, and how many characters went."""
    bare = _TERMINAL.sub("", text) if _TERMINAL_START.search(text) else text
    if not bare.isascii() and _ANY_HIDDEN.search(bare):
        bare = str(_HIDDEN.sub(lambda match: match.group(1) or "", bare))
    return bare, len(text) - len(bare)


def show_breaks(text: str) -> str:
    """The text with each line break written as an escape, `\\n` for the usual ones.

    A backslash of the text stays single, as escaping twice must change nothing: the auditor who needs to tell
    a written `\\n` from a line break finds the stored text beside the trace.
    """
    return LINE_BREAK.sub(lambda match: _BREAK_NAMES.get(match.group()) or _escape(match.group()), text)


def show_controls(text: str) -> tuple[str, int]:
    """The text with controls, lone surrogates and noncharacters as escapes such as `\\x07`, and their number.

    Expects a text without line breaks. A tab becomes a space and is not counted.
    """
    if text.isprintable():
        return text, 0
    shown, count = _CONTROL.subn(lambda match: _escape(match.group()), text.replace("\t", " "))
    return str(shown), int(count)


def _escape(character: str) -> str:
    point = ord(character)
    if point <= 0xFF:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"
