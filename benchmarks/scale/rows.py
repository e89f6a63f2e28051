"""The rows of residents: their keys, facts and archives, as the product writes them."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from assemblers.policy.model import ArchiveRules
from assemblers.records import FactKind, FactOrigin, Role, Subject, Text, Turn, ValueType
from benchmarks import scene
from benchmarks.scale.collecting import Collector
from benchmarks.scale.population import Resident
from gateway.usecases.archiving import KnownSession, PastSession, cut_session
from storage.encryption.data_key import DataKey
from storage.encryption.key_ring import new_user_key, unwrapped
from storage.encryption.key_rows import FIRST_KEY_NO
from storage.encryption.user_cipher import UserCipher
from storage.ports import ArchivedSession, FactDraft
from storage.sql.archive_changes import append_sessions
from storage.sql.columns import to_micros
from storage.sql.fact_changes import record_facts

_TURNS_PER_SESSION: Final = 28
_WORDS: Final = 18
_TO_LIVE: Final = timedelta(days=180)
_RULES: Final = ArchiveRules()
_KEY_COLUMNS: Final = (
    "tenant_id", "user_id", "key_no", "tenant_key_no", "wrapped", "create_time", "activate_time",
)  # fmt: skip


def collect(collector: Collector, resident: Resident, tenant_keys: Mapping[str, DataKey]) -> None:
    """Have the product write a resident who is not there yet."""
    now = datetime.now(UTC)
    cipher = _cipher(collector, resident, tenant_keys[resident.user.tenant_id], to_micros(now))
    texts = scene.Texts(resident.seed)
    record_facts(collector, cipher, _facts(texts, resident.facts, now), now)
    append_sessions(collector, cipher, _sessions(texts, resident.excerpts, now), now)


def _cipher(collector: Collector, resident: Resident, tenant: DataKey, now: int) -> UserCipher:
    user = resident.user
    key = new_user_key(user, FIRST_KEY_NO, tenant, now)
    row = (
        user.tenant_id,
        user.user_id,
        key.key_no,
        key.tenant_key_no,
        key.wrapped,
        now,
        key.activate_time,
    )
    collector.add("user_keys", _KEY_COLUMNS, row)
    return UserCipher(user, unwrapped(user, [key], tenant))


def _facts(texts: scene.Texts, count: int, now: datetime) -> list[FactDraft]:
    return [_fact(texts, number, now) for number in range(count)]


def _fact(texts: scene.Texts, number: int, now: datetime) -> FactDraft:
    about, key = divmod(number, len(scene.FACT_KEYS))
    read_time = now - timedelta(days=1 + number % 60)
    return FactDraft(
        subject=Subject("supplier", f"S-{about}") if about else Subject("user", ""),
        key=scene.FACT_KEYS[key],
        type=ValueType.TEXT,
        value=texts.value(2),
        kind=FactKind.PREFERENCE,
        origin=FactOrigin.STATED,
        source="crm",
        writer="bench",
        confidence_permille=1000,
        read_time=read_time,
        expire_time=read_time + _TO_LIVE,
    )


def _sessions(texts: scene.Texts, excerpts: int, now: datetime) -> list[ArchivedSession]:
    """Sessions an hour apart, of one excerpt a turn."""
    sessions = []
    for number, first in enumerate(range(0, excerpts, _TURNS_PER_SESSION)):
        start_time = now - timedelta(days=2, hours=number)
        turns = tuple(
            Turn(f"p{number}-{at}", Role.USER, (Text(texts.sentence(_WORDS)),), start_time)
            for at in range(min(_TURNS_PER_SESSION, excerpts - first))
        )
        past = PastSession(f"past-{number}", start_time, turns)
        sessions.append(cut_session(past, _RULES, KnownSession()).archived)
    return sessions
