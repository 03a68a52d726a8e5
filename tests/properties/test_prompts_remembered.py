"""What is remembered of long prompts: the same as if they were measured anew, and nobody else's."""

import gc

from hypothesis import given
from hypothesis import strategies as st

from backends.messages import ChatRequest, Message
from backends.remote import prompt
from backends.remote.prompt import (
    CHUNK_BYTES,
    LONG_CHARS,
    PART_BYTES,
    canonical,
    estimate_prompt,
    estimate_tokens,
    prefix_blocks,
)
from gateway.request import draw
from gateway.request.draw import draw_of
from policies.affinity.blocks import chain, seed
from policies.affinity.imprint import Imprint

WORDS = "What is 2+2? É 雪 ABC-def\n"
texts = st.builds(
    lambda word, size, end: (word * (size // max(1, len(word)) + 1))[:size] + end,
    st.text(WORDS, min_size=1, max_size=6),
    st.sampled_from([0, 3, LONG_CHARS - 1, LONG_CHARS + 1, PART_BYTES, 2 * PART_BYTES + 700]),
    st.text(WORDS, max_size=3),
)
chats = st.lists(texts, min_size=1, max_size=4)
salts = st.sampled_from([b"one", b"other"])


def asking(said: list[str]) -> ChatRequest:
    """A system prompt, then turns that take turns."""
    roles = ("system", "user", "assistant", "user")
    return ChatRequest(
        raw=b"",
        model="auto",
        messages=tuple([Message(role=roles[at], text=text) for at, text in enumerate(said)]),  # type: ignore[arg-type]
    )


@given(chats, salts)
def test_tokens_are_those_of_all_texts_together(said: list[str], salt: bytes) -> None:
    whole = estimate_tokens("\n".join(said).encode()) + prompt.TOKENS_PER_TURN * (len(said) + 1)
    assert [estimate_prompt(asking(said), salt) for _ in range(2)] == [whole, whole]


@given(chats, salts, st.sampled_from(["m", "n"]))
def test_keys_are_those_of_the_chain_and_of_no_other_tenant_or_model(said: list[str], salt: bytes, model: str) -> None:
    data = canonical(asking(said))
    chunks = [data[at : at + CHUNK_BYTES] for at in range(0, len(data) - CHUNK_BYTES + 1, CHUNK_BYTES)]
    plain = chain(seed(model, salt), chunks)

    assert [prefix_blocks(asking(said), model, salt) for _ in range(2)] == [plain, plain]
    others = [prefix_blocks(asking(said), *of) for of in ((model, salt + b"'"), (model + "'", salt))]
    assert not {*plain} & {key for keys in others for key in keys}


@given(chats, salts)
def test_the_draw_of_a_long_opening_is_its_tenants_own_and_the_same_again(said: list[str], salt: bytes) -> None:
    forms = [(turn.role, 0, 0, 0, ()) for turn in draw.opening(asking(said))]
    fresh = draw._draw(salt, forms, said[: len(forms)])

    assert [draw_of(asking(said), salt) for _ in range(2)] == [fresh, fresh]
    assert draw_of(asking(said), salt + b"'") != fresh


def test_an_imprint_that_gave_its_text_away_holds_none_and_is_still_the_same() -> None:
    text = "a secret " * 1_000
    first, second = Imprint(text), Imprint("a secret " * 1_000)

    assert first.take() == text
    assert (first, hash(first)) == (second, hash(second))
    assert first not in (Imprint(text + "!"), text)
    assert not any(isinstance(kept, str) for kept in gc.get_referents(first))
