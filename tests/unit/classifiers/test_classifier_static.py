"""Word pieces and static vectors against the libraries that they are made after; sentences that mean the answer."""

from typing import TYPE_CHECKING

import numpy as np
import pytest
from blind_appeals import TASKS
from fresh_appeals import FAMILIES, OPENINGS
from hypothesis import given
from hypothesis import strategies as st

from classifiers.embedding.encoder import EncoderMissing, find_encoder
from classifiers.embedding.pieces import Vocabulary
from classifiers.embedding.static import TABLE, open_static
from classifiers.outcomes import pool
from classifiers.reading.appeals import without_appeals
from classifiers.reading.readings import readings
from classifiers.reading.sense import content, open_sense
from classifiers.reading.taught.sense import TASK, fit, read_examples

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TEXTS = (
    "What is the capital of France?",
    "Café au lait -- 3.14 * (x_1 + y^2), isn't it?",
    "def solution(lst):\n    return sum(lst)",
    "unbelievably antidisestablishmentarian",
    "UPPER lower MiXed",
)


WORDS = st.text(st.characters(exclude_characters="\n"), max_size=4)


@pytest.fixture(scope="module")
def tokenizer() -> "Tokenizer":
    try:
        source = find_encoder(None)
    except EncoderMissing as missing:
        pytest.skip(str(missing))
    from tokenizers import Tokenizer

    found = Tokenizer.from_file(f"{source}/tokenizer.json")
    found.no_padding()
    found.no_truncation()
    return found


def table_pieces() -> list[str]:
    from safetensors.numpy import load

    return load(TABLE.read_bytes())["pieces"].tobytes().decode().split("\n")


def test_word_pieces_are_those_of_the_encoders_own_tokenizer(tokenizer):
    names = table_pieces()
    for text in (*TEXTS, *pool.read_anchors().texts):
        if not text.isascii():
            continue
        own = [names[number] for number in open_static().pieces.numbers(text)]
        assert own == tokenizer.encode(text, add_special_tokens=False).tokens


def test_a_static_vector_is_that_of_sentence_transformers_over_the_same_table(tokenizer):
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    names = table_pieces()
    vocabulary = {name: at for at, name in enumerate([*names, "[UNK]"])}
    own = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    own.normalizer, own.pre_tokenizer = BertNormalizer(lowercase=True), BertPreTokenizer()
    static = open_static()
    rows = np.vstack([static.numbers * static.scale, np.zeros((1, static.width), np.float32)])
    library = StaticEmbedding(own, embedding_weights=rows)

    for text in TEXTS:
        found = library(library.preprocess([text]))["sentence_embedding"][0].detach().numpy()
        assert np.allclose(open_static().vector(text), found / np.linalg.norm(found), atol=1e-5)


def test_what_a_text_is_about_has_no_endings_and_no_glue():
    assert content("The planets were counted and the planet counts") == {"planet", "count"}


def test_the_weights_are_those_that_the_examples_give(tmp_path):
    """The published prompts are not here; without them the line must part the examples alone all the same."""
    from classifiers.reading.sense import columns

    examples = read_examples()
    appeals = [one.text for one in examples if one.kind != TASK]
    tasks = [one.text for one in examples if one.kind == TASK]
    rows = columns(open_static(), [*appeals, *tasks])
    weights = fit(rows, len(appeals), (len(appeals), len(tasks), 0))
    shipped = open_sense().weights

    assert np.mean((rows @ weights)[: len(appeals)] > 0) > 0.9
    assert np.corrcoef(rows @ weights, rows @ shipped)[0, 1] > 0.8


EASY = ("What is the capital of France?", "How many hours are in a day?", "Translate 'see you soon' into French.")


def test_seven_in_ten_appeals_of_families_that_were_never_taught_are_cut_off_or_read_apart():
    taught = {one.text for one in read_examples()}
    fresh = [text for texts in FAMILIES.values() for text in texts]
    assert not taught & set(fresh)

    apart = [readings(f"{easy} {text}")[-1] == easy for text in fresh for easy in EASY]
    opened = [readings(f"{text} {easy}")[-1] == easy for text in OPENINGS for easy in EASY]

    assert np.mean(apart) > 0.7
    assert np.mean(opened) > 0.7


FOLLOWING = (
    "It must not allocate memory on the heap.",
    "Then show that the bound is tight.",
    "Mention the budget of the report.",
    "Use no library and keep it short.",
    "My knee hurts when I climb stairs.",
    "Then redesign the scheduler so that it is wait-free.",
    "Prove that no reader sees a half-linked node.",
    "Include tests and a benchmark.",
    "Discuss the trade-offs between both designs.",
    "Implement it in Rust without unsafe code.",
    "Explain which invariants hold at each step.",
    "Derive the update rule and bound the error.",
    "My cat is three years old.",
    "We are a team of five and work remotely.",
    "It should support undo and redo.",
    "Add error handling and logging.",
    "Compute the eigenvalues as well.",
    "I am travelling with two small children.",
    "Keep the tone friendly.",
    "How much did she pay?",
)
"""Sentences of tasks that share no word with what stands before them; none is among the examples."""


def test_hardly_a_sentence_that_belongs_to_the_task_is_taken_for_an_appeal():
    assert {one.text for one in read_examples()} & set(FOLLOWING) == set()

    lost = [text for text in FOLLOWING if text not in without_appeals(f"What would you do with a parrot? {text}")]
    blind = [text for task, text in TASKS if text not in without_appeals(f"{task} {text}")]

    assert len(lost) <= 2, lost
    assert len(blind) <= 1, blind


@given(st.lists(WORDS, unique=True), st.lists(WORDS, max_size=5))
def test_a_vocabulary_knows_what_a_dictionary_knows(pieces: list[str], others: list[str]) -> None:
    plain, packed = {piece: at for at, piece in enumerate(pieces)}, Vocabulary(pieces)

    for word in (*pieces, *others, *[piece[:-1] for piece in pieces], *[piece + "a" for piece in pieces]):
        assert packed.get(word) == plain.get(word)


def test_the_shipped_table_has_every_piece_at_its_place() -> None:
    names = table_pieces()
    packed = Vocabulary(names)

    assert [packed.get(name) for name in names] == list(range(len(names)))
