"""Bulk rows come from the product's own functions, and are what it reads and opens."""

from datetime import UTC, datetime

import pytest

from assemblers.records import UserRef
from benchmarks.scale.collecting import Collector, NotBulk
from benchmarks.scale.population import (
    LARGE,
    MEASURED,
    SMALL,
    SMALL_EXCERPTS,
    Population,
    Resident,
    ordinary_user,
)
from benchmarks.scale.rows import collect
from storage.encryption.data_key import DataKey, new_secret
from storage.encryption.places import EXCERPT_CONTENT, user_key_place
from storage.encryption.user_cipher import UserCipher
from storage.ports import ArchivedSession
from storage.sql.archive_changes import append_sessions
from storage.sql.counters import Counters, read_counters, write_counters

ANN = UserRef("bench", "ann")
TENANT_KEY = DataKey({1: new_secret()}, 1)


def collected(facts: int, excerpts: int) -> dict[str, list[dict[str, object]]]:
    collector = Collector()
    collect(collector, Resident(ANN, facts, excerpts, seed=5), {"bench": TENANT_KEY})
    return {
        table: [dict(zip(columns, row, strict=True)) for row in rows]
        for table, (columns, rows) in collector.take().items()
    }


def cipher_of(rows: dict[str, list[dict[str, object]]]) -> UserCipher:
    (key,) = rows["user_keys"]
    wrapped = key["wrapped"]
    assert isinstance(wrapped, bytes)
    return UserCipher(ANN, DataKey({1: TENANT_KEY.open(user_key_place(ANN, 1), wrapped)}, 1))


def test_a_resident_has_as_many_facts_and_excerpts_as_are_asked_for():
    rows = collected(facts=43, excerpts=70)
    assert {table: len(found) for table, found in rows.items()} == {
        "user_keys": 1, "users": 1, "facts": 43, "archived_sessions": 3, "excerpts": 70, "postings": 70,
    }  # fmt: skip
    assert len({(row["subject_id"], row["fact_key"]) for row in rows["facts"]}) == 43


def test_the_user_s_row_has_the_counters_after_both_changes():
    (user,) = collected(facts=3, excerpts=30)["users"]
    wanted = {"fact_epoch": 1, "archive_epoch": 1, "fact_no": 3, "excerpt_no": 30, "archived_session_no": 2}
    assert {name: user[name] for name in wanted} == wanted
    assert len(str(user["pseudonym"])) == 32


def test_what_is_collected_opens_under_the_user_s_own_key_in_its_own_row():
    rows = collected(facts=1, excerpts=2)
    cipher = cipher_of(rows)
    first, second = rows["excerpts"]
    content = first["content"]
    assert isinstance(content, bytes)
    assert len(cipher.open(EXCERPT_CONTENT, content, str(first["no"])).split()) == 18
    assert first["no"] != second["no"]


def test_counters_of_several_users_are_kept_apart():
    collector, none = Collector(), Counters(0, 0, 0, 0, 0)
    kept = {UserRef("bench", user_id): Counters(*[no] * 5) for no, user_id in enumerate(("ann", "bob"), 1)}
    for user, counters in kept.items():
        write_counters(collector, user, counters)
    assert {user: read_counters(collector, user) for user in kept} == kept
    assert read_counters(collector, UserRef("bench", "eve")) == none
    _, rows = collector.take()["users"]
    assert len(rows) == 2


def test_taking_leaves_nothing_behind():
    collector = Collector()
    session = ArchivedSession("s", datetime.now(UTC), ())
    append_sessions(collector, UserCipher(ANN, TENANT_KEY), [session], datetime.now(UTC))
    assert collector.take() == {}
    write_counters(collector, ANN, Counters(1, 1, 1, 1, 1))
    assert set(collector.take()) == {"users"}
    assert collector.take() == {}


@pytest.mark.parametrize("statement", ["UPDATE facts SET shown = 0", "DELETE FROM facts"])
def test_what_a_new_user_does_not_need_is_refused(statement: str):
    with pytest.raises(NotBulk):
        Collector().execute(statement)


def test_an_insert_with_literals_among_its_values_is_refused():
    with pytest.raises(NotBulk):
        Collector().execute("INSERT INTO facts (a, b) VALUES (?, 0)", ("x",))


def test_a_population_has_the_excerpts_that_were_asked_for():
    population = Population(users=1_000, facts=2, excerpts=100_000, large_excerpts=5_000)
    residents = list(population.residents())
    assert len(residents) == 1_000
    assert 99_000 <= sum(resident.excerpts for resident in residents) <= 100_000
    by_name = {resident.user.user_id: resident.excerpts for resident in residents}
    assert (by_name[LARGE], by_name[SMALL]) == (5_000, SMALL_EXCERPTS)
    assert len({resident.user for resident in residents}) == 1_000


def test_who_is_measured_is_the_same_in_a_small_population():
    large, small = Population(users=1_000), Population(users=100)
    measured = {ordinary_user(number) for number in range(MEASURED)}
    sizes = [
        {resident.excerpts for resident in population.residents(large.each) if resident.user in measured}
        for population in (large, small)
    ]
    assert sizes[0] == sizes[1] == {large.each}
