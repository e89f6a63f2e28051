"""The schema revision that this release reads and writes. Kept apart so that starting needs no schema tool."""

from typing import Final

REVISION: Final = "0001"
"""The head of `storage/sql/migrations`; a test holds the two together."""
