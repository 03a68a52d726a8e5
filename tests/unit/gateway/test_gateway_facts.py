"""From a request to what deciding reads: counts and needs, and the user's own words for the classifier."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.dialects.openai_chat.request import read_chat
from backends.messages import ChatRequest, Message
from backends.upstream import Prepared
from gateway.request.facts import facts_of, question_of
from gateway.request.identity import ANONYMOUS, Principal
from policies.affinity.imprint import imprint
from policies.facts import Facts

IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}}
CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
TOOL = {"type": "function", "function": {"name": "f"}}


def request(*messages: dict[str, Any], **fields: Any) -> ChatRequest:
    return read_chat(json.dumps({"model": "auto", "messages": list(messages), **fields}).encode())


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def facts(asked: ChatRequest, prepared: dict[str, Prepared] | None = None) -> Facts:
    return facts_of(asked, ANONYMOUS, {"x-batch": "1", "cookie": "c"}, frozenset({"x-batch", "x-none"}), prepared or {})


@pytest.mark.parametrize(
    ("asked", "needs"),
    [
        (request(user("hi")), set()),
        (request(user("hi"), tools=[]), set()),
        (request(user("hi"), tools=[TOOL]), {"tools"}),
        (request(user("q"), {"role": "assistant", "content": None, "tool_calls": [CALL]}), {"tools"}),
        (request(user("q"), {"role": "tool", "tool_call_id": "a", "content": "4"}), {"tools"}),
        (request(user([IMAGE])), {"vision"}),
        (request(user([IMAGE]), {"role": "assistant", "content": "A logo."}, user("thanks")), {"vision"}),
        (request(user([{"type": "input_audio", "input_audio": {}}])), {"audio"}),
        (request(user("hi"), response_format={"type": "json_object"}), {"json_schema"}),
        (request(user("hi"), response_format={"type": "text"}), set()),
        (request(user("hi"), logprobs=True), {"logprobs"}),
    ],
)
def test_what_a_request_needs_is_read_from_the_whole_conversation(asked: ChatRequest, needs: set[str]) -> None:
    assert facts(asked).needs == needs


def test_the_history_is_what_the_last_answer_had_before_it() -> None:
    words, answer = "a long question " * 40, {"role": "assistant", "content": "an answer " * 30}
    first, later = facts(request(user(words))), facts(request(user(words), answer, user("thanks")))
    assert first.history_tokens == 0
    assert first.prompt_tokens <= later.history_tokens < later.prompt_tokens
    assert later.prompt_tokens - later.history_tokens <= facts(request(user("thanks"))).prompt_tokens
    agent = facts(request(answer, {"role": "tool", "tool_call_id": "a", "content": "4"}, tools=[TOOL]))
    assert agent.history_tokens > 0


def test_only_headers_that_the_policy_reads_become_facts() -> None:
    assert facts(request(user("hi"))).headers == {"x-batch": "1"}


def test_exact_counts_and_the_prefix_come_from_the_models_that_measured() -> None:
    measured = {
        "small": Prepared(tokens=9, exact=True, blocks=(b"\x01\x02",), block_tokens=16),
        "far": Prepared(tokens=20, exact=False),
    }

    known = facts(request(user("hi")), measured)

    assert known.exact_tokens == {"small": 9}
    assert known.prefix == "0102"


def test_the_principal_enters_the_facts() -> None:
    who = Principal(tenant="acme", plan="gold", models=frozenset({"m"}))

    known = facts_of(request(user("hi"), max_tokens=5, stream=True), who, {}, frozenset(), {})

    assert (known.tenant, known.plan, known.allowed_models) == ("acme", "gold", {"m"})
    assert (known.max_tokens, known.stream, known.user_turns) == (5, True, 1)


@given(
    system=st.text(max_size=50), asked=st.text(min_size=1, max_size=50), role=st.sampled_from(["system", "developer"])
)
def test_a_constant_prompt_of_the_system_is_not_part_of_the_question(system: str, asked: str, role: str) -> None:
    plain, prompted = request(user(asked)), request({"role": role, "content": system}, user(asked), tools=[TOOL])

    assert question_of(prompted) == question_of(plain)
    assert question_of(plain).turns == (asked,)


def test_the_question_is_every_turn_of_the_user_oldest_first() -> None:
    asked = request(user("first"), {"role": "assistant", "content": "an answer"}, user([IMAGE]), user("last"))

    assert question_of(asked).turns == ("first", "last")


def test_long_turns_are_named_by_what_was_digested_of_them_already_and_short_ones_are_not() -> None:
    long, other = "a long turn " * 1_000, "another one " * 1_000
    asked = request(user(long), {"role": "assistant", "content": "yes"}, user("short"), user(other))

    question = question_of(asked)

    assert question.names == (imprint(long), b"", imprint(other))
    assert asked.measures.imprints == {0: imprint(long), 3: imprint(other)}
    assert question_of(request(user("short"))).names == ()


def test_a_one_part_array_is_the_same_question_as_the_string() -> None:
    assert question_of(request(user([{"type": "text", "text": "hi"}]))) == question_of(request(user("hi")))


messages = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["system", "user", "assistant", "tool"]),
        text=st.sampled_from(["", "some words ", "x" * 5_000]),
        images=st.integers(0, 2),
        audio=st.integers(0, 1),
        files=st.integers(0, 1),
        tool_calls=st.sampled_from([(), (CALL,)]),
    ),
    min_size=1,
    max_size=6,
)


@given(messages, st.sampled_from([(), (TOOL,)]))
def test_one_look_over_the_turns_says_what_a_look_for_each_fact_says(turns: list[Message], tools: Any) -> None:
    asked = ChatRequest(raw=b"", model="auto", messages=tuple(turns), tools=tools)

    known = facts(asked)

    assert known.images == sum(turn.images for turn in turns)
    assert known.user_turns == len([turn for turn in turns if turn.role == "user"])
    has_tools = bool(tools) or any(turn.tool_calls or turn.role == "tool" for turn in turns)
    assert ("tools" in known.needs) == has_tools
    assert ("vision" in known.needs) == any(turn.images or turn.files for turn in turns)
    assert ("audio" in known.needs) == any(turn.audio for turn in turns)
    answers = [place for place, turn in enumerate(turns) if turn.role == "assistant"]
    newest = msgspec.structs.replace(asked, messages=tuple(turns[answers[-1] + 1 :]), tools=()) if answers else None
    before = max(0, known.prompt_tokens - facts(newest).prompt_tokens) if newest is not None else 0
    assert known.history_tokens == before
