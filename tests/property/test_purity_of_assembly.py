"""The same inputs give the same bytes: in any order of the input, in any process, whatever the hash seed."""

import os
import random
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assemblers.policy.model import FactsSection
from assemblers.records import Role, SectionKind, Slots
from tests.assembling import NOW, Case, fingerprint, full_case, policy, section_text, text_of

CASE = full_case()


def test_twenty_processes_with_different_hash_seeds_agree():
    script = "from tests.assembling import full_case, fingerprint; print(fingerprint(full_case().assemble()))"
    root = str(Path.cwd())

    def start(seed: int) -> "subprocess.Popen[str]":
        environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": f"{root}:{root}/proto"}
        return subprocess.Popen(
            [sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True
        )

    found = set()
    for first in range(0, 20, 4):
        running = [start(seed) for seed in range(first, first + 4)]
        found |= {process.communicate()[0].strip() for process in running}
    assert found == {fingerprint(CASE.assemble())}


@given(st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(chance: random.Random):
    facts, excerpts, documents = list(CASE.facts or ()), list(CASE.excerpts or ()), list(CASE.material)
    for items in (facts, excerpts, documents):
        chance.shuffle(items)
    shuffled = replace(CASE, facts=facts, excerpts=excerpts, material=documents)
    assert fingerprint(shuffled.assemble()) == fingerprint(CASE.assemble())


@pytest.mark.parametrize(
    "other",
    [
        replace(CASE, now=NOW + timedelta(seconds=61)),
        replace(CASE, now=NOW + timedelta(days=400)),
        replace(CASE, question="Something else?", facts=(), excerpts=(), slots=Slots(), open_turns=()),
        replace(CASE, limit=100_000, formats=()),
    ],
    ids=["a minute later", "a year later", "another user and question", "another budget"],
)
def test_the_prefix_has_the_same_bytes_for_everybody(other: Case):
    one, two = CASE.assemble().prompt, other.assemble().prompt
    assert section_text(one, SectionKind.PREFIX) == section_text(two, SectionKind.PREFIX)
    assert one.prefix_sha256 == two.prefix_sha256
    assert one.section_sha256[SectionKind.PREFIX] == two.section_sha256[SectionKind.PREFIX]


def test_everything_up_to_the_facts_stays_for_another_question_on_the_same_day():
    later = replace(CASE, question="And their address?", now=NOW + timedelta(seconds=61), slots=Slots())
    one, two = CASE.assemble().prompt, later.assemble().prompt
    assert one.messages[1].parts[0].section is SectionKind.FACTS
    assert [m.parts[0].text for m in one.messages[:2]] == [m.parts[0].text for m in two.messages[:2]]


def test_a_changed_tool_changes_the_prefix_digest():
    assert CASE.prefix is not None
    changed = replace(CASE.prefix, tools=())
    assert (
        replace(CASE, prefix=changed).assemble().prompt.prefix_sha256 != CASE.assemble().prompt.prefix_sha256
    )


def test_facts_under_a_role_of_their_own_leave_the_other_texts_as_they_are():
    own = policy(FactsSection(role=Role.DEVELOPER), keys=[f"key{n}" for n in range(30)])
    shared = policy(keys=[f"key{n}" for n in range(30)])
    one = replace(CASE, policy=own, limit=9000).assemble().prompt
    two = replace(CASE, policy=shared, limit=9000).assemble().prompt
    assert [m.role for m in one.messages[:3]] == [Role.SYSTEM, Role.DEVELOPER, Role.USER]
    assert text_of(one) == text_of(two)
