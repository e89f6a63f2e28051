"""The role that gateways act in on Postgres."""

import re
from typing import Final

APP_ROLE: Final = "muniment_app"
"""The group of the gateways' login roles, unless another is named."""

_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}\Z")


def check_role(name: str) -> str:
    """The name of a role as it may stand in a statement, without quotes. Raises `ValueError`."""
    if not _NAME.match(name):
        raise ValueError("the role's name has small letters, digits and underscores only, at most 63")
    return name
