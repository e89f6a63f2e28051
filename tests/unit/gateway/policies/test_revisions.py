"""A revision is named by its content, and the built-in policies are there for everybody."""

import pytest
from google.protobuf import text_format

from assemblers.records import SectionKind
from gateway.policies.builtin import BUILTIN_IDS, builtin_documents, builtin_yaml, read_builtins
from gateway.policies.canonical import canonical_form, digest_of, parse_canonical
from gateway.policies.from_proto import policy_of
from gateway.policies.reading import PolicyReader
from muniment.v1.policy_pb2 import Policy


@pytest.fixture(scope="module")
def reader() -> PolicyReader:
    return PolicyReader()


def test_the_same_policy_as_yaml_and_as_message_is_the_same_revision(reader: PolicyReader) -> None:
    from_yaml = reader.from_yaml(b"policy_id: p\nsections:\n  - question: {label: Ask}\n")
    message = text_format.Parse('policy_id: "p" sections { question { label: "Ask" } }', Policy())
    assert from_yaml.document == reader.from_message(message).document


def test_comments_order_and_style_do_not_change_the_revision(reader: PolicyReader) -> None:
    one = reader.from_yaml(b"policy_id: p\ndescription: d\nsections: [{question: {}}]\n")
    other = reader.from_yaml(b"# hello\nsections:\n  - question:\ndescription: 'd'\npolicy_id: p\n")
    assert one.document == other.document != b""


def test_setting_a_default_explicitly_is_another_revision(reader: PolicyReader) -> None:
    unset = reader.from_yaml(b"policy_id: p\nsections: [{question: {}}]\n")
    explicit = reader.from_yaml(b"policy_id: p\nsections: [{question: {label: Question}}]\n")
    assert unset.policy == explicit.policy
    assert unset.document != explicit.document


def test_the_canonical_form_reads_back(reader: PolicyReader) -> None:
    for draft in read_builtins(reader).values():
        message = parse_canonical(draft.document)
        assert canonical_form(message) == draft.document
        assert policy_of(message) == draft.policy


def test_a_stored_form_of_another_release_is_an_error_not_a_guess() -> None:
    with pytest.raises(ValueError, match="this release does not know"):
        parse_canonical(b'{"policy_id":"p","sections":[],"from_the_future":1}')


def test_built_in_policies_are_short_and_valid(reader: PolicyReader) -> None:
    for policy_id in BUILTIN_IDS:
        assert len(builtin_yaml(policy_id).splitlines()) <= 35
    memory = read_builtins(reader)["memory"].policy
    assert memory is not None
    assert [s.kind for s in memory.sections] == list(SectionKind)


def test_the_default_policy_keeps_nothing_but_the_trace(reader: PolicyReader) -> None:
    policy = read_builtins(reader)["conversation"].policy
    assert policy is not None
    assert not policy.archive.keep_turns
    assert not policy.archive.on_end_session
    assert policy.facts.allowlist == ()
    assert policy.section(SectionKind.FACTS) is None


def test_revisions_of_built_in_policies_keep_their_names(reader: PolicyReader) -> None:
    """Traces name them: whoever changes one keeps the former revision readable, and adds its digest here."""
    names = {policy_id: digest_of(document) for policy_id, (_, document) in builtin_documents(reader).items()}
    assert names == {
        "conversation": "017e08eb71b2c03bdf813b34f10cd6342076b877d874c8ea0453ee67461e2fdb",
        "memory": "821f41b6c272f7e14a7fb1b82c83e12432beabef7a4ba720acd8e6b53021b931",
    }


@pytest.mark.parametrize("enum", ["type", "kind", "min_origin"])
def test_an_enum_that_is_set_to_nothing_is_told_not_guessed(reader: PolicyReader, enum: str) -> None:
    key = {"type": "VALUE_TYPE_TEXT", "kind": "FACT_KIND_CONTEXT", "purpose": '"a gap"', enum: "0"}
    fields = " ".join(f"{name}: {value}" for name, value in key.items())
    message = text_format.Parse(
        f'policy_id: "p" sections {{ question {{}} }} facts {{ allowlist {{ key: "k" {fields} }} }}', Policy()
    )
    assert [d.field for d in reader.from_message(message).diagnostics] == [f"facts.allowlist[0].{enum}"]
