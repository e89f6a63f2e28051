"""Records traces with the code of today: `python -m tests.replay.record`, once per format or renderer
version.

What is in `traces/` already stays as it is: those files stand for the traces that users have kept.
"""

from collections.abc import Callable

from assemblers.assembly import PromptFormat
from assemblers.trace.record import RECORD_FORMAT, RENDERER_VERSION
from tests.replay.fixtures import FOLDER, write_trace
from tests.replay.scene import TOOL_LOOP, VECTORS, Scene, play, policy

SCENES: dict[str, Callable[[], Scene]] = {
    "five-sections": lambda: play(formats=tuple(PromptFormat)),
    "tool-loop": lambda: play(turn=TOOL_LOOP, formats=tuple(PromptFormat)),
    "ceilings": lambda: play(policy(facts=90, history=150, material=0)),
    "little-budget": lambda: play(limit=900),
    "below-the-cutoff": lambda: play(policy(excerpts=2), kept=3),
    "nothing-to-search-by": lambda: play(question="the of and"),
    "facts-unavailable": lambda: play(facts=None),
    "with-vectors": lambda: play(vectors=VECTORS, kept=6),
}


def main() -> None:
    """Record the scenes that are not there yet under today's versions."""
    FOLDER.mkdir(exist_ok=True)
    for name, scene in SCENES.items():
        file = f"format-{RECORD_FORMAT}-renderer-{RENDERER_VERSION}-{name}"
        if not (FOLDER / f"{file}.json").exists():
            played = scene()
            write_trace(file, played.captured, played.surroundings, played.assembly.prompt)


if __name__ == "__main__":
    main()
