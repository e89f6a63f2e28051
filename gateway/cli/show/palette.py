"""One colour for each section, the same in every view; and the words for enum values."""

from rich.style import Style
from rich.text import Text

from muniment.v1.prompt_pb2 import Reason
from muniment.v1.types_pb2 import SectionKind, SectionStatus

SECTIONS: dict[str, str] = {
    "PREFIX": "cyan",
    "FACTS": "green",
    "HISTORY": "yellow",
    "MATERIAL": "magenta",
    "SESSION": "bright_blue",
    "QUESTION": "bold",
}


def section_name(section: "SectionKind.ValueType") -> str:
    """`FACTS`; `PROMPT` for what concerns the whole."""
    name = SectionKind.Name(section).removeprefix("SECTION_KIND_")
    return "PROMPT" if name == "UNSPECIFIED" else name


def section_style(section: "SectionKind.ValueType", item_id: str = "") -> Style:
    """The colour of a section; the policy's own words stand back."""
    style = Style.parse(SECTIONS.get(section_name(section), "default"))
    return style + Style(italic=True, dim=True) if item_id.startswith("policy/") else style


def section_text(section: "SectionKind.ValueType") -> Text:
    """The section's name in its colour."""
    return Text(section_name(section), section_style(section))


def status_name(status: "SectionStatus.ValueType") -> str:
    """`ok`, `skipped budget`."""
    return _words(SectionStatus.Name(status), "SECTION_STATUS_")


def reason_name(reason: "Reason.ValueType") -> str:
    """`over ceiling`."""
    return _words(Reason.Name(reason), "REASON_")


def _words(name: str, prefix: str) -> str:
    return name.removeprefix(prefix).lower().replace("_", " ")


def legend() -> Text:
    """The sections in their colours, and what the left column says."""
    text = Text()
    for name, style in SECTIONS.items():
        text.append("■ ", style)
        text.append(f"{name.lower()}  ", style)
    text.append("policy's words", Style(italic=True, dim=True))
    text.append("\nleft of each line: the item that it comes from", "dim")
    return text
