"""How a conversation is known again: by its name, else by its history to the letter; never by another tenant, never edited."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.dialects.anthropic_messages.request import read_messages
from backends.dialects.faults import RequestFault
from backends.dialects.openai_chat.request import read_chat
from backends.messages import ChatRequest
from gateway.request.reading.conversation import Past, Turn, keys_of
from gateway.state.notes import MemoryNotes
from policies.policy import ID_FROM

Said = dict[str, Any]
USER, SYSTEM = {"role": "user", "content": "q"}, {"role": "system", "content": "s"}


def user(text: str) -> Said:
    return {"role": "user", "content": text}


def answer(text: str) -> Said:
    return {"role": "assistant", "content": text}


def chat(messages: Sequence[Said], **fields: Any) -> ChatRequest:
    return read_chat(json.dumps({"model": "auto", "messages": messages, **fields}).encode())


def keys(
    messages: Sequence[Said],
    headers: Mapping[str, str] | None = None,
    salt: bytes = b"t",
    id_from: Sequence[str] = ID_FROM,
    **fields: Any,
) -> tuple[Sequence[str], str]:
    found = keys_of(chat(messages, **fields), headers or {}, salt, id_from)
    assert found is not None
    return found


CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
LONG = "a long text " * 400
TEXT = st.one_of(st.text(max_size=6), st.sampled_from([LONG, LONG + "!"]))
ROUNDS = st.lists(
    st.one_of(
        st.tuples(TEXT, TEXT).map(lambda said: [answer(said[0]), user(said[1])]),
        st.tuples(TEXT, TEXT).map(
            lambda said: [
                {"role": "assistant", "content": said[0], "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "c1", "content": said[1]},
            ]
        ),
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=100, deadline=None)
@given(TEXT, ROUNDS, st.booleans())
def test_what_a_turn_leaves_the_next_one_finds_whatever_was_answered(
    first: str, rounds: list[list[Said]], with_system: bool
) -> None:
    messages = [*([SYSTEM] if with_system else []), user(first)]
    before, now = keys(messages)
    assert list(before) == []
    told = [now]
    for more in rounds:
        messages = [*messages, *more]
        before, now = keys(messages)
        assert list(before) == told[:-4:-1]
        told.append(now)


@settings(max_examples=100, deadline=None)
@given(ROUNDS, st.data())
def test_an_edited_history_is_another_conversation(rounds: list[list[Said]], data: st.DataObject) -> None:
    messages = [user("q"), *[message for part in rounds for message in part]]
    asked = max(at for at, message in enumerate(messages) if message["role"] == "assistant")
    at = data.draw(st.integers(0, asked - 1))
    edited = [
        {**message, "content": f"{message['content']}!"} if i == at else message for i, message in enumerate(messages)
    ]
    assert keys(edited)[0][0] != keys(messages)[0][0]


def test_no_two_histories_are_taken_for_each_other_by_how_their_texts_are_cut() -> None:
    tails = [
        [user("ab"), answer("c")],
        [user("a"), user("b"), answer("c")],
        [user("a"), answer("b"), answer("c")],
        [user("a"), {"role": "tool", "tool_call_id": "c1", "content": "b"}, answer("c")],
        [user("a"), {"role": "tool", "tool_call_id": "c2", "content": "b"}, answer("c")],
        [{"role": "system", "content": "a"}, user("b"), answer("c")],
    ]
    assert len({keys([*tail, user("next")])[1] for tail in tails}) == len(tails)


def test_an_answer_that_the_client_begins_is_no_turn() -> None:
    assert keys([USER, answer("Once")]) == keys([USER])
    assert keys([USER, answer("a"), USER, answer("Once")]) == keys([USER, answer("a"), USER])


@pytest.mark.parametrize("opening", [[answer("Hello!")], [SYSTEM, answer("Hello!")], [answer("a"), answer("b")]])
def test_a_greeting_that_comes_first_is_nobodys_turn(opening: list[Said]) -> None:
    assert list(keys([*opening, USER])[0]) == []


def test_tenants_know_nothing_of_each_other() -> None:
    assert keys([USER]) != keys([USER], salt=b"u")
    named = {"headers": {"x-conversation-id": "c"}}
    assert keys([USER], **named) != keys([USER], salt=b"u", **named)


def test_a_conversation_with_a_name_is_known_by_it_alone_and_from_its_first_turn_on() -> None:
    named = {"headers": {"x-conversation-id": "c"}}
    first = keys([USER], **named)
    assert list(first[0]) == [first[1]]
    assert keys([user("other")], **named) == first
    assert keys([USER], metadata={"conversation_id": "c"}) == first, "wherever the name stands"


@pytest.mark.parametrize(
    ("source", "fields", "headers"),
    [
        ("header.x-thread", {}, {"x-thread": "t"}),
        ("body.user", {"user": "t"}, {}),
        ("body.metadata.thread", {"metadata": {"thread": "t"}}, {}),
        ("body.prompt_cache_key", {"prompt_cache_key": "t"}, {}),
    ],
)
def test_a_policy_says_where_the_name_stands(source: str, fields: Said, headers: dict[str, str]) -> None:
    named = keys([USER], headers, id_from=[source, "prompt_prefix"], **fields)
    other = keys([USER], id_from=[source, "prompt_prefix"])
    assert list(named[0]) == [named[1]]
    assert named[1] != other[1]
    assert keys_of(chat([USER]), {}, b"t", [source]) is None, "who names none has none"


@pytest.mark.parametrize("metadata", [7, "c", {"conversation_id": 7}, {"conversation_id": {"a": 1}}, {}, []])
def test_a_name_of_another_shape_is_none(metadata: object) -> None:
    raw = json.dumps({"model": "auto", "max_tokens": 9, "messages": [USER], "metadata": metadata}).encode()
    try:
        request = read_messages(raw)
    except RequestFault:
        return  # what is no request has no turn
    found = keys_of(request, {}, b"t", ID_FROM)
    assert found is not None
    assert list(found[0]) == []


LARGE, ON_MEDIUM = Past(escalated_to="large"), Past(was_on="medium")


async def test_word_is_left_for_as_long_as_the_policy_says_and_can_be_taken_back() -> None:
    now = [0.0]
    notes = MemoryNotes(lambda: now[0])
    first = Turn(notes, *keys([USER]), 60.0)
    third = Turn(notes, *keys([USER, answer("a"), user("b"), answer("c"), user("d")]), 60.0)
    second = Turn(notes, *keys([USER, answer("a"), user("b")]), 60.0)
    assert await first.past() == await second.past() == Past()
    for past in (LARGE, ON_MEDIUM, Past(), LARGE):
        first.leave(past)
        assert await second.past() == await third.past() == past, "the second did not leave any"
    await second.tell(ON_MEDIUM)
    assert (await second.past(), await third.past()) == (LARGE, ON_MEDIUM)
    now[0] = 60.0
    assert await second.past() == Past()
