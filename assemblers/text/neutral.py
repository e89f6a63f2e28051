"""Takes the power out of text that imitates structure: special tokens, tags, bracketed roles, images, fences.

Characters are replaced or spaced, never taken out, so nothing can be nested to survive. What replaces them
has no compatibility form, so that folding the result (NFKC) does not bring them back. `x <= 5`, `<3`, `[1]`
stay.
"""

import re
import unicodedata

_LT = "<＜﹤"
_GT = ">＞﹥"
_BAR = "|｜"
_OPEN = r"\[［﹇"
_CLOSE = r"\]］﹈"
_TICK = "`｀"
_TILDE = "~～"
_UPPER_WORD = "[a-z]?[A-ZＡ-Ｚ][A-Z_0-9Ａ-Ｚ＿０-９]+"
_ROLES = "(?i:system|developer|user|assistant|human|tool|inst)"

_HAZARD = re.compile(
    rf"(?P<lt>[{_LT}](?![ 0-9=\-]))"
    rf"|(?P<gt>[{_BAR}][{_GT}])"
    r"|(?P<bar>｜)"
    rf"|(?P<image>[!！﹗](?=[{_OPEN}]))"
    rf"|(?P<open>[{_OPEN}](?=[/／]?(?:{_UPPER_WORD}|{_ROLES})[{_CLOSE}]|[eｅ][{_TILDE}][{_OPEN}]))"
    rf"|(?P<close>[{_CLOSE}](?=[{_TILDE}][a-zａ-ｚ]+[{_CLOSE}]))"
    rf"|(?P<link>[{_CLOSE}](?=[(（﹙⁽₍:：{_OPEN}]))"
    rf"|(?P<fence>[{_TICK}][{_TICK}][{_TICK}]+|[{_TILDE}][{_TILDE}][{_TILDE}]+)"
)
# What a hazard can begin with: a plain set is found many times faster than the alternatives above.
_START = re.compile(rf"[{_LT}{_BAR}!！﹗{_OPEN}{_CLOSE}{_TICK}{_TILDE}]")
_SUBSTITUTES = {"lt": "‹", "bar": "¦", "open": "⟦", "close": "⟧"}


def neutralise(text: str) -> str:
    """The text with everything that imitates structure made inert, also under NFKC. Idempotent."""
    text = _defused(text)
    while not unicodedata.is_normalized("NFKC", text):
        folded = unicodedata.normalize("NFKC", text)
        defused = _defused(folded)
        if defused == folded:
            break
        # A rare compatibility form (`⒜` is "(a)") hides a hazard: only then the whole text is folded.
        text = defused
    return text


def _defused(text: str) -> str:
    pieces: list[str] = []
    done = 0
    for start in _START.finditer(text):
        match = _HAZARD.match(text, start.start()) if start.start() >= done else None
        if match:
            pieces += (text[done : match.start()], _inert(match))
            done = match.end()
    return "".join(pieces) + text[done:]


def _inert(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    found = match.group()
    if kind == "fence":
        return ("ˋ" if found[0] in _TICK else "∼") * len(found)
    if kind == "gt":
        return ("¦" if found[0] == "｜" else "|") + "›"
    if kind in ("image", "link"):
        return found + " "
    return _SUBSTITUTES[kind]
