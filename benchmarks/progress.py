"""Progress of long work, on stderr: the figures on stdout stay alone."""

import sys
import time
from collections.abc import Callable

_EVERY_SECONDS = 2.0


def say(text: str) -> None:
    """One line."""
    print(text, file=sys.stderr, flush=True)


def counter(what: str, total: int) -> Callable[[], None]:
    """A function to call per finished step; it says every few seconds how many there are."""
    done, said = 0, time.monotonic()

    def step() -> None:
        nonlocal done, said
        done += 1
        if time.monotonic() - said >= _EVERY_SECONDS or done == total:
            said = time.monotonic()
            say(f"  {what}: {done:,} of {total:,}")

    return step
