"""Draws docs/images/prompt.svg: the demo's last prompt, coloured by origin, as the terminal shows it.

`python -m scripts.picture` plays the recorded conversation through a gateway of its own and writes the picture anew.
The dates in it are those of the day on which it was drawn.
"""

import io
import re
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from gateway.cli.run.play import read
from gateway.cli.show.budget import budget_view
from gateway.cli.show.prompt import PromptView
from gateway.client import connect
from gateway.demo.main import RECORDED
from gateway.demo.process import running_gateway
from gateway.demo.story import Story, tell

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "prompt.svg"
_COLUMNS = 118

# Rich's SVG loads its font from a host of somebody else; any monospaced font will do, since each run has its length.
_FONT_FACE = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
_FONTS = {
    "Fira Code, monospace": "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
    "font-family: arial": "font-family: sans-serif",
}


def main() -> int:
    """Play, draw, write."""
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(draw(_played()), encoding="utf-8")
    sys.stdout.write(f"{PICTURE.relative_to(Path.cwd())}: {PICTURE.stat().st_size // 1024} KiB\n")
    return 0


def draw(story: Story) -> str:
    """The picture of a story's prompt and budget; it refers to nothing outside."""
    screen = Console(
        record=True, width=_COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor",
        markup=False, emoji=False, highlight=False,
    )  # fmt: skip
    screen.print(PromptView(story.prompt))
    screen.print()
    screen.print(budget_view(story.prompt.budget_report, story.trace.candidates))
    picture = screen.export_svg(title="A prompt, coloured by origin", unique_id="prompt")
    for old, new in _FONTS.items():
        picture = picture.replace(old, new)
    picture = _FONT_FACE.sub("", picture)
    # One line feed at the end, and no blanks at line ends, as in every file here.
    return "\n".join(line.rstrip() for line in picture.strip().splitlines()) + "\n"


def _played() -> Story:
    with (
        tempfile.TemporaryDirectory(prefix="muniment-picture-") as folder,
        running_gateway(Path(folder) / "data", Path(folder) / "gateway.log") as address,
        connect(address) as client,
    ):
        return tell(client, read(RECORDED))


if __name__ == "__main__":
    sys.exit(main())
