"""A chunk that is passed unread is the chunk that reading it would have made, whatever its text and whatever stands around."""

import json

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from backends.dialects.openai_chat.relay import Relay
from backends.dialects.openai_chat.whole import AnswerError
from backends.messages import Wire

AROUND = st.sampled_from(
    [
        {},
        {"usage": None},
        {"usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}},
        {"system_fingerprint": "fp_1", "x": {"content": "a"}},
    ]
)
TEXTS = st.lists(st.text(max_size=12) | st.sampled_from(['"', "\\", "a", "\ue000text\ue000", "é", "\n"]), max_size=8)
ROLE = b'{"id":"1","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant"}}]}'


def relay(shows_usage: bool) -> Relay:
    begun = Relay("small", choices=1, shows_usage=shows_usage, keeps_stop=False)
    begun.push(ROLE)
    return begun


def chunk(text: str, around: dict[str, object], ascii_only: bool, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "logprobs": None, "finish_reason": finish}
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return json.dumps({**head, **around}, ensure_ascii=ascii_only).encode()


@given(TEXTS, AROUND, st.booleans(), st.booleans())
@example(["a", '"},"finish_reason":"stop"}', "b"], {}, True, False)
def test_what_passes_unread_is_what_reading_makes(
    texts: list[str], around: dict[str, object], ascii_only: bool, shows_usage: bool
) -> None:
    streamed = relay(shows_usage)
    for text in texts:
        data = chunk(text, around, ascii_only)

        assert streamed.push(data) == relay(shows_usage).push(data)


@given(st.text(min_size=1, max_size=8), AROUND, st.integers(0, 200), st.binary(max_size=3))
def test_no_damaged_chunk_passes_unread(text: str, around: dict[str, object], at: int, damage: bytes) -> None:
    whole = chunk("a" + text, around, False)
    data = whole[: at % len(whole)] + damage + whole[at % len(whole) :]
    streamed = relay(False)
    for primer in ("first", "second"):
        streamed.push(chunk(primer, around, False))

    assert outcome(streamed, data) == outcome(relay(False), data)


def outcome(streamed: Relay, data: bytes) -> object:
    """What comes of one more chunk: events in which nothing but their order of arrival is left out, or that it is refused."""
    try:
        return [msgspec.structs.replace(event, counted=None) for event in streamed.push(data)]
    except AnswerError:
        return "refused"


def test_text_after_the_finish_does_not_pass() -> None:
    streamed = relay(False)
    for text in ("a", "b"):
        streamed.push(chunk(text, {}, False))
    streamed.push(chunk("", {}, False, finish="stop"))

    assert streamed.push(chunk("c", {}, False)) == []


def test_words_alone_pass_unread_and_renamed() -> None:
    streamed = relay(False)
    streamed.push(chunk("a", {}, False))

    (wire,) = streamed.push(chunk("b", {}, False))

    assert isinstance(wire, Wire)
    assert (wire.speaks, json.loads(wire.data)["model"]) == (True, "small")
