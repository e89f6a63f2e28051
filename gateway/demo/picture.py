"""`python -m gateway.demo.picture FILE.svg`: the recorded conversation's last prompt, coloured by origin, as a picture."""

import io
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from gateway.cli.run.play import read
from gateway.cli.show.prompt import PromptView
from gateway.client import connect
from gateway.demo.main import RECORDED
from gateway.demo.process import running_gateway
from gateway.demo.story import tell

_COLUMNS = 110


def draw(target: Path) -> None:
    """Play the recorded conversation, and write the picture."""
    with (
        tempfile.TemporaryDirectory(prefix="muniment-demo-") as folder,
        running_gateway(Path(folder) / "data", Path(folder) / "gateway.log") as address,
        connect(address) as client,
    ):
        story = tell(client, read(RECORDED))
    out = Console(record=True, file=io.StringIO(), width=_COLUMNS, markup=False, emoji=False, highlight=False)
    out.print(PromptView(story.prompt))
    out.save_svg(str(target), title="A prompt, coloured by origin", unique_id="muniment")


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
