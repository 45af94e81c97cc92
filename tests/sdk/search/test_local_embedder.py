"""The default embedder: its vectors, its weights in a scope, and what it says when it cannot."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracleagentmemory.apis.embedders import IEmbedder
from oracleagentmemory.apis.embedders.scoped import ScopedQueryEmbedder
from oracleagentmemory.core.embedders import local
from oracleagentmemory.core.embedders.local import LocalEmbedder
from oracleagentmemory.errors import AgentMemoryError

TEXTS = [
    "I want a table for two at half past eleven.",
    "a",
    "  leading and trailing space ",
    "用户身份 and emoji 😀👍🏽",
    "word " * 700,
    "Ünïcödé ﬁsh\n\ttabs",
    "<script>alert(1)</script>; DROP TABLE memory; --",
]
# In a process of its own: importing the package configures logging and may warn.
REFERENCE = """
import json, sys, warnings
warnings.simplefilter("ignore")
from pathlib import Path
import wordllama
model = wordllama.WordLlama.load(
    cache_dir=Path(wordllama.__file__).parent, disable_download=True
)
vectors = model.embed(json.load(sys.stdin), norm=True)
sys.stdout.write(vectors.astype("<f4").tobytes().hex())
"""


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


def test_vectors_are_bit_for_bit_those_of_the_package(embedder: LocalEmbedder) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", REFERENCE],
        input=json.dumps(TEXTS),
        capture_output=True,
        text=True,
        check=True,
    )
    expected = np.frombuffer(bytes.fromhex(answer.stdout), "<f4").reshape(len(TEXTS), 256)
    assert np.array_equal(embedder.embed(TEXTS), expected)


def test_it_is_an_embedder_that_knows_scopes(embedder: LocalEmbedder) -> None:
    assert isinstance(embedder, IEmbedder)
    assert isinstance(embedder, ScopedQueryEmbedder)
    assert embedder.embedding_dimension == 256
    assert embedder.embedder_id == "wordllama/l2_supercat_256"


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"))))
def test_vectors_are_unit_float32_and_do_not_depend_on_their_batch(texts: list[str]) -> None:
    embedder = LocalEmbedder()
    vectors = embedder.embed(texts)
    assert vectors.shape == (len(texts), 256)
    assert vectors.dtype == np.float32
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.allclose(lengths, [1.0 if text else 0.0 for text in texts], atol=1e-6)
    for text, vector in zip(texts, vectors, strict=True):
        assert np.array_equal(embedder.embed([text])[0], vector)
        assert np.array_equal(embedder.embed([text], is_query=True)[0], vector)


def test_the_empty_text_has_the_zero_vector_and_no_tokens(embedder: LocalEmbedder) -> None:
    assert not embedder.embed([""]).any()
    assert embedder.token_ids([""])[0].size == 0
    assert not embedder.embed_in_scope("", np.ones(32_000, np.int64), 20).any()
    assert embedder.embed([]).shape == (0, 256)


def test_token_ids_are_sorted_unique_and_of_the_table(embedder: LocalEmbedder) -> None:
    for ids in embedder.token_ids(TEXTS):
        assert ids.dtype == np.uint32
        assert np.all(np.diff(ids.astype(np.int64)) > 0)
        assert ids.size
        assert ids.max() < 32_000


def test_a_word_of_every_chunk_weighs_nothing_in_the_scope(embedder: LocalEmbedder) -> None:
    common, rare = embedder.token_ids(["hello"])[0], embedder.token_ids(["volcano"])[0]
    assert not set(common.tolist()) & set(rare.tolist())
    frequencies = np.zeros(32_000, np.int64)
    frequencies[common] = 40
    frequencies[rare] = 1
    weighted = embedder.embed_in_scope("hello volcano", frequencies, 40)
    assert np.allclose(weighted, embedder.embed_in_scope("volcano", frequencies, 40), atol=1e-6)
    assert np.isclose(np.linalg.norm(weighted), 1.0, atol=1e-6)


def test_weights_are_inverse_document_frequencies(embedder: LocalEmbedder) -> None:
    text = "a hotel in Paris a hotel"
    tokens = embedder._tokenise([text])[0]
    frequencies = np.arange(32_000, dtype=np.int64) % 50
    expected = sum(
        np.log(51 / (frequencies[token] + 1)) * embedder._model.table[token].astype(np.float64)
        for token in tokens
    )
    expected /= np.linalg.norm(expected)
    assert np.allclose(embedder.embed_in_scope(text, frequencies, 50), expected, atol=1e-5)


@pytest.mark.parametrize(
    "query", ['"Paris" (hotel).', "Paris, hotel?", "«Paris», hotel…", "Paris hotel"]
)
def test_punctuation_around_words_weighs_nothing(embedder: LocalEmbedder, query: str) -> None:
    frequencies = np.zeros(32_000, np.int64)
    plain = embedder.embed_in_scope("Paris hotel", frequencies, 40)
    assert np.allclose(embedder.embed_in_scope(query, frequencies, 40), plain, atol=1e-6)


def test_symbols_and_punctuation_inside_words_stay(embedder: LocalEmbedder) -> None:
    frequencies = np.zeros(32_000, np.int64)
    for query in ("don't", "3:30", "$5", "C++", "U.S.A"):
        tokens = embedder._tokenise([query])[0]
        expected = embedder._model.table[tokens].sum(axis=0)
        expected /= np.linalg.norm(expected)
        assert np.allclose(embedder.embed_in_scope(query, frequencies, 40), expected, atol=1e-5)


def test_a_query_of_punctuation_alone_is_taken_as_it_is(embedder: LocalEmbedder) -> None:
    weighted = embedder.embed_in_scope("?!", np.zeros(32_000, np.int64), 40)
    assert np.isclose(np.linalg.norm(weighted), 1.0, atol=1e-6)


def test_a_query_of_common_words_alone_falls_back_to_the_plain_vector(
    embedder: LocalEmbedder,
) -> None:
    frequencies = np.full(32_000, 30, np.int64)
    weighted = embedder.embed_in_scope("good morning", frequencies, 30)
    assert np.array_equal(weighted, embedder.embed(["good morning"])[0])


def test_frequencies_of_fewer_tokens_count_the_others_as_unseen(embedder: LocalEmbedder) -> None:
    short = embedder.embed_in_scope("good morning", np.zeros(0, np.int64), 30)
    full = embedder.embed_in_scope("good morning", np.zeros(32_000, np.int64), 30)
    assert np.array_equal(short, full)


@pytest.mark.parametrize("texts", ["one text", [1], [None], ["\ud800"], ["a\0b"]])
def test_what_is_no_list_of_texts_is_refused(embedder: LocalEmbedder, texts: object) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        embedder.embed(texts)  # type: ignore[arg-type]
    assert isinstance(caught.value, AgentMemoryError)


def test_a_missing_package_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"pip install wordllama==0\.4\.0\.post1"):
        local._load_model.__wrapped__()


@pytest.mark.parametrize("content", [b"other", None])
def test_altered_or_absent_files_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None
) -> None:
    (tmp_path / "weights").mkdir()
    if content is not None:
        (tmp_path / local._TABLE_FILE).write_bytes(content)
    spec = ModuleSpec("wordllama", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(RuntimeError, match="force-reinstall"):
        local._load_model.__wrapped__()


def test_the_package_itself_is_never_imported() -> None:
    code = (
        "import sys; from oracleagentmemory.core.embedders.local import LocalEmbedder;"
        "LocalEmbedder().embed(['hello']); sys.exit('wordllama' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_thousands_of_texts_are_embedded_in_a_second_of_one_core(embedder: LocalEmbedder) -> None:
    texts = [f"I would like to book table number {n} for the evening" for n in range(5_000)]
    started = time.process_time()
    embedder.embed(texts)
    assert time.process_time() - started < 1.0
