"""What the latency benchmark works on: one policy with five sections, users with facts and archives, questions.

All of it is made up from a seed. Words follow Zipf's law, as those of real texts do: the cost of ranking depends on how
many units share the question's words.
"""

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp

from muniment.v1 import context_pb2, fact_pb2, history_pb2, types_pb2

TENANT: Final = "bench"
PREFIX_ID: Final = "desk"
FACT_KEYS: Final = tuple(f"key_{number:02}" for number in range(40))
ARCHIVED_SESSIONS: Final = 25
TURNS_PER_SESSION: Final = 28
"""25 sessions of 28 turns are the 700 archived turns."""

_WORDS_PER_TURN: Final = 18
_STEMS: Final = """
    answer bridge budget coffee contract credit delivery doctor engine garden harbour holiday invoice kitchen lesson
    market meeting mountain music novel orchard order parcel payment quarter recipe report river salary school season
    supplier ticket travel uncle valley window winter yacht zebra
"""
_ENDINGS: Final = ("", "s", "ing", "ed", "er", "less", "ful", "ward", "ship", "like")
_COMMON: Final = "the of and to a in is it you that he was for on are with as I his they"
_CONTENT: Final = [stem + ending for ending in _ENDINGS for stem in _STEMS.split()]
_VOCABULARY: Final = [*_COMMON.split(), *_CONTENT]
_WEIGHTS: Final = list(accumulate(1 / (rank + 1) for rank in range(len(_VOCABULARY))))

POLICY: Final = """\
policy_id: bench
sections:
  - prefix: {prefix_id: desk}
  - facts: {}
    budget: {ceiling_tokens: 1500, priority: 10}
  - history: {}
    budget: {ceiling_tokens: 250, priority: 30}
  - session: {}
  - question: {}
slots:
  focus_types: [supplier]
  filters:
    - {key: city}
archive: {keep_turns: true, on_end_session: true}
facts:
  allowlist:
""" + "".join(
    f"    - {{key: {key}, type: TEXT, kind: PREFERENCE, purpose: Measured.}}\n" for key in FACT_KEYS
)


class Texts:
    """Made-up texts, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def sentence(self, words: int) -> str:
        """So many words, common ones among them."""
        return " ".join(self._random.choices(_VOCABULARY, cum_weights=_WEIGHTS, k=words))

    def value(self, words: int) -> str:
        """So many words of content."""
        return " ".join(self._random.choices(_CONTENT, k=words))


def user_ref(user_id: str) -> types_pb2.UserRef:
    """A user of the benchmark's tenant."""
    return types_pb2.UserRef(tenant_id=TENANT, user_id=user_id)


def session_ref(user_id: str, session_id: str) -> types_pb2.SessionRef:
    """A session of one."""
    return types_pb2.SessionRef(tenant_id=TENANT, user_id=user_id, session_id=session_id)


def turn(turn_id: str, text: str, role: types_pb2.Role.ValueType = types_pb2.ROLE_USER) -> types_pb2.Turn:
    """A turn that says just a text."""
    return types_pb2.Turn(turn_id=turn_id, role=role, contents=[types_pb2.Content(text=text)])


def prefix_text() -> str:
    """About 400 tokens."""
    return Texts(0).sentence(300)


def facts(texts: Texts, count: int) -> list[fact_pb2.Fact]:
    """Facts about as many subjects as the keys need: first the user, then entities."""
    return [_fact(texts, number) for number in range(count)]


def _fact(texts: Texts, number: int) -> fact_pb2.Fact:
    about, key = divmod(number, len(FACT_KEYS))
    entity = types_pb2.Subject.Entity(type="supplier", id=f"S-{about}")
    return fact_pb2.Fact(
        subject=types_pb2.Subject(entity=entity) if about else None, key=FACT_KEYS[key], text=texts.value(2),
        origin=types_pb2.FACT_ORIGIN_STATED,
        source="crm", writer="bench", read_time=_days_ago(1 + number % 60),
    )  # fmt: skip


def archive(texts: Texts, sessions: int, turns: int) -> list[history_pb2.PastSession]:
    """Past sessions, a day apart."""
    return [_past_session(texts, number, turns, sessions - number) for number in range(sessions)]


def _past_session(texts: Texts, number: int, turns: int, days: int) -> history_pb2.PastSession:
    said = [turn(f"p{number}-{at}", texts.sentence(_WORDS_PER_TURN)) for at in range(turns)]
    return history_pb2.PastSession(session_id=f"past-{number}", start_time=_days_ago(days), turns=said)


def questions(user_id: str, session_id: str, count: int) -> Sequence[context_pb2.AssembleContextRequest]:
    """Requests that are ready but for the turn id."""
    texts, session = Texts(1), session_ref(user_id, session_id)
    return [
        context_pb2.AssembleContextRequest(session=session, turn=turn("unset", texts.sentence(10)))
        for _ in range(count)
    ]


def _days_ago(days: int) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(datetime.now(UTC) - timedelta(days=days))
    return stamp
