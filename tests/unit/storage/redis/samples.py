"""A fact, short to make."""

from assemblers.records import Fact, FactKind, FactOrigin, Subject, UserRef, ValueType
from storage.conformance.samples import NOW, later


def fact_of(user: UserRef, value: str, no: int = 1) -> Fact:
    """A fact of the user's that says the value."""
    return Fact(
        no=no,
        user=user,
        subject=Subject(),
        key="key",
        type=ValueType.TEXT,
        value=value,
        kind=FactKind.CONTEXT,
        origin=FactOrigin.STATED,
        source="chat",
        writer="agent",
        confidence_permille=1000,
        read_time=NOW,
        write_time=NOW,
        expire_time=later(days=90),
        revision=no,
        commitment=b"c" * 32,
    )
