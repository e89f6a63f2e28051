"""Digests tell apart what differs, and say the same of what is the same."""

from dataclasses import replace
from hashlib import sha256

from assemblers.digests import digest, prefix_digest, section_digests
from assemblers.records import SectionKind, ToolDefinition
from tests.assembling import PREFIX, Case, fact, full_case, section_text


def test_fields_are_separated_by_their_lengths():
    assert digest(("ab", "c")) != digest(("a", "bc"))
    assert digest(("ab",)) != digest(("ab", ""))


def test_a_prefix_is_its_text_and_tools_and_not_its_name_or_time():
    assert prefix_digest(PREFIX) == prefix_digest(replace(PREFIX, tenant_id="other", prefix_id="x"))
    assert prefix_digest(PREFIX) != prefix_digest(replace(PREFIX, text=PREFIX.text + " "))
    swapped = (ToolDefinition("get_term", '{"description":"Payment terms","name":"get_terms"}'),)
    assert prefix_digest(PREFIX) != prefix_digest(replace(PREFIX, tools=swapped))


def test_a_sections_digest_is_that_of_its_bytes_known_beforehand_or_not():
    prompt = full_case().assemble().prompt
    for section, found in prompt.section_sha256.items():
        assert found == sha256(section_text(prompt, section).encode()).hexdigest()
    assert section_digests(prompt.messages, {}) == prompt.section_sha256


def test_a_section_that_is_not_there_has_no_digest():
    assert SectionKind.FACTS not in Case().assemble().prompt.section_sha256
    assert SectionKind.FACTS in Case(facts=[fact(1, "plan", "x")]).assemble().prompt.section_sha256
