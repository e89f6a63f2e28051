"""Why an excerpt is absent where vectors had a say in the ranking."""

from dataclasses import replace

import pytest

from assemblers.policy.model import HistorySection
from assemblers.ranking import VectorSpace
from assemblers.records import Reason, SectionKind
from assemblers.trace.absence import MissedExcerpt, Trace, explain_absence
from assemblers.trace.candidates import Candidate, candidates
from assemblers.trace.codec import decode_record
from assemblers.trace.content_codec import decode_content
from assemblers.trace.explain import Looked, explain_item
from assemblers.trace.findings import Absence, Finding
from tests.replay.scene import EXCERPTS, NOW, VECTORS, Scene, play, policy, vectors_of


def trace_of(scene: Scene, **surroundings: object) -> Trace:
    given = replace(scene.surroundings, **surroundings)  # type: ignore[arg-type]  # fields of Surroundings
    return Trace(decode_record(scene.captured.record), decode_content(scene.captured.content), given)


def why_not(no: int, scene: Scene, **surroundings: object) -> Absence:
    (found,) = explain_absence(trace_of(scene, **surroundings), MissedExcerpt(no))
    return found


def ranked(scene: Scene) -> list[Candidate]:
    return [c for c in candidates(scene.assembly.blocks) if c.section is SectionKind.HISTORY]


def with_history(settings: HistorySection):
    revision = policy()
    sections = tuple(
        replace(s, settings=settings) if isinstance(s.settings, HistorySection) else s
        for s in revision.policy.sections
    )
    return replace(revision, policy=replace(revision.policy, sections=sections))


def test_both_scores_of_every_candidate_are_in_the_trace():
    for candidate in ranked(play(vectors=VECTORS)):
        assert set(candidate.scores) == {"total", "keyword", "neighbour", "session", "cosine"}
    by_item = {candidate.item_id: candidate.scores for candidate in ranked(play(vectors=VECTORS))}
    assert by_item["excerpt/1"]["cosine"] == pytest.approx(980_581, abs=300)
    assert by_item["excerpt/1"]["keyword"] > 0


def test_an_excerpt_below_the_cutoff_is_scored_again_with_the_stored_question():
    everything, scene = play(vectors=VECTORS), play(vectors=VECTORS, kept=2)
    place, expected = next((p, c) for p, c in enumerate(ranked(everything), 1) if c.item_id == "excerpt/7")
    found = why_not(7, scene)
    assert (found.finding, found.reason) == (Finding.NOT_CONSIDERED, Reason.BELOW_CUTOFF)
    assert found.figures["rank"] == str(place)
    for leg, name in (("total", "score"), ("keyword", "keyword"), ("cosine", "cosine")):
        assert found.figures[name] == f"{expected.scores[leg] / 1e6:.6f}"
    assert found.figures["cutoff"] == f"{ranked(everything)[2].scores['total'] / 1e6:.6f}"
    assert f"place {place} of 8" in found.remedy


def test_what_was_archived_since_does_not_change_the_score_of_then():
    everything, scene = play(vectors=VECTORS, end_no=6), play(vectors=VECTORS, end_no=6, kept=1)
    expected = next(c for c in ranked(everything) if c.item_id == "excerpt/4")
    assert why_not(4, scene).figures["score"] == f"{expected.scores['total'] / 1e6:.6f}"


@pytest.mark.parametrize(
    "today",
    [
        None,
        vectors_of(EXCERPTS, VECTORS, VectorSpace("other@2", 4)),
        vectors_of(EXCERPTS, {no: vector for no, vector in VECTORS.items() if no != 8}),
    ],
    ids=["no embedder", "another embedder", "a vector is missing"],
)
def test_with_other_vectors_than_those_of_then_no_place_is_made_up(today):
    found = why_not(7, play(vectors=VECTORS, kept=2), vectors=today)
    assert (found.finding, found.reason) == (Finding.NOT_CONSIDERED, Reason.BELOW_CUTOFF)
    assert set(found.figures) == {"matched", "cutoff"}
    assert "other vectors today than those of toy@1 then" in found.remedy


def test_an_excerpt_that_neither_words_nor_vectors_bring_up():
    found = why_not(8, play(vectors={8: VECTORS[8]}, question="pineapple"))
    assert found.reason is Reason.BELOW_THRESHOLD
    assert "its vector points away from the question's" in found.remedy


def test_a_question_without_a_term_is_no_reason_where_vectors_were_searched():
    found = why_not(7, play(vectors=VECTORS, question="the of and", kept=2))
    assert found.reason in (Reason.BELOW_CUTOFF, Reason.BELOW_THRESHOLD)


def test_either_threshold_is_enough_and_a_miss_of_both_is_told_with_both():
    scene = play(with_history(HistorySection(min_score_micros=2_000_000_000)), vectors=VECTORS)
    fates = {c.item_id: c for c in ranked(scene)}
    assert fates["excerpt/1"].is_in
    low = fates["excerpt/7"]
    assert (low.reason, low.policy_field) == (
        Reason.BELOW_THRESHOLD,
        "sections[2].history.min_similarity_permille",
    )
    found = why_not(7, scene)
    assert found.figures["threshold"] == "2000.000000"
    assert found.figures["similarity_floor"] == "0.300000"
    assert found.figures["cosine"] == f"{low.scores['cosine'] / 1e6:.6f}"
    assert "lower one of the two" in found.remedy


def test_an_item_is_explained_with_its_cosine():
    scene = play(vectors=VECTORS)
    record, content = decode_record(scene.captured.record), decode_content(scene.captured.content)
    looked = Looked(scene.surroundings, scene.assembly.prompt, NOW)
    explained = explain_item(record, content, "excerpt/1", looked)
    assert "cosine 0.98" in next(s.description for s in explained.steps if "included" in s.description)
