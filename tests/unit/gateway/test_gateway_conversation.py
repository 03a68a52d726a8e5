"""How a conversation is known again: by its name, else by its history to the letter; never by another tenant, never edited."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from servers.cascade_world import Scripted

from backends.dialects.anthropic_messages.request import read_messages
from backends.dialects.faults import RequestFault
from backends.dialects.openai_chat.request import read_chat
from backends.messages import ChatRequest
from classifiers.question import Question
from gateway.live.in_force import Live
from gateway.live.replicas import Replica
from gateway.request.conversation import Past, Turn, keys_of
from gateway.request.identity import ANONYMOUS
from gateway.request.judge import Judged, judge, past_of
from gateway.request.snapshot import World
from gateway.state.memory import MemoryResidency
from gateway.state.notes import MemoryNotes
from policies.catalogue import Model, Price
from policies.decision import Call, Decision
from policies.estimates import Estimate, Unsettled
from policies.facts import Facts
from policies.policy import ID_FROM, Choose, Difficulty, Expected, Policy, Route, Target
from policies.snapshot import Snapshot

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
) -> tuple[str, str]:
    found = keys_of(chat(messages, **fields), headers or {}, salt, id_from)
    assert found is not None
    return found


CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
TEXT = st.text(max_size=6)
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
    before = keys(messages)
    assert before[0] == ""
    for more in rounds:
        messages = [*messages, *more]
        found = keys(messages)
        assert found[0] == before[1]
        before = found


@settings(max_examples=100, deadline=None)
@given(ROUNDS, st.data())
def test_an_edited_history_is_another_conversation(rounds: list[list[Said]], data: st.DataObject) -> None:
    messages = [user("q"), *[message for part in rounds for message in part]]
    asked = max(at for at, message in enumerate(messages) if message["role"] == "assistant")
    at = data.draw(st.integers(0, asked - 1))
    edited = [
        {**message, "content": f"{message['content']}!"} if i == at else message for i, message in enumerate(messages)
    ]
    assert keys(edited)[0] != keys(messages)[0]


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
    assert keys([*opening, USER])[0] == ""


def test_tenants_know_nothing_of_each_other() -> None:
    assert keys([USER]) != keys([USER], salt=b"u")
    named = {"headers": {"x-conversation-id": "c"}}
    assert keys([USER], **named) != keys([USER], salt=b"u", **named)


def test_a_conversation_with_a_name_is_known_by_it_alone_and_from_its_first_turn_on() -> None:
    named = {"headers": {"x-conversation-id": "c"}}
    first = keys([USER], **named)
    assert first[0] == first[1]
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
    assert named[0] == named[1] != other[1]
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
    assert found[0] == ""


LARGE, ON_MEDIUM = Past(escalated_to="large"), Past(was_on="medium")


async def test_word_is_left_for_as_long_as_the_policy_says_and_can_be_taken_back() -> None:
    now = [0.0]
    notes = MemoryNotes(lambda: now[0])
    first = Turn(notes, *keys([USER]), 60.0)
    second = Turn(notes, *keys([USER, answer("a"), user("b")]), 60.0)
    assert await first.past() == await second.past() == Past()
    for past in (LARGE, ON_MEDIUM, Past(), LARGE):
        first.leave(past)
        assert await second.past() == past
    now[0] = 60.0
    assert await second.past() == Past()


LADDER = ("small", "medium", "large")
CHOOSE = Choose(
    among=LADDER,
    target=Target("cost", 40, "large"),
    when_unsure="large",
    prices={},
    relative_cost={},
    loss_per_reference=1.0,
    expected=Expected(40, 95, {}),
)
RULES = Policy(hash="", name="", models={}, routes=(Route(name="default", choose=CHOOSE),))


def told(was_on: str, chosen: str, escalated_to: str = "", tells_tiers: bool = True) -> Past:
    facts = Facts(was_on=was_on, escalated_to=escalated_to)
    decision = Decision(steps=(Call(chosen, "r"),), route="default", reason="", policy_hash="")
    turn = Turn(MemoryNotes(lambda: 0.0), "", "k", 60.0, tells_tiers)
    return past_of(RULES, Judged(facts, Estimate(), decision, Snapshot(replicas={}), {}, 0, turn))


def test_the_next_turn_is_told_of_the_higher_of_where_the_conversation_was_and_is() -> None:
    assert told("", "small") == Past(), "nobody comes lower than that"
    assert told("", "medium") == ON_MEDIUM
    assert told("medium", "large") == Past(was_on="large")
    assert told("medium", "small") == ON_MEDIUM, "medium was down"
    assert told("gone", "small") == Past()
    assert told("", "large", escalated_to="medium") == Past(escalated_to="medium")
    assert told("", "large", tells_tiers=False) == Past()


class SharedMemory(MemoryNotes):
    """As a store that gateways share."""

    is_shared = True


class Reads:
    """The chance of the small model is what the turns say; the large one nearly always knows."""

    async def estimate(self, question: Question, within_s: float, unsettled: Unsettled | None = None) -> Estimate:
        known = tuple([{"small": float(turn), "medium": float(turn), "large": 0.97} for turn in question.turns])
        return Estimate(p_good=known[-1], earlier=known[:-1])


def gateway_with_line(loss: float, notes: MemoryNotes) -> tuple[Live, World]:
    price = {name: Price(cost, cost, cost) for name, cost in zip(LADDER, (100_000, 300_000, 1_000_000), strict=True)}
    choose = msgspec.structs.replace(
        CHOOSE,
        prices=price,
        relative_cost={"small": 0.1, "medium": 0.3, "large": 1.0},
        loss_per_reference=loss,
    )
    models = {name: Model(name=name, at=(name,), price=price[name], head=name) for name in LADDER}
    rules = msgspec.structs.replace(
        RULES, models=models, routes=(Route(name="default", choose=choose),), difficulty=Difficulty()
    )
    replicas = {name: (Replica(name, name, name, upstream=Scripted([])),) for name in LADDER}
    residency = MemoryResidency(10, lambda: 0.0)
    return Live(rules, replicas, Reads()), World(residency=residency, now=lambda: 0.0, notes=notes)


async def turn_at(gateway: tuple[Live, World], *turns: float) -> str:
    live, world = gateway
    messages = [message for said in turns for message in (user(str(said)), answer("a"))][:-1]
    judged = await judge(live, chat(messages), ANONYMOUS, {}, world)
    if judged.turn is not None and (past := past_of(live.policy, judged)) != Past():
        judged.turn.leave(past)
    assert isinstance(judged.decision.choice, Call)
    return judged.decision.choice.model


@pytest.mark.parametrize(("notes", "second"), [(SharedMemory, "large"), (MemoryNotes, "small")])
async def test_gateways_whose_lines_differ_tell_each_other_where_a_conversation_was(
    notes: type[MemoryNotes], second: str
) -> None:
    """The first turn is hard by the line of one, and easy by that of the other; who is alone goes by the history."""
    store = notes(lambda: 0.0)
    keen, sparing = gateway_with_line(10.0, store), gateway_with_line(0.1, store)
    assert await turn_at(keen, 0.5) == "large"
    assert await turn_at(sparing, 0.5, 0.9) == second
    assert await turn_at(sparing, 0.5, 0.9, 0.9) == second
    assert await turn_at(sparing, 0.4) == "small"
