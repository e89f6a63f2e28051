import asyncio
import hashlib
import sys
import threading

import numpy as np
import pytest

from assemblers.ranking import check_vector
from gateway.embedders import EmbedderUnavailable, open_embeddings
from gateway.embedders.minilm import INFO, MODEL, DataFile, MiniLm, load, open_minilm, read_checked
from tests.security.hostile import MARKERS, QUERIES, SMUGGLED, SPECIAL


@pytest.fixture(scope="module")
def minilm():
    embedder = open_minilm()
    yield embedder
    embedder.close()


async def rows(embedder, *texts):
    return (await embedder.embed(texts)).rows


async def test_like_meanings_lie_near_each_other_and_unlike_ones_do_not(minilm):
    found = await rows(minilm, "How much is the bill?", "The invoice was 20 euros.", "We saw a black cat.")
    near, far = float(found[0] @ found[1]), float(found[0] @ found[2])
    assert near > 0.4 > 0.2 > far


async def test_vectors_are_of_the_space_that_is_told(minilm):
    answer = await minilm.embed(["tea"])
    assert answer.space_id == minilm.info.space.id == "all-MiniLM-L6-v2-int8@1"
    assert (answer.rows.shape, answer.rows.dtype) == ((1, 384), np.float32)
    assert np.linalg.norm(answer.rows[0].astype(np.float64)) == pytest.approx(1, abs=1e-6)


async def test_a_text_has_the_same_vector_whatever_it_is_asked_for_with(minilm):
    texts = ["tea", "a longer text about invoices " * 20, "naïve 中文 🙂", ""]
    together = await rows(minilm, *texts)
    for text, row in zip(texts, together, strict=True):
        assert (await rows(minilm, text))[0].tolist() == row.tolist()


async def test_nothing_to_embed_gives_no_rows(minilm):
    assert (await rows(minilm)).shape == (0, 384)


@pytest.mark.parametrize(
    "text", ["", " \n", "\x01", "a" * 70_000, "🙂" * 5_000, "क्षि" * 900, "[SEP] [CLS] [PAD]"]
)
async def test_any_text_gives_a_vector(minilm, text):
    (row,) = await rows(minilm, text)
    assert np.isfinite(row).all()


async def test_hostile_strings_have_vectors_of_their_own_kind(minilm):
    for text in (*SPECIAL, *MARKERS, *QUERIES, *SMUGGLED.values()):
        (row,) = await rows(minilm, text)
        check_vector(INFO.space, row)


async def test_the_loop_runs_on_while_a_text_is_embedded():
    entered, leave = threading.Event(), threading.Event()

    def encode(text):
        entered.set()
        assert leave.wait(30)
        return np.zeros(INFO.space.dimension, np.float32)

    embedder = MiniLm(encode)
    task = asyncio.create_task(embedder.embed(["tea"]))
    await asyncio.to_thread(entered.wait, 30)
    assert not task.done()
    leave.set()
    assert (await task).rows.shape == (1, 384)
    embedder.close()


async def test_a_question_waits_for_one_excerpt_at_most():
    order, gate = [], threading.Event()

    def encode(text):
        assert gate.wait(30)
        order.append(text)
        return np.zeros(INFO.space.dimension, np.float32)

    embedder = MiniLm(encode)
    excerpts = asyncio.create_task(embedder.embed(["first", "second", "third"]))
    await asyncio.sleep(0)
    question = asyncio.create_task(embedder.embed(["question"]))
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(excerpts, question)
    assert order == ["first", "question", "second", "third"]
    embedder.close()


@pytest.mark.parametrize("library", ["onnxruntime", "tokenizers"])
def test_a_missing_library_is_told_with_what_to_install(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(EmbedderUnavailable, match=r"pip install 'muniment\[embed\]'"):
        load(b"", b"")


def test_a_missing_package_is_told_with_what_to_install():
    with pytest.raises(EmbedderUnavailable, match=r"pip install 'muniment\[embed\]'"):
        read_checked(MODEL._replace(package="no_such_package_here"))


@pytest.mark.parametrize("path", ["schemas.py", "no-such-file"])
def test_a_file_that_is_not_the_measured_one_is_refused_by_name(path):
    other = DataFile("email", path, hashlib.sha256(b"the measured one").hexdigest())
    with pytest.raises(EmbedderUnavailable, match=f"{path} of the package email is not the file"):
        read_checked(other)


def test_the_setting_none_has_no_embeddings():
    assert open_embeddings("none") is None


def test_an_unknown_setting_is_refused():
    with pytest.raises(EmbedderUnavailable, match="use none or minilm"):
        open_embeddings("word2vec")


async def test_the_setting_minilm_has_the_model():
    embeddings = open_embeddings("minilm")
    assert embeddings is not None
    assert embeddings.space == INFO.space
    assert np.linalg.norm(await embeddings.question("tea", 30.0)) == pytest.approx(4000, abs=10)
    embeddings.close()
