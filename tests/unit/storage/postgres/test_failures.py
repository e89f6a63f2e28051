"""Driver errors as errors of the stores."""

import ssl

import asyncpg
import pytest
from sqlalchemy.exc import DBAPIError

from storage.errors import StorageFull, StorageUnavailable
from storage.postgres.failures import Conflict, sqlstate_of, translated

SECRET = "a canary"


def with_state(state: str) -> Exception:
    error: Exception = asyncpg.PostgresError.new({"C": state, "M": SECRET, "S": "ERROR"})
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (with_state("53100"), StorageFull),
        (with_state("25006"), StorageUnavailable),
        (with_state("40001"), Conflict),
        (with_state("40P01"), Conflict),
        (with_state("23505"), Conflict),
        (with_state("57P01"), StorageUnavailable),
        (with_state("28P01"), StorageUnavailable),
        (with_state("42501"), StorageUnavailable),
        (DBAPIError(SECRET, None, with_state("53100")), StorageFull),
        (asyncpg.InterfaceError(SECRET), StorageUnavailable),
        (asyncpg.InternalClientError(SECRET), StorageUnavailable),
        (ssl.SSLCertVerificationError(SECRET), StorageUnavailable),
        (ConnectionRefusedError(SECRET), StorageUnavailable),
        (TimeoutError(SECRET), StorageUnavailable),
    ],
)
def test_each_becomes_an_error_of_the_stores_with_nothing_of_its_text(
    error: Exception, kind: type[Exception]
) -> None:
    with pytest.raises((StorageUnavailable, StorageFull)) as caught, translated():
        raise error
    assert type(caught.value) is kind
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__


def test_what_is_no_drivers_passes() -> None:
    with pytest.raises(KeyError), translated():
        raise KeyError


def test_a_text_that_is_not_unicode_is_an_error_of_the_caller() -> None:
    error = asyncpg.InterfaceError(SECRET)
    error.__cause__ = UnicodeEncodeError("utf-8", SECRET, 0, 1, "surrogates not allowed")
    with pytest.raises(UnicodeError) as caught, translated():
        raise error
    assert SECRET not in str(caught.value)


def test_the_state_is_found_however_deep_it_lies() -> None:
    assert sqlstate_of(DBAPIError("", None, with_state("42P07"))) == "42P07"
    assert sqlstate_of(ValueError()) is None
