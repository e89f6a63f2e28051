"""Resource names: what is built is read back, and nothing else is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assemblers.records import UserRef
from gateway import names
from gateway.errors import InvalidArgument

IDS = st.text("ABCxyz019._:@|+=/-", min_size=1, max_size=128)
NUMBERS = st.integers(1, 10**18 - 1)
DIGEST = "a1" * 32


@given(IDS, IDS, NUMBERS)
def test_a_fact_name_reads_back_whatever_the_ids_hold(tenant: str, user: str, no: int):
    name = names.fact_name(UserRef(tenant, user), no)
    assert names.parse_fact_name("name", name) == names.NumberedName(UserRef(tenant, user), no)


@given(IDS, IDS, NUMBERS)
def test_an_excerpt_name_reads_back_and_is_no_fact_name(tenant: str, user: str, no: int):
    name = names.excerpt_name(UserRef(tenant, user), no)
    assert names.parse_excerpt_name("name", name).no == no
    with pytest.raises(InvalidArgument):
        names.parse_fact_name("name", name)


@given(IDS, IDS)
def test_prefix_and_policy_names_read_back_with_and_without_a_revision(tenant: str, item: str):
    for digest in ("", DIGEST):
        prefix = names.parse_prefix_revision_name("name", names.prefix_name(tenant, item, digest))
        assert prefix == names.PrefixName(tenant, item, digest)
        policy = names.parse_policy_revision_name("name", names.policy_name(tenant, item, digest))
        assert policy == names.PolicyName(tenant, item, digest)


@given(IDS, IDS, IDS, IDS)
def test_different_users_never_share_a_name(tenant: str, user: str, other_tenant: str, other_user: str):
    same = (tenant, user) == (other_tenant, other_user)
    assert (
        names.user_name(UserRef(tenant, user)) == names.user_name(UserRef(other_tenant, other_user))
    ) is same


def test_ids_are_percent_encoded():
    assert (
        names.fact_name(UserRef("acme/eu", "a:b@c|d"), 7) == "tenants/acme%2Feu/users/a%3Ab%40c%7Cd/facts/7"
    )


def test_an_id_may_be_written_without_encoding_where_it_holds_no_slash():
    assert names.parse_fact_name("name", "tenants/acme/users/a:b@c/facts/7").user == UserRef("acme", "a:b@c")


def test_a_trace_name_has_an_id_of_32_hex_digits():
    name = names.trace_name("acme", "0f" * 16)
    assert names.parse_trace_name("trace", name) == names.TraceName("acme", "0f" * 16)
    with pytest.raises(InvalidArgument):
        names.parse_trace_name("trace", "tenants/acme/traces/7")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "facts/7",
        "tenants/acme/users/u/facts/0",
        "tenants/acme/users/u/facts/-1",
        "tenants/acme/users/u/facts/07",
        "tenants/acme/users/u/facts/٧",
        "tenants/acme/users/u/facts/9999999999999999999",
        "tenants/acme/users/u/facts/7/",
        "/tenants/acme/users/u/facts/7",
        "tenants/acme/users//facts/7",
        "tenants/acme/users/u%20v/facts/7",
        "tenants/acme/users/u%ZZ/facts/7",
        "tenants/acme/users/u%FF/facts/7",
        "tenants/acme/users/u\n/facts/7",
        "tenants/acme/users/" + "u" * 129 + "/facts/7",
        "Tenants/acme/users/u/facts/7",
        "tenants/acme/users/../facts/7/x",
    ],
)
def test_another_form_is_refused_with_the_right_one(name: str):
    with pytest.raises(InvalidArgument) as caught:
        names.parse_fact_name("fact", name)
    assert caught.value.metadata == {"field": "fact"}
    assert "write tenants/{t}/users/{u}/facts/{n}, ids percent-encoded" in caught.value.message
    assert name not in caught.value.message or not name


def test_a_listing_takes_no_revision():
    with pytest.raises(InvalidArgument):
        names.parse_prefix_name("prefix", names.prefix_name("acme", "main", DIGEST))
    assert names.parse_policy_name("policy", "policies/memory") == names.PolicyName("", "memory")


@pytest.mark.parametrize(
    ("reference", "meant"),
    [
        ("support", names.PolicyName("acme", "support")),
        ("team/support", names.PolicyName("acme", "team/support")),
        ("policies/memory", names.PolicyName("", "memory")),
        (f"policies/memory/revisions/{DIGEST}", names.PolicyName("", "memory", DIGEST)),
        ("tenants/other/policies/support", names.PolicyName("other", "support")),
        (f"tenants/acme/policies/a%2Fb/revisions/{DIGEST}", names.PolicyName("acme", "a/b", DIGEST)),
    ],
)
def test_a_policy_is_named_by_its_id_or_by_resource_name(reference: str, meant: names.PolicyName):
    assert names.parse_policy_reference("policy", reference, "acme") == meant


@pytest.mark.parametrize(
    "reference", ["tenants/acme", "policies/", "policies/a/revisions/ABC", "my policy", "%"]
)
def test_what_is_neither_is_refused_with_the_forms(reference: str):
    with pytest.raises(InvalidArgument, match=r"policies/\{p\}"):
        names.parse_policy_reference("policy", reference, "acme")
