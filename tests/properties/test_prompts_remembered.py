"""What is remembered of long prompts: the same as if they were measured anew, and nobody else's."""

import gc
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from backends.messages import Asks, ChatRequest, Message
from backends.remote import prefix, prompt
from backends.remote.prefix import CHUNK_BYTES, PART_BYTES, canonical, prefix_blocks
from backends.remote.prompt import LONG_CHARS, estimate_newest, estimate_prompt, estimate_tokens
from gateway.request.reading import draw
from gateway.request.reading.draw import draw_of
from policies.affinity.blocks import chain, seed
from policies.affinity.imprint import Remembered, imprint

WORDS = 'What is 2+2? É 雪 \U0001f600 ABC-def\n\t"\\'
texts = st.builds(
    lambda word, size, end: (word * (size // max(1, len(word)) + 1))[:size] + end,
    st.text(WORDS, min_size=1, max_size=6),
    st.sampled_from([0, 3, LONG_CHARS - 1, LONG_CHARS + 1, PART_BYTES, 2 * PART_BYTES + 700]),
    st.text(WORDS, max_size=3),
)
chats = st.lists(texts, min_size=1, max_size=4)
salts = st.sampled_from([b"one", b"other"])
ASKS: tuple[Asks, ...] = ("chat", "completions")
tools = st.sampled_from([(), ({"type": "function", "function": {"name": "f", "arguments": {"b": 1, "a": "x" * 600}}},)])


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


@given(chats, salts, st.integers(1, 3))
def test_tokens_of_the_newest_turns_are_those_of_a_chat_without_others(
    said: list[str], salt: bytes, since: int
) -> None:
    whole = asking(said)
    alone = msgspec.structs.replace(whole, messages=whole.messages[since:])

    assert estimate_newest(whole, since, salt) == estimate_prompt(alone, salt)


def plain_keys(request: ChatRequest, model: str, salt: bytes) -> tuple[bytes, ...]:
    """Every chunk of the whole canonical text, one after another."""
    data = canonical(request)
    chunks = [data[at : at + CHUNK_BYTES] for at in range(0, len(data) - CHUNK_BYTES + 1, CHUNK_BYTES)]
    return chain(seed(model, salt), chunks)


@given(chats, texts, salts)
def test_documents_are_counted_beside_the_texts_and_stand_before_their_turn(
    said: list[str], document: str, salt: bytes
) -> None:
    *others, last = asking(said).messages
    given = msgspec.structs.replace(last, documents=document)
    request = msgspec.structs.replace(asking(said), messages=(*others, given))
    whole = estimate_tokens("\n".join(said).encode() + document.encode())

    assert estimate_prompt(request, salt) == whole + prompt.TOKENS_PER_TURN * (len(said) + 1)
    assert prefix_blocks(request, "m", salt) == plain_keys(request, "m", salt)


@given(chats, salts, st.sampled_from(["m", "n"]), tools, st.sampled_from(ASKS))
def test_keys_are_those_of_the_chain_and_of_no_other_tenant_or_model(
    said: list[str], salt: bytes, model: str, tools: tuple[Mapping[str, Any], ...], asks: Asks
) -> None:
    request = msgspec.structs.replace(asking(said), tools=tools, asks=asks)
    plain = plain_keys(request, model, salt)

    again = msgspec.structs.replace(request, n=2)
    assert [prefix_blocks(request, model, salt), prefix_blocks(again, model, salt)] == [plain, plain]
    others = [prefix_blocks(request, *of) for of in ((model, salt + b"'"), (model + "'", salt))]
    assert not {*plain} & {key for keys in others for key in keys}


@given(st.lists(chats, min_size=1, max_size=4), st.data())
def test_keys_are_those_of_the_chain_whatever_was_read_before_in_other_company(
    many: list[list[str]], data: st.DataObject
) -> None:
    """The same long texts behind other turns, in other roles, with calls beside them, as bare texts."""
    known = [text for said in many for text in said]
    for _ in range(3):
        said = data.draw(st.lists(st.sampled_from(known), min_size=1, max_size=4))
        call = ({"id": "1", "function": {"name": "f", "arguments": "{}"}},) * data.draw(st.integers(0, 1))
        messages = [
            msgspec.structs.replace(message, name=data.draw(st.sampled_from(["", "n"])), tool_calls=call)
            for message in asking(said).messages
        ]
        asks: Asks = data.draw(st.sampled_from(ASKS))
        request = ChatRequest(raw=b"", model="auto", messages=tuple(messages), asks=asks)

        assert prefix_blocks(request, "m", b"salt") == plain_keys(request, "m", b"salt")


@given(chats, salts)
def test_the_draw_of_a_long_opening_is_its_tenants_own_and_the_same_again(said: list[str], salt: bytes) -> None:
    fresh = draw._draw(draw.opening(asking(said)), salt)

    assert [draw_of(asking(said), salt) for _ in range(2)] == [fresh, fresh]
    assert draw_of(asking(said), salt + b"'") != fresh


def test_what_is_remembered_of_a_prompt_holds_none_of_its_text() -> None:
    secret = "a secret that nobody keeps "
    request = asking([secret * 1_000, secret * 3, secret * 400, secret])

    prefix_blocks(request, "m", b"salt")
    estimate_prompt(request, b"salt")
    draw_of(request, b"salt")

    kept = [prefix._PARTS, prefix._TEXTS, prompt._TEXTS, draw._DRAWS]
    assert all(kept)
    words = secret.split()
    assert not [found for found in within(kept) if any(word in found for word in words if len(word) > 4)]


def within(roots: list[object]) -> list[str]:
    """Every text, and every string of bytes, that can be reached from there but by modules, functions and types."""
    seen: dict[int, object] = {}
    todo = list(roots)
    while todo:
        one = todo.pop()
        if id(one) not in seen and not callable(one) and type(one).__module__ in ("builtins", Remembered.__module__):
            seen[id(one)] = one
            todo += gc.get_referents(one)
    return [str(one) for one in seen.values() if isinstance(one, str | bytes)]


class Slow:
    """What an LRU of `most` would know, never forgetting what was used among the last so many different keys."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[int, int] = OrderedDict()

    def use(self, key: int, value: int) -> None:
        self._kept[key] = value
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def holds(self, key: int) -> bool:
        return key in self._kept


@given(st.lists(st.integers(0, 12), max_size=80), st.integers(1, 6), st.integers(1, 2))
def test_what_was_used_of_late_is_known_and_their_weight_is_bounded(keys: list[int], half: int, weight: int) -> None:
    known, slow = Remembered[int, int](2 * half, lambda _: weight), Slow(half // weight)

    for key in keys:
        found = known.get(key)
        assert found in (None, -key)
        assert not slow.holds(key) or found is not None, "it was used among the last that half of the room holds"
        if found is None:
            known.put(key, -key)
        if weight <= half:
            slow.use(key, -key)
        assert len(known) * weight <= 2 * half


def test_imprints_tell_texts_apart_and_are_the_same_for_equal_ones() -> None:
    assert imprint("a secret " * 1_000) == imprint("".join(["a secret "] * 1_000))
    assert len({imprint(text) for text in ("", "a", "á", "\ud800", "b" * 70_000)}) == 5
